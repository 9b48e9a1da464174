//go:build unix

package dial_test

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// TestKillOfAnHTTPServer: kill -9 of the server in mid-call. The call fails soon
// with an error that says that it may have been done, and a later one says that
// nobody is there. In 2026-07-28 it fails at once; before, the client tries to take
// the stream up again, and gives up when nobody answers five times.
func TestKillOfAnHTTPServer(t *testing.T) {
	for _, c := range []struct {
		d    dialect
		soon time.Duration
	}{{dialect20251125, 8 * time.Second}, {dialect20260728, 2 * time.Second}} {
		t.Run(c.d.revision, func(t *testing.T) {
			child := startHTTP(t)
			s, err := c.d.connect(t.Context(), streamhttp.URL(child.url), deaf())
			require.NoError(t, err)
			begun := make(chan struct{})
			pending := make(chan error, 1)
			go func() {
				_, err := s.call(jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) { close(begun) }}), "wait", `{}`)
				pending <- err
			}()
			<-begun
			killed := time.Now()
			child.kill()
			err = <-pending
			require.Less(t, time.Since(killed), c.soon)
			var ce *jsonrpc.CallError
			require.ErrorAs(t, err, &ce)
			require.Equal(t, "tools/call", ce.Method)
			require.Equal(t, jsonrpc.StageReceive, ce.Stage)
			require.ErrorIs(t, err, streamhttp.ErrOutcomeUnknown, "it may have been done")
			_, err = s.call(t.Context(), "echo", `{}`)
			var re *streamhttp.RequestError
			require.ErrorAs(t, err, &re)
			require.False(t, re.Sent)
			require.NoError(t, s.close())
		})
	}
}

// shell is a server that is a shell script: it answers initialize, and then
// does what it is told.
func shell(t *testing.T, then string) *jsonl.Process {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell on this system")
	}
	return jsonl.Command(sh, "-c", `read -r hello
echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}'
read -r ready
`+then)
}

// TestRedial: a server that dies in mid-call, again and again, is dialled again
// each time, and nothing of the dead is left.
func TestRedial(t *testing.T) {
	p := shell(t, "read -r call; echo 'the end' >&2; kill -9 $$")
	die := func() int {
		s, err := dialect20251125.connect(t.Context(), p, deaf())
		require.NoError(t, err)
		_, err = s.call(t.Context(), "echo", `{}`)
		var dead *jsonl.ExitError
		require.ErrorAs(t, err, &dead)
		require.Equal(t, "killed", dead.Signal)
		require.Equal(t, "the end", strings.TrimSpace(dead.Stderr))
		<-s.conn.Done()
		require.NoError(t, s.close())
		return s.conn.Link().(*jsonl.ProcessLink).PID()
	}
	die()
	g, d := resources()
	for range 100 {
		gone(t, die())
	}
	back(t, g, d)
}

// gone holds that a process has ended and is reaped.
func gone(t *testing.T, pid int) {
	t.Helper()
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
}

// TestRedialOverHTTP: the same for a server over a socket, which loses its
// sessions and its connections a hundred times.
func TestRedialOverHTTP(t *testing.T) {
	for _, c := range []struct {
		d    dialect
		kind streamhttp.Kind
	}{{dialect20241105, streamhttp.TwoEndpoints}, {dialect20251125, streamhttp.Streamable}, {dialect20260728, streamhttp.Streamable}} {
		t.Run(c.d.revision, func(t *testing.T) {
			g, d := resources()
			for range 100 {
				t.Run("life", func(t *testing.T) {
					w := newWork()
					var s site
					if c.kind == streamhttp.TwoEndpoints {
						s = serve(t, twoEndpoints(t, c.d.server(w)), false)
					} else {
						s = serve(t, streamable(t, c.d.server(w)), false)
					}
					e := s.endpoint(c.kind)
					e.CloseTimeout = 100 * time.Millisecond
					r, err := c.d.connect(t.Context(), e, deaf())
					require.NoError(t, err)
					pending := make(chan error, 1)
					begun := make(chan struct{})
					go func() {
						_, err := r.call(jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) { close(begun) }}), "wait", `{}`)
						pending <- err
					}()
					<-begun
					s.die()
					if c.d.revision == dialect20251125.revision { // it tries to take the stream up again
						require.NoError(t, r.close())
						require.Error(t, <-pending)
						return
					}
					var ce *jsonrpc.CallError
					require.ErrorAs(t, <-pending, &ce)
					require.NoError(t, r.close())
				})
			}
			back(t, g, d)
		})
	}
}

// TestManyProcesses: children that are started, used and closed, some at once,
// leave no process, no goroutine and no descriptor.
func TestManyProcesses(t *testing.T) {
	p := shell(t, `read -r call
echo '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"hi"}]}}'
cat >/dev/null`)
	once := func(int) {
		s, err := dialect20251125.connect(t.Context(), p, deaf())
		if err != nil {
			t.Error(err)
			return
		}
		if text, err := s.call(t.Context(), "echo", `{}`); err != nil || text != "hi" {
			t.Errorf("%q %v", text, err)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
		if pid := s.conn.Link().(*jsonl.ProcessLink).PID(); !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			t.Errorf("process %d is left", pid)
		}
	}
	once(-1)
	g, d := resources()
	atOnce(times(30, 300), 10, once)
	back(t, g, d)
}
