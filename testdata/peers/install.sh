#!/bin/sh
# Installs the foreign programs that `make e2e` judges: Go ones into
# bin/peers, npm ones into testdata/peers/node/node_modules.
set -eu
cd "$(dirname "$0")"
mkdir -p ../../bin/peers
go build -o ../../bin/peers/go-sdk-everything github.com/modelcontextprotocol/go-sdk/conformance/everything-server
go build -o ../../bin/peers/mcp-go-everything github.com/mark3labs/mcp-go/examples/everything
if ! command -v npm >/dev/null 2>&1; then
	apt-get update -qq && apt-get install -y -qq nodejs npm
fi
(cd node && npm ci --no-fund --no-audit --loglevel=error)
