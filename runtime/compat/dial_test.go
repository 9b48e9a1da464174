package compat_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// memoryDialer starts a server in memory for each dial.
type memoryDialer struct {
	name  string
	serve func(t jsonrpc.Transport, r io.Reader, w io.WriteCloser)
	mu    sync.Mutex
	heard []string // the methods that came, of all dials
	wg    sync.WaitGroup
}

func (d *memoryDialer) Identity() string { return d.name }

var identities atomic.Int64

// identity names a server that nobody has dialled yet, whenever a test runs.
func identity(t *testing.T) string { return fmt.Sprint(t.Name(), " ", identities.Add(1)) }

func (d *memoryDialer) Dial(ctx context.Context) (jsonrpc.Link, error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	tapped, tap := io.Pipe()
	d.wg.Go(func() { // note what is said, and pass it on
		in := bufio.NewReader(inR)
		for {
			line, err := in.ReadBytes('\n')
			if m, ok := wire.Raw(line).Get("method").Str(); ok {
				d.mu.Lock()
				d.heard = append(d.heard, m)
				d.mu.Unlock()
			}
			if err == nil {
				_, err = tap.Write(line)
			}
			if err != nil {
				_ = tap.CloseWithError(io.EOF)
				_ = inR.CloseWithError(io.EOF)
				return
			}
		}
	})
	d.wg.Go(func() {
		d.serve(jsonl.Pipe(tapped, outW), tapped, outW)
		_ = tapped.Close()
		_ = outW.Close()
	})
	return jsonl.Pipe(outR, inW).Dial(ctx)
}

// serving serves a binder.
func serving(b jsonrpc.Binder) func(jsonrpc.Transport, io.Reader, io.WriteCloser) {
	return func(t jsonrpc.Transport, _ io.Reader, _ io.WriteCloser) {
		_ = jsonrpc.Serve(context.Background(), t, b)
	}
}

// scripted answers each method with a line; "" is silence, "close" the end.
func scripted(answers map[string]string) func(jsonrpc.Transport, io.Reader, io.WriteCloser) {
	return func(_ jsonrpc.Transport, r io.Reader, w io.WriteCloser) {
		in := bufio.NewReader(r)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			method, _ := wire.Raw(line).Get("method").Str()
			switch a := answers[method]; a {
			case "":
			case "close":
				return
			default:
				if _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":`+wire.Raw(line).Get("id").String()+`,`+a+"}\n"); err != nil {
					return
				}
			}
		}
	}
}

