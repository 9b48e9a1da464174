package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// ours is a client of the runtime that uses all that a server offers.
var ours = client.Target{
	Over: []catalogue.Transport{catalogue.Stdio, catalogue.HTTP, catalogue.SSE},
	Launch: func(r client.Reach) check.Launcher {
		return check.Pipe{Serve: func(ctx context.Context, in io.Reader, _, errs io.Writer) check.Exit {
			if err := useAll(ctx, r); err != nil {
				fmt.Fprintln(errs, err)
				return check.Exit{Code: 1}
			}
			return check.Exit{}
		}}
	},
}

// processes dials a server over stdio as often as it is asked to.
type processes struct{ r client.Reach }

func (p processes) Dial(ctx context.Context) (jsonrpc.Link, error) {
	s := p.r.Start()
	return jsonl.Pipe(s.Out, s.In).Dial(ctx)
}

func dialer(r client.Reach) jsonrpc.Dialer {
	if r.Transport == catalogue.Stdio {
		return processes{r}
	}
	e := &streamhttp.Endpoint{URL: r.URL, Header: http.Header{}}
	if r.Transport == catalogue.SSE {
		e.Kind = streamhttp.TwoEndpoints
	}
	return e
}

func useAll(ctx context.Context, r client.Reach) error {
	s, err := compat.Dial(ctx, dialer(r), mcp.Client{Info: mcp.Implementation{Name: "tame", Version: "1"}})
	if err != nil {
		return err
	}
	err = func() error {
		for tool, err := range s.Tools(ctx, nil) {
			if err != nil {
				return err
			}
			args := wire.Raw(`{"a":1,"b":2}`)
			if tool.Name != "add_numbers" {
				args = wire.Raw(`{"message":"hello"}`)
			}
			if _, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: args}); err != nil {
				return err
			}
		}
		for p, err := range s.Prompts(ctx, nil) {
			if err != nil {
				return err
			}
			if _, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: p.Name, Arguments: map[string]string{"name": "Ann"}}); err != nil {
				return err
			}
		}
		for res, err := range s.Resources(ctx, nil) {
			if err != nil {
				return err
			}
			if _, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: res.URI}); err != nil {
				return err
			}
		}
		return nil
	}()
	return errors.Join(err, s.Close())
}

// TestGoodServerServesOurClient holds that the good server and our client come
// to terms in every revision and over every transport.
func TestGoodServerServesOurClient(t *testing.T) {
	seen := map[string]*transcript.Recording{}
	rep, err := client.Run(t.Context(), ours, client.Options{
		Revisions: []string{"all"},
		Selects:   func(*check.Check, string, catalogue.Transport) bool { return false },
		Save: func(name string, rec *transcript.Recording) error {
			if rec.Get("profile") == client.Good {
				seen[rec.Get("revision")+" "+rec.Get("transport")] = rec
			}
			return nil
		},
	}.WithScripts(client.Script{Name: client.Good}))
	require.NoError(t, err)
	require.Equal(t, check.Revisions(), rep.Revisions)
	require.Equal(t, result.Target{Side: "client", Name: "tame", Version: "1"}, rep.Target)
	require.Len(t, seen, 2*len(check.Revisions()))
	for name, rec := range seen {
		t.Run(name, func(t *testing.T) {
			trace := check.NewTrace(rec)
			require.True(t, client.Speaks(trace), "%s", rec)
			require.Equal(t, client.OverExit, client.Over(trace))
			methods := map[string]int{}
			for _, f := range trace.Frames() {
				if !f.FromServer {
					methods[f.Method]++
				}
				require.False(t, f.FromServer && f.Failed() && methods["notifications/initialized"] > 0, "%s", f)
			}
			for _, m := range []string{"tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/read"} {
				require.NotZero(t, methods[m], m)
			}
			require.Equal(t, 3, methods["tools/call"])
			require.Regexp(t, `\n!@\S+ exit 0\n`, rec.String(), "the client was content")
		})
	}
}
