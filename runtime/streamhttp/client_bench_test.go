package streamhttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/sse"
	"github.com/goldwire/goldwire/runtime/wire"

	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
)

// BenchmarkClient measures the client against net/http's own, which posts the
// same bytes and reads the answer without looking at it. The server is a bare
// handler.
func BenchmarkClient(b *testing.B) {
	for _, kind := range []string{"json", "stream"} {
		var conns atomic.Int64
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var buf [2048]byte
			n, _ := io.ReadFull(r.Body, buf[:])
			m := wire.Raw(buf[:n])
			method, _ := m.Get("method").Str()
			id := m.Get("id")
			if method != "tools/call" {
				goodServer(w, r, &msg{ID: id, Method: method, Params: m.Get("params")})
				return
			}
			body := rpcResult(id, toolResult)
			if kind == "stream" {
				w.Header().Set("Content-Type", mediaEvents)
				body = event(body)
			} else {
				w.Header().Set("Content-Type", mediaJSON)
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			_, _ = io.WriteString(w, body)
		}))
		srv.Config.ConnState = func(_ net.Conn, st http.ConnState) {
			if st == http.StateNew {
				conns.Add(1)
			}
		}
		srv.Start()
		args := wire.Raw(`{"message":"hello"}`)
		pool := newPool()
		raw := func() error {
			req, err := http.NewRequest(http.MethodPost, srv.URL, bytes.NewReader([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plain","arguments":{"message":"hello"}}}`)))
			if err != nil {
				return err
			}
			req.Header["Content-Type"] = jsonValue
			req.Header["Accept"] = bothValues
			req.Header["Mcp-Session-Id"] = []string{"s1"}
			req.Header["Mcp-Protocol-Version"] = []string{"2025-11-25"}
			resp, err := pool.RoundTrip(req)
			if err != nil {
				return err
			}
			if kind == "stream" {
				rd := sse.NewReader(resp.Body, 0)
				_, err = rd.Next()
				rd.Release()
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			return err
		}
		old, err := legacy.Connect(context.Background(), URL(srv.URL), legacy.Client{Options: jsonrpc.Options{}})
		if err != nil {
			b.Fatal(err)
		}
		newer, err := modern.Connect(context.Background(), URL(srv.URL), modern.Client{})
		if err != nil {
			b.Fatal(err)
		}
		for _, who := range []struct {
			name string
			call func() error
		}{
			{"raw", raw},
			{"stateful", func() error {
				_, err := old.CallTool(context.Background(), &legacy.CallToolParams{Name: "plain", Arguments: args})
				return err
			}},
			{"stateless", func() error {
				_, err := newer.CallTool(context.Background(), &modern.CallToolParams{Name: "plain", Arguments: args})
				return err
			}},
		} {
			b.Run(kind+"/sequential/"+who.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := who.call(); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(kind+"/64way/"+who.name, func(b *testing.B) {
				b.SetParallelism(32) // on two processors
				before := conns.Load()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := who.call(); err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.ReportMetric(float64(conns.Load()-before), "newconns")
			})
		}
		_ = old.Close()
		_ = newer.Close()
		pool.CloseIdleConnections()
		srv.Close()
	}
}