// TestDialFindsTheEra: by the table of basic/versioning for stdio.
func TestDialFindsTheEra(t *testing.T) {
	older := v20250618.Server{Info: v20250618.Implementation{Name: "s", Version: "1"}}
	old := v20251125.Server{Info: v20251125.Implementation{Name: "s", Version: "1"}}
	modern := v20260728.Server{Info: v20260728.Implementation{Name: "s", Version: "1"}}
	const initialized = `"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`
	const discovered = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`
	fail := func(code string) string { return `"error":{"code":` + code + `,"message":"no"}` }
	const handshake = "initialize notifications/initialized"
	for _, c := range []struct {
		name  string
		serve func(jsonrpc.Transport, io.Reader, io.WriteCloser)
		want  string // the revision, or a part of the error
		heard string
		took  time.Duration
	}{
		{"stateless only", serving(modern), "2026-07-28", "server/discover", 0},
		{"stateful only", serving(old), "2025-11-25", "server/discover " + handshake, 0},
		{"an older one", serving(older), "2025-06-18", "server/discover " + handshake, 0},
		{"both", serving(compat.Revisions(old, modern)), "2026-07-28", "server/discover", 0},
		{"no such method", scripted(map[string]string{"server/discover": fail("-32601"), "initialize": initialized}), "2025-11-25", "server/discover " + handshake, 0},
		{"invalid params", scripted(map[string]string{"server/discover": fail("-32602"), "initialize": initialized}), "2025-11-25", "server/discover " + handshake, 0},
		{"an error of its own", scripted(map[string]string{"server/discover": fail("7"), "initialize": initialized}), "2025-11-25", "server/discover " + handshake, 0},
		{"silence", scripted(map[string]string{"initialize": initialized}), "2025-11-25", "server/discover notifications/cancelled " + handshake, 5 * time.Second},
		{"it ends when it is asked", scripted(map[string]string{"server/discover": "close", "initialize": initialized}), "2025-11-25", "server/discover " + handshake, 0},
		{"another stateless version", scripted(map[string]string{"server/discover": `"error":{"code":-32022,"message":"no","data":{"supported":["2030-01-01"]}}`, "initialize": initialized}),
			`the peer ["2030-01-01"]`, "server/discover", 0},
		{"a capability is missing", scripted(map[string]string{"server/discover": fail("-32021"), "initialize": initialized}), "-32021", "server/discover", 0},
		{"another stateful version", scripted(map[string]string{"server/discover": fail("-32601"), "initialize": strings.Replace(initialized, "2025-11-25", "2024-11-05", 1)}),
			`we speak ["2025-06-18" "2025-11-25" "2026-07-28"], the peer ["2024-11-05"]`, "server/discover initialize", 0},
		{"neither", scripted(map[string]string{"server/discover": fail("-32601"), "initialize": fail("-32601")}), "-32601", "server/discover initialize", 0},
		{"a result to whatever is asked", scripted(map[string]string{"server/discover": `"result":{}`, "initialize": initialized}), "2025-11-25", "server/discover " + handshake, 0},
		{"listed versions without ours", scripted(map[string]string{"server/discover": strings.Replace(discovered, "2026-07-28", "2030-01-01", 1)}), "2030-01-01", "server/discover", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &memoryDialer{serve: c.serve}
				begun := time.Now()
				conn, err := compat.DialRevisions(t.Context(), d, clients()...)
				require.Equal(t, c.took, time.Since(begun))
				if err != nil {
					require.ErrorContains(t, err, c.want)
				} else {
					require.Equal(t, c.want, conn.Session().Revision)
					require.Equal(t, jsonrpc.Ready, conn.State())
					join(t, conn)
					require.NoError(t, conn.Close(t.Context()))
				}
				d.wg.Wait()
				require.Equal(t, c.heard, strings.Join(d.heard, " "))
			})
		})
	}
}

// join makes the bindings' server of a connection, without another handshake.
func join(t *testing.T, conn *jsonrpc.Conn) {
	t.Helper()
	var revision, name string
	switch conn.Session().Revision {
	case v20250618.Revision:
		s, err := v20250618.Join(t.Context(), conn, v20250618.Client{})
		require.NoError(t, err)
		revision, name = s.Revision(), s.Info.Name
	case v20251125.Revision:
		s, err := v20251125.Join(t.Context(), conn, v20251125.Client{})
		require.NoError(t, err)
		revision, name = s.Revision(), s.Info.Name
	case v20260728.Revision:
		s, err := v20260728.Join(t.Context(), conn, v20260728.Client{})
		require.NoError(t, err)
		revision, name = s.Revision(), s.Info.Name
	}
	require.Equal(t, conn.Session().Revision, revision)
	require.Equal(t, "s", name)
}

func clients() []jsonrpc.Binder {
	return []jsonrpc.Binder{
		v20260728.Client{Info: v20260728.Implementation{Name: "c", Version: "1"}},
		v20251125.Client{Info: v20251125.Implementation{Name: "c", Version: "1"}},
		v20250618.Client{Info: v20250618.Implementation{Name: "c", Version: "1"}},
	}
}

// TestDialOfASlowServer: one that is silent while it starts gets both
// handshakes, and is taken for what it then answers to.
func TestDialOfASlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &memoryDialer{serve: func(tr jsonrpc.Transport, r io.Reader, w io.WriteCloser) {
			time.Sleep(8 * time.Second)
			serving(v20260728.Server{Info: v20260728.Implementation{Name: "s", Version: "1"}})(tr, r, w)
		}}
		conn, err := compat.DialRevisions(t.Context(), d, clients()...)
		require.NoError(t, err)
		require.Equal(t, "2026-07-28", conn.Session().Revision)
		join(t, conn)
		require.NoError(t, conn.Close(t.Context()))
		d.wg.Wait()
	})
}

// TestDialOfASlowServerThatKnowsInitialize: a stateless server that was silent at
// first, and whose answer to initialize names its own revision, is asked again.
func TestDialOfASlowServerThatKnowsInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := true
		d := &memoryDialer{serve: func(tr jsonrpc.Transport, r io.Reader, w io.WriteCloser) {
			if slow {
				slow = false
				time.Sleep(8 * time.Second)
			}
			scripted(map[string]string{
				"server/discover": `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`,
				"initialize":      `"result":{"protocolVersion":"2026-07-28","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`,
			})(tr, r, w)
		}}
		conn, err := compat.DialRevisions(t.Context(), d, clients()...)
		require.NoError(t, err)
		require.Equal(t, "2026-07-28", conn.Session().Revision)
		require.NoError(t, conn.Close(t.Context()))
		d.wg.Wait()
	})
}

// TestDialRemembers: a server that turned out to be stateful is not asked again,
// until that does not fit any more.
func TestDialRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &memoryDialer{name: identity(t), serve: serving(v20251125.Server{Info: v20251125.Implementation{Name: "s", Version: "1"}})}
		dial := func(want, heard string) {
			t.Helper()
			d.heard = nil
			conn, err := compat.DialRevisions(t.Context(), d, clients()...)
			require.NoError(t, err)
			require.Equal(t, want, conn.Session().Revision)
			require.NoError(t, conn.Close(t.Context()))
			d.wg.Wait()
			require.Equal(t, heard, strings.Join(d.heard, " "))
		}
		dial("2025-11-25", "server/discover initialize notifications/initialized")
		dial("2025-11-25", "initialize notifications/initialized")
		d.serve = serving(v20260728.Server{Info: v20260728.Implementation{Name: "s", Version: "1"}}) // it was updated
		dial("2026-07-28", "initialize server/discover")
		dial("2026-07-28", "server/discover")
	})
}

