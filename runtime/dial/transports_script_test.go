package dial_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// carrier is a transport with a server at its other end.
type carrier struct {
	name      string
	bubble    bool // it works in a bubble
	revisions []string
	open      func(*testing.T, dialect) jsonrpc.Dialer
}

var (
	everywhere = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
	overHTTP   = everywhere[1:] // Streamable HTTP
	newest     = everywhere[3:] // one of each era
	overSSE    = everywhere[:1] // HTTP+SSE
)

var carriers = []carrier{
	{"stdio in memory", true, everywhere, func(t *testing.T, d dialect) jsonrpc.Dialer {
		return serveStdio(t, d.server(newWork()))
	}},
	{"stdio of a child", false, everywhere, func(*testing.T, dialect) jsonrpc.Dialer { return self() }},
	{"Streamable HTTP in memory", true, overHTTP, func(t *testing.T, d dialect) jsonrpc.Dialer {
		return serve(t, streamable(t, d.server(newWork())), true).endpoint(streamhttp.Streamable)
	}},
	{"Streamable HTTP at a socket", false, overHTTP, func(t *testing.T, d dialect) jsonrpc.Dialer {
		return serve(t, streamable(t, everyRevision(newWork())), false).endpoint(streamhttp.Any)
	}},
	{"Streamable HTTP/2 at a socket", false, newest, func(t *testing.T, d dialect) jsonrpc.Dialer {
		s := serve(t, streamable(t, d.server(newWork())), false)
		var h2c http.Protocols
		h2c.SetUnencryptedHTTP2(true)
		s.rt = &http.Transport{Protocols: &h2c}
		t.Cleanup(s.rt.CloseIdleConnections)
		return s.endpoint(streamhttp.Streamable)
	}},
	{"Streamable HTTP of a child", false, newest, func(t *testing.T, d dialect) jsonrpc.Dialer {
		return streamhttp.URL(startHTTP(t).url)
	}},
	{"HTTP+SSE in memory", true, overSSE, func(t *testing.T, d dialect) jsonrpc.Dialer {
		return serve(t, twoEndpoints(t, d.server(newWork())), true).endpoint(streamhttp.TwoEndpoints)
	}},
	{"HTTP+SSE at a socket", false, overSSE, func(t *testing.T, d dialect) jsonrpc.Dialer {
		return serve(t, twoEndpoints(t, everyRevision(newWork())), false).endpoint(streamhttp.TwoEndpoints)
	}},
	{"HTTP+SSE by falling back", false, overSSE, func(t *testing.T, d dialect) jsonrpc.Dialer {
		return serve(t, twoEndpoints(t, d.server(newWork())), false).endpoint(streamhttp.Any)
	}},
}

// serveStdio serves a binder over streams in memory until the test ends.
func serveStdio(t testing.TB, b jsonrpc.Binder) jsonrpc.Dialer {
	client, server := jsonl.InMemory()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- jsonrpc.Serve(ctx, server, b) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return client
}

// each runs a test over every carrier in every revision that it carries: those
// in memory in a bubble, the others all at once, since they spend their time
// waiting.
func each(t *testing.T, f func(*testing.T, dialect, jsonrpc.Dialer)) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, c := range carriers {
		for _, rev := range c.revisions {
			d := dialects[slices.IndexFunc(dialects, func(d dialect) bool { return d.revision == rev })]
			run := func(t *testing.T) { f(t, d, c.open(t, d)) }
			if c.bubble {
				t.Run(c.name+"/"+rev, func(t *testing.T) { synctest.Test(t, run) })
			} else {
				wg.Go(func() { t.Run(c.name+"/"+rev, run) })
			}
		}
	}
}

// what the script sees, over every transport and in every revision.
const seen = `connected to script
tools: echo count wait ended ask log touch big
echo: "hello" <nil>
progress 1 of 3: step 1
progress 2 of 3: step 2
progress 3 of 3: step 3
count: "counted 3" <nil>
progress 1: begun
cancelled: true
the handler saw: "context canceled" <nil>
timed out: true
the handler saw: "context canceled" <nil>
asked: what now?
ask: "the answer is forty-two" <nil>
log level: <nil>
log warning: "careful"
log error: "careful"
log: "logged" <nil>
read: "text of note:///a" <nil>
updated note:///a
unsubscribed: <nil>
updated note:///b
unsubscribed: <nil>
big: 1048576 bytes, all x: true, <nil>
bad params: -32602 invalid params: params.arguments: want an object, got a number
unknown tool: -32602 name: no tool nope
unknown method: -32601
100 calls at once: 100
progress 1: begun
what was pending: closed true
closed: <nil>
after that: closed true
`

// progressMessage is what progress says where the revision has no words for it.
var progressMessage = regexp.MustCompile(`(?m)^(progress [^:]*: ).*$`)

// TestTransports: one script over every transport, in every revision that it
// carries, sees the same.
func TestTransports(t *testing.T) {
	require.Len(t, everywhere, len(dialects))
	each(t, func(t *testing.T, d dialect, dialer jsonrpc.Dialer) {
		got, overtaken := script(t, d, dialer)
		want := seen
		if rules, _ := revision.For(d.revision); !rules.ProgressMessage {
			want = progressMessage.ReplaceAllString(want, "$1")
		}
		if overtaken == 0 {
			require.Empty(t, cmp.Diff(want, got))
		} else { // a busy machine kept a handler from returning in time
			require.ElementsMatch(t, strings.Split(want, "\n"), strings.Split(got, "\n"))
		}
	})
}

