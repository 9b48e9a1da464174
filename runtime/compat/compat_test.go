package compat_test

import (
	"bufio"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

func servers() jsonrpc.Binder {
	return compat.Revisions(
		v20250618.Server{Info: v20250618.Implementation{Name: "s", Version: "1"}},
		v20251125.Server{Info: v20251125.Implementation{Name: "s", Version: "1"}},
		v20260728.Server{Info: v20260728.Implementation{Name: "s", Version: "1"}},
	)
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// TestEachMessageGoesToItsEra plays lines to a server of three revisions and
// looks at one member of each answer.
func TestEachMessageGoesToItsEra(t *testing.T) {
	hello := func(version string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	}
	type exchange struct {
		line string
		path []string // of the member that is looked at
		want string
	}
	result := []string{"result", "protocolVersion"}
	code := []string{"error", "code"}
	for name, lines := range map[string][]exchange{
		"the offered revision is taken":                {{hello("2025-06-18"), result, `"2025-06-18"`}},
		"an unknown one is met with the newest":        {{hello("2024-11-05"), result, `"2025-11-25"`}},
		"discovery needs no handshake":                 {{`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, []string{"result", "resultType"}, `"complete"`}},
		"an escaped name is the same name":             {{hello("2025-11-25"), result, `"2025-11-25"`}, {`{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28","io.modelcontextprotocol\/clientCapabilities":{}}}}`, []string{"result", "resultType"}, `"complete"`}},
		"ping is answered before any handshake":        {{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{"result"}, `{}`}},
		"without a handshake _meta is asked for":       {{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, code, `-32602`}},
		"an unknown version is refused as such":        {{`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`, code, `-32022`}},
		"initialize with stateless _meta is no method": {{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` + meta + `}}`, code, `-32601`}},
	} {
		t.Run(name, func(t *testing.T) {
			client, server := io.Pipe()
			back, answers := io.Pipe()
			done := make(chan error, 1)
			go func() {
				err := jsonrpc.Serve(context.Background(), jsonl.Pipe(client, answers), servers())
				_ = answers.Close()
				done <- err
			}()
			in := bufio.NewReader(back)
			for _, x := range lines {
				_, err := io.WriteString(server, x.line+"\n")
				require.NoError(t, err)
				line, err := in.ReadBytes('\n')
				require.NoError(t, err)
				got := wire.Raw(line)
				for _, name := range x.path {
					got = got.Get(name)
				}
				require.Equal(t, x.want, string(got), "%s", line)
			}
			require.NoError(t, server.Close())
			require.NoError(t, <-done)
		})
	}
}

func TestRevisionsRefusesWhatCannotBeToldApart(t *testing.T) {
	_, err := compat.Revisions().Bind()
	require.Error(t, err)
	_, err = compat.Revisions(v20251125.Server{}, v20251125.Server{}).Bind()
	require.ErrorContains(t, err, "two speak 2025-11-25")
	_, err = compat.Revisions(v20260728.Server{}, v20260728.Server{}).Bind()
	require.ErrorContains(t, err, "two speak 2026-07-28")
	_, err = compat.Revisions(v20251125.Server{}, nil).Bind()
	require.ErrorContains(t, err, "no server or client")
	_, err = compat.Revisions((*v20251125.Server)(nil)).Bind()
	require.ErrorContains(t, err, "no server or client")
	_, err = compat.Revisions(servers()).Bind()
	require.ErrorContains(t, err, "several revisions already")
}