// TestDialRemembersForAWhile: a server that speaks both eras by now is found to
// ten minutes after it spoke one, though initialize would still do.
func TestDialRemembersForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := v20251125.Server{Info: v20251125.Implementation{Name: "s", Version: "1"}}
		d := &memoryDialer{name: identity(t), serve: serving(old)}
		dial := func(want string) {
			t.Helper()
			conn, err := compat.DialRevisions(t.Context(), d, clients()...)
			require.NoError(t, err)
			require.Equal(t, want, conn.Session().Revision)
			require.NoError(t, conn.Close(t.Context()))
			d.wg.Wait()
		}
		dial("2025-11-25")
		d.serve = serving(compat.Revisions(old, v20260728.Server{Info: v20260728.Implementation{Name: "s", Version: "1"}}))
		time.Sleep(9 * time.Minute)
		dial("2025-11-25")
		time.Sleep(time.Minute)
		dial("2026-07-28")
	})
}

// TestDialRemembersWhatWasSaid: an error of the server's own is remembered; that
// it failed, was busy, was silent or ended is not.
func TestDialRemembersWhatWasSaid(t *testing.T) {
	const initialized = `"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`
	fail := func(code string) string { return `"error":{"code":` + code + `,"message":"no"}` }
	for _, c := range []struct {
		name, answer string
		remembered   bool
	}{
		{"no such method", fail("-32601"), true},
		{"invalid params", fail("-32602"), true},
		{"an error of its own", fail("7"), true},
		{"an unsupported version, and one of ours", `"error":{"code":-32022,"message":"no","data":{"supported":["2025-11-25"]}}`, true},
		{"a result that lists stateful revisions", `"result":{"resultType":"complete","supportedVersions":["2025-11-25"],"capabilities":{}}`, true},
		{"a result to whatever is asked", `"result":{}`, false},
		{"it failed", fail("-32603"), false},
		{"it is busy", fail("-31001"), false},
		{"silence", "", false},
		{"it ends", "close", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &memoryDialer{name: identity(t), serve: scripted(map[string]string{"server/discover": c.answer, "initialize": initialized})}
				asked := 0
				for range 2 {
					d.heard = nil
					conn, err := compat.DialRevisions(t.Context(), d, clients()...)
					require.NoError(t, err)
					require.NoError(t, conn.Close(t.Context()))
					d.wg.Wait()
					if slices.Contains(d.heard, "server/discover") {
						asked++
					}
				}
				require.Equal(t, c.remembered, asked == 1, "asked %d times", asked)
			})
		})
	}
}

// TestDialOfOneEra: who speaks one era makes its handshake at once.
func TestDialOfOneEra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &memoryDialer{serve: serving(v20251125.Server{Info: v20251125.Implementation{Name: "s", Version: "1"}})}
		_, err := compat.DialRevisions(t.Context(), d, v20260728.Client{})
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, ""))
		d.wg.Wait()
		require.Equal(t, []string{"server/discover"}, d.heard)
		d.heard = nil
		conn, err := compat.DialRevisions(t.Context(), d, v20251125.Client{})
		require.NoError(t, err)
		join(t, conn)
		require.NoError(t, conn.Close(t.Context()))
		d.wg.Wait()
		require.Equal(t, []string{"initialize", "notifications/initialized"}, d.heard)

		for _, clients := range [][]jsonrpc.Binder{nil, {nil}, {v20251125.Client{}, v20251125.Client{}}} {
			_, err := compat.DialRevisions(t.Context(), d, clients...)
			require.Error(t, err)
		}
	})
}

// TestOptionsOfSeveral: those of the first that sets any hold for the connection,
// on either side.
func TestOptionsOfSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		states := make(chan string, 16)
		o := func(side string) jsonrpc.Options {
			return jsonrpc.Options{States: []func(jsonrpc.StateChange){func(c jsonrpc.StateChange) { states <- side + " " + c.To.String() }}}
		}
		d := &memoryDialer{serve: serving(compat.Revisions(
			v20251125.Server{Info: v20251125.Implementation{Name: "s", Version: "1"}},
			v20260728.Server{Info: v20260728.Implementation{Name: "s", Version: "1"}, Options: o("server")},
		))}
		conn, err := compat.DialRevisions(t.Context(), d, v20260728.Client{}, v20251125.Client{Options: o("client")})
		require.NoError(t, err)
		require.NoError(t, conn.Close(t.Context()))
		d.wg.Wait()
		synctest.Wait()
		var got []string
		for range len(states) {
			got = append(got, <-states)
		}
		require.Contains(t, got, "client READY")
		require.Contains(t, got, "client CLOSED")
		require.Contains(t, got, "server CLOSED")
	})
}