// script does everything that a client can do and tells what it saw, and how
// many notifications an answer went past.
func script(t *testing.T, d dialect, dialer jsonrpc.Dialer) (trace string, overtaken uint64) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	var b strings.Builder
	tell := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&b, format+"\n", args...)
	}
	updates := make(chan string, 16)
	s, err := d.connect(ctx, dialer, &ear{
		options: quiet,
		asked: func(prompt string) string {
			tell("asked: %s", prompt)
			return "forty-two"
		},
		logged:  func(level string, data wire.Raw) { tell("log %s: %s", level, data) },
		updated: func(uri string) { updates <- uri },
	})
	require.NoError(t, err)
	require.Equal(t, d.revision, s.revision)
	tell("connected to %s", s.server)
	call := func(ctx context.Context, name, tool, arguments string) {
		text, err := s.call(ctx, tool, arguments)
		tell("%s: %q %v", name, text, err)
	}
	// stepwise is a context whose calls tell their progress, to then as well.
	stepwise := func(ctx context.Context, then func()) context.Context {
		return jsonrpc.WithCallOptions(ctx, jsonrpc.CallOptions{Progress: func(p jsonrpc.Progress) {
			total := ""
			if p.Total != nil {
				total = fmt.Sprint(" of ", *p.Total)
			}
			tell("progress %v%s: %s", p.Progress, total, p.Message)
			then()
		}})
	}

	var list []string
	for name, err := range s.tools(ctx) {
		require.NoError(t, err)
		list = append(list, name)
	}
	tell("tools: %s", strings.Join(list, " "))
	call(ctx, "echo", "echo", `{"text":"hello"}`)
	call(stepwise(ctx, func() {}), "count", "count", `{"n":3}`)

	stopped, stop := context.WithCancel(ctx)
	_, err = s.call(stepwise(stopped, stop), "wait", `{}`)
	tell("cancelled: %v", errors.Is(err, context.Canceled))
	call(ctx, "the handler saw", "ended", `{}`)
	_, err = s.call(jsonrpc.WithCallOptions(ctx, jsonrpc.CallOptions{Timeout: new(time.Second)}), "wait", `{}`)
	tell("timed out: %v", errors.Is(err, jsonrpc.ErrTimeout))
	call(ctx, "the handler saw", "ended", `{}`)

	call(ctx, "ask", "ask", `{"text":"what now?"}`)
	tell("log level: %v", s.logFrom(ctx, "warning"))
	call(ctx, "log", "log", `{"text":"careful"}`)

	text, err := s.read(ctx, "note:///a")
	tell("read: %q %v", text, err)
	for _, uri := range []string{"note:///a", "note:///b"} {
		unwatch, err := s.watch(ctx, uri)
		require.NoError(t, err)
		for _, touched := range []string{"note:///c", "note:///a", "note:///b"} {
			if _, err := s.call(ctx, "touch", `{"text":"`+touched+`"}`); err != nil {
				t.Error(err)
			}
		}
		select {
		case got := <-updates:
			tell("updated %s", got)
		case <-ctx.Done():
			t.Fatal("no update")
		}
		tell("unsubscribed: %v", unwatch())
	}

	text, err = s.call(ctx, "big", `{"n":1048576}`)
	tell("big: %d bytes, all x: %v, %v", len(text), strings.Trim(text, "x") == "", err)

	_, err = s.call(ctx, "echo", `5`)
	tell("bad params: %s", refusal(t, err))
	_, err = s.call(ctx, "nope", `{}`)
	tell("unknown tool: %s", refusal(t, err))
	var refused *jsonrpc.Error
	require.ErrorAs(t, s.other(ctx, "no/such"), &refused)
	tell("unknown method: %d", refused.Code)

	var wg sync.WaitGroup
	right := make(chan bool, 100)
	for i := range cap(right) {
		wg.Go(func() {
			want := fmt.Sprint("call ", i)
			got, err := s.call(ctx, "echo", `{"text":"`+want+`"}`)
			right <- err == nil && got == want
		})
	}
	wg.Wait()
	close(right)
	n := 0
	for ok := range right {
		if ok {
			n++
		}
	}
	tell("%d calls at once: %d", cap(right), n)

	begun, pending := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := s.call(stepwise(ctx, func() { close(begun) }), "wait", `{}`)
		pending <- err
	}()
	<-begun
	closed := s.close()
	err = <-pending
	var typed *jsonrpc.CallError
	require.ErrorAs(t, err, &typed)
	tell("what was pending: closed %v", errors.Is(err, jsonrpc.ErrClosed))
	tell("closed: %v", closed)
	_, err = s.call(ctx, "echo", `{}`)
	tell("after that: closed %v", errors.Is(err, jsonrpc.ErrClosed))
	stats := s.conn.Stats()
	return b.String(), stats.Count(jsonrpc.OvertakenNotification)
}

// refusal is the code and the message of the peer's error.
func refusal(t *testing.T, err error) string {
	var e *jsonrpc.Error
	require.ErrorAs(t, err, &e)
	require.True(t, e.Remote)
	return fmt.Sprintf("%d %s", e.Code, e.Message)
}
