package main

import (
	"bufio"
	"context"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/report"
	"github.com/goldwire/goldwire/conformance/result"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// proxy serves what it is the client of: proxy REVISION COMMAND...
func proxy() {
	ctx := context.Background()
	command := jsonl.Command(os.Args[2], os.Args[3:]...)
	var server jsonrpc.Binder
	if os.Args[1] == v20251125.Revision {
		remote, err := v20251125.Connect(ctx, command, v20251125.Client{})
		if err != nil {
			log.Fatal(err)
		}
		defer func() { _ = remote.Close() }()
		server = remote.Server
	} else {
		remote, err := v20260728.Connect(ctx, command, v20260728.Client{})
		if err != nil {
			log.Fatal(err)
		}
		defer func() { _ = remote.Close() }()
		server = remote.Server
	}
	if err := jsonrpc.Serve(ctx, jsonl.Stdio(), server); err != nil {
		log.Println(err)
	}
}

// TestProxyConforms: a server that is served by its client breaks nothing that it
// keeps itself, in either era.
func TestProxyConforms(t *testing.T) {
	if raced {
		t.Skip("make test judges the proxy without the race detector")
	}
	t.Parallel()
	goldwire, err := exec.LookPath("goldwire")
	require.NoError(t, err)
	behind, err := exec.LookPath("proxy")
	require.NoError(t, err)
	for _, rev := range []string{v20251125.Revision, v20260728.Revision} {
		t.Run(rev, func(t *testing.T) {
			t.Parallel()
			judge := func(name string, server ...string) map[string]result.Verdict {
				return verdicts(t, goldwire, rev, name, append([]string{"--"}, server...)...)
			}
			direct := judge("direct.json", goldwire, "serve")
			served := judge("served.json", behind, rev, goldwire, "serve")
			for id, v := range direct {
				if v == result.Pass && served[id] != result.Pass {
					require.Contains(t, []result.Verdict{result.NotObserved, result.NotApplicable}, served[id], id)
					require.Contains(t, behindProxy, id, "not seen behind the proxy")
				}
			}
		})
	}
}

// verdicts judges a server by a revision.
func verdicts(t *testing.T, goldwire, rev, name string, server ...string) map[string]result.Verdict {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	args := append([]string{"check", "--revision", rev, "--format", "json", "--output", file}, server...)
	out, err := exec.CommandContext(t.Context(), goldwire, args...).CombinedOutput()
	require.NoError(t, err, string(out))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	rep, err := report.ParseJSON(b)
	require.NoError(t, err)
	all := map[string]result.Verdict{}
	for _, r := range rep.Results {
		all[r.ID] = r.Verdict
	}
	return all
}

// TestBridgeOverHTTPConforms: behind HTTP and before it, the bridge breaks nothing
// that a server of 2026-07-28 keeps.
func TestBridgeOverHTTPConforms(t *testing.T) {
	if raced {
		t.Skip("make test judges the bridge without the race detector")
	}
	t.Parallel()
	goldwire, err := exec.LookPath("goldwire")
	require.NoError(t, err)
	server := servingURL(t, goldwire, "serve", "--http", "127.0.0.1:0")
	bridge := servingURL(t, goldwire, "bridge", "--listen", "127.0.0.1:0", server)
	rev := v20260728.Revision
	direct := verdicts(t, goldwire, rev, "direct.json", server)
	bridged := verdicts(t, goldwire, rev, "bridged.json", bridge)
	for id, v := range direct {
		if v == result.Pass {
			require.Equal(t, v, bridged[id], id)
		}
	}
}

// servingURL runs a command that serves over HTTP, until the test ends, and gives its
// address.
func servingURL(t *testing.T, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, lines)
	}()
	t.Cleanup(func() {
		<-drained
		_ = cmd.Wait() // it was killed
	})
	require.NoError(t, err)
	url := regexp.MustCompile(`http://\S+/mcp`).FindString(line)
	require.NotEmpty(t, url, line)
	return url
}

// behindProxy are checks that a proxy of one revision whose client answers nothing,
// and knows no extensions, gives nothing to look at: mostly about what the
// reference server asks of its client.
var behindProxy = []string{
	"both-eras", "initialize-known-version", "initialize-no-modern-version",
	"extension-identifiers", "extension-settings",
	"elicit-mode", "elicit-schema-flat", "form-content-checked", "form-elicitation-no-links", "form-elicitation-no-secrets",
	"sampling-content-of-revision", "sampling-context-declared", "sampling-tools",
	"server-request-ids", "server-request-ids-unique", "server-request-shape",
	"listen-only-asked", // what changes by a call is told where the proxy listens, too
}
