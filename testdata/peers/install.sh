#!/bin/sh
# Installs the foreign programs of `make e2e`: Go ones into bin/peers, npm ones
# into testdata/peers/node/node_modules, the official conformance suite and the
# Node that it wants into testdata/peers/official/node_modules, node, nginx,
# haproxy and chromium by apt.
set -eu
cd "$(dirname "$0")"
mkdir -p ../../bin/peers
go build -o ../../bin/peers/go-sdk-everything github.com/modelcontextprotocol/go-sdk/conformance/everything-server
go build -o ../../bin/peers/go-sdk-everything-client github.com/modelcontextprotocol/go-sdk/conformance/everything-client
go build -o ../../bin/peers/mcp-go-everything github.com/mark3labs/mcp-go/examples/everything
missing=
command -v npm >/dev/null 2>&1 || missing="nodejs npm"
for p in nginx haproxy; do
	command -v $p >/dev/null 2>&1 || [ -x /usr/sbin/$p ] || missing="$missing $p"
done
command -v chromium >/dev/null 2>&1 || missing="$missing chromium fonts-dejavu-core"
if [ -n "$missing" ]; then
	apt-get update -qq
	# What is installed is not started: the tests run it on ports of their own.
	RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
fi
(cd node && npm ci --no-fund --no-audit --loglevel=error)
# Not npm ci: the lock file cannot hold an optional package of vite's that only
# some registries have. Versions are those of the lock file all the same.
(cd official && npm install --no-save --no-fund --no-audit --loglevel=error)
