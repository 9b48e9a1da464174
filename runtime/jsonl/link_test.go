package jsonl_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

const (
	sayInit  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
	sayReady = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
)

// wirePeer is a client that writes bytes and reads lines, to a server under
// test.
type wirePeer struct {
	t      testing.TB
	w      io.WriteCloser
	lines  chan string
	served chan error
}

// serve starts a server on one end of in-memory pipes. The returned peer has
// made the handshake.
func serve(t testing.TB, b jsonrpc.Binder, o jsonl.Options) *wirePeer {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &wirePeer{t: t, w: inW, lines: make(chan string, 10000), served: make(chan error, 1)}
	s := jsonl.Pipe(inR, outW)
	s.Options = o
	go func() { p.served <- jsonrpc.Serve(t.Context(), s, b) }()
	go p.read(outR)
	p.say(sayInit)
	require.Contains(t, <-p.lines, `"id":1,"result"`)
	p.say(sayReady)
	return p
}

func (p *wirePeer) read(r io.Reader) {
	defer close(p.lines)
	var buf []byte
	chunk := make([]byte, 32<<10)
	for {
		n, err := r.Read(chunk)
		buf = append(buf, chunk[:n]...)
		for {
			line, rest, ok := bytes.Cut(buf, []byte{'\n'})
			if !ok {
				break
			}
			p.lines <- string(line)
			buf = rest
		}
		if err != nil {
			return
		}
	}
}

func (p *wirePeer) say(s string) {
	p.t.Helper()
	_, err := io.WriteString(p.w, s)
	require.NoError(p.t, err)
}

func (p *wirePeer) stop() {
	require.NoError(p.t, p.w.Close())
	require.NoError(p.t, <-p.served)
}

func call(id any, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":{"message":"m"}}}`+"\n", id, name)
}

// blocking is a server whose tool "block" waits for free, and whose tool
// "detach" says so first.
func blocking(free chan struct{}) *jsonrpc.Service {
	return server(func(ctx context.Context, p *callParams) (*callResult, error) {
		switch p.Name {
		case "detach":
			jsonrpc.PeerOf(ctx).Detach()
			fallthrough
		case "block":
			select {
			case <-free:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return &callResult{Content: []textContent{{p.Name}}}, nil
	})
}

// TestBlockedHandlerDelaysLittle: handlers that block delay others by at most
// 2 ms each, and not at all when they say that they block.
func TestBlockedHandlerDelaysLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		p := serve(t, blocking(free), jsonl.Options{})
		time.Sleep(time.Minute) // the monitor has parked
		start := time.Now()
		p.say(call(2, "block") + call(3, "echo"))
		require.Contains(t, <-p.lines, `"id":3,`)
		require.LessOrEqual(t, time.Since(start), 2*time.Millisecond)

		start = time.Now()
		p.say(call(4, "block") + call(5, "block") + call(6, "block") + call(7, "echo"))
		require.Contains(t, <-p.lines, `"id":7,`)
		require.LessOrEqual(t, time.Since(start), 6*time.Millisecond)

		start = time.Now()
		p.say(call(10, "detach") + call(11, "detach") + call(12, "echo"))
		require.Contains(t, <-p.lines, `"id":12,`)
		require.Zero(t, time.Since(start))

		start = time.Now()
		p.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}` + "\n" + `{"jsonrpc":"2.0","id":20,"method":"ping"}` + "\n")
		require.Contains(t, <-p.lines, `"id":20,`)
		require.Zero(t, time.Since(start))

		close(free)
		got := map[string]bool{}
		for range 5 {
			got[(<-p.lines)[17:24]] = true
		}
		require.Len(t, got, 5)
		p.stop()
	})
}

// slowParams take a while to be read: as where the goroutine that reads a message
// does not get its turn on a busy machine.
type slowParams struct{ callParams }

func (p *slowParams) DecodeJSON(d *wire.Dec) error {
	err := p.callParams.DecodeJSON(d)
	if took, derr := time.ParseDuration(p.Name); derr == nil {
		time.Sleep(took)
	}
	return err
}

// TestNothingIsOvertakenBeforeItBegins: a message that is read behind another,
// and the end of the input, wait until the other is registered, and behind the
// handshake until that is made; for a second.
func TestNothingIsOvertakenBeforeItBegins(t *testing.T) {
	slow := func(handshake time.Duration) *jsonrpc.Service {
		svc := server(func(context.Context, *callParams) (*callResult, error) { return nil, nil })
		jsonrpc.HandleRequest(svc, "initialize", func(ctx context.Context, _ *object) (*object, error) {
			select {
			case <-time.After(handshake):
			case <-ctx.Done():
			}
			return &object{wire.MustRaw(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)}, nil
		})
		jsonrpc.HandleRequest(svc, "tools/call", func(ctx context.Context, p *slowParams) (*callResult, error) {
			if p.Name == "500ms" { // it has been cancelled
				<-ctx.Done()
			}
			return &callResult{Content: []textContent{{p.Name}}}, nil
		})
		return svc
	}
	cancel := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", id)
	}
	for name, tt := range map[string]struct {
		handshake time.Duration
		say       string
		want      []string
	}{
		"a call behind a slow handshake":   {500 * time.Millisecond, sayInit + call(2, "now"), []string{`"id":1,"result"`, `"id":2,"result"`}},
		"a handshake that never ends":      {time.Hour, sayInit + call(2, "now"), []string{`"id":2,"error"`}},
		"a call while another is read":     {0, sayInit + call(2, "500ms") + call(3, "now") + cancel(2), []string{`"id":1,"result"`, `"id":3,"result"`}},
		"the end of the input":             {0, sayInit + call(2, "400ms"), []string{`"id":1,"result"`, `"id":2,"result"`}},
		"a reader that does not come back": {0, sayInit + call(2, "5s") + call(3, "now"), []string{`"id":1,"result"`, `"id":3,"result"`}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				outR, outW := io.Pipe()
				p := &wirePeer{t: t, lines: make(chan string, 100)}
				go p.read(outR)
				served := make(chan error, 1)
				in, inW := io.Pipe()
				go func() { served <- jsonrpc.Serve(t.Context(), jsonl.Pipe(in, outW), slow(tt.handshake)) }()
				_, _ = io.WriteString(inW, tt.say)
				_ = inW.Close()
				for _, want := range tt.want {
					require.Contains(t, <-p.lines, want)
				}
				<-served
				time.Sleep(time.Minute) // what takes long has come back
			})
		})
	}
}

// TestBlockedHandlersAreBounded: above the bound requests are refused, and the
// connection still answers.
func TestBlockedHandlersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		p := serve(t, blocking(free), jsonl.Options{})
		for i := range 1030 {
			p.say(call(100+i, "detach"))
		}
		for range 6 {
			require.Contains(t, <-p.lines, `"code":-31001`)
		}
		p.say(`{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n")
		require.Contains(t, <-p.lines, `"id":2,"result":{}`)
		close(free)
		for range 1024 {
			require.Contains(t, <-p.lines, `"result"`)
		}
		p.stop()
	})
}

// countingWriter counts writes.
type countingWriter struct {
	io.WriteCloser
	mu sync.Mutex
	n  int
}

func (w *countingWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	w.n++
	w.mu.Unlock()
	return w.WriteCloser.Write(b)
}

// TestAnswersLeaveTogether: requests that are read together are answered in
// one write (row 28).
func TestAnswersLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outR, outW := io.Pipe()
		w := &countingWriter{WriteCloser: outW}
		in := sayInit + sayReady
		for i := range 50 {
			in += call(2+i, "echo") + "\n\r\n"
		}
		p := &wirePeer{t: t, lines: make(chan string, 100)}
		go p.read(outR)
		require.NoError(t, jsonrpc.Serve(t.Context(), jsonl.Pipe(strings.NewReader(in), w), echoServer()))
		n := 0
		for line := range p.lines {
			require.Contains(t, line, `"result"`)
			n++
		}
		require.Equal(t, 51, n)
		require.Equal(t, 1, w.n)
	})
}

// TestProgressLeavesInTime: what a handler reports while it goes on working is
// on its way within 2 ms.
func TestProgressLeavesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, server(func(ctx context.Context, _ *callParams) (*callResult, error) {
			_ = jsonrpc.PeerOf(ctx).Log(ctx, "info", &object{wire.Raw(`{"level":"info","data":1}`)})
			time.Sleep(time.Hour)
			return &callResult{}, nil
		}), jsonl.Options{})
		start := time.Now()
		p.say(call(2, "x"))
		require.Contains(t, <-p.lines, "notifications/message")
		require.LessOrEqual(t, time.Since(start), 2*time.Millisecond)
		require.Contains(t, <-p.lines, `"id":2,`)
		p.stop()
	})
}

// stuckWriter takes nothing until it is freed.
type stuckWriter struct {
	free chan struct{}
	w    io.Writer
}

func (w *stuckWriter) Write(b []byte) (int, error) {
	<-w.free
	return w.w.Write(b)
}

// TestPeerThatStopsReading: reading goes on while nothing can be written; the
// handlers' notifications are bounded by their context, and after the stall
// timeout the link ends with a typed error (rows 28, 76).
func TestPeerThatStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		w := &stuckWriter{free: make(chan struct{}), w: io.Discard}
		cancelled := make(chan struct{})
		overload := make(chan error, 1)
		svc := server(func(ctx context.Context, p *callParams) (*callResult, error) {
			if p.Name == "cancel me" {
				<-ctx.Done()
				close(cancelled)
				return nil, ctx.Err()
			}
			wait, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			pad := &object{wire.Raw(`{"level":"info","data":"` + strings.Repeat("x", 1000) + `"}`)}
			var err error
			for err == nil {
				err = jsonrpc.PeerOf(ctx).Log(wait, "info", pad)
			}
			overload <- err
			return &callResult{Content: []textContent{{strings.Repeat("x", 1<<20)}}}, nil
		})
		s := jsonl.Pipe(inR, w)
		s.Options = jsonl.Options{MaxOutgoing: 1 << 20}
		served := make(chan error, 1)
		go func() { served <- jsonrpc.Serve(t.Context(), s, svc) }()
		say := func(s string) {
			_, err := io.WriteString(inW, s)
			require.NoError(t, err)
		}
		say(sayInit + sayReady + call(2, "cancel me") + call(3, "fill"))
		err := <-overload
		require.ErrorIs(t, err, jsonrpc.ErrOverloaded)
		require.ErrorIs(t, err, context.DeadlineExceeded, "its own context")
		time.Sleep(time.Second)
		start := time.Now()
		say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}` + "\n")
		<-cancelled
		require.LessOrEqual(t, time.Since(start), 2*time.Millisecond)
		require.ErrorIs(t, <-served, jsonrpc.ErrOverloaded)
		close(w.free)
	})
}

// TestRefusalsThatWaitForRoom: what is refused, and cannot be told so for want of
// room, delays nothing that comes behind it.
func TestRefusalsThatWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		w := &stuckWriter{free: make(chan struct{}), w: io.Discard}
		cancelled := make(chan struct{})
		s := jsonl.Pipe(inR, w)
		s.Options = jsonl.Options{MaxOutgoing: 100}
		served := make(chan error, 1)
		go func() {
			served <- jsonrpc.Serve(t.Context(), s, server(func(ctx context.Context, _ *callParams) (*callResult, error) {
				<-ctx.Done()
				close(cancelled)
				return nil, ctx.Err()
			}))
		}()
		start := time.Now()
		_, err := io.WriteString(inW, sayInit+sayReady+call(2, "cancel me")+strings.Repeat("not JSON\n", maxRefused)+
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`+"\n")
		require.NoError(t, err)
		<-cancelled
		require.LessOrEqual(t, time.Since(start), 50*time.Millisecond)
		close(w.free)
		require.NoError(t, inW.Close())
		require.NoError(t, <-served)
	})
}

const maxRefused = 8 // fewer than may wait for room

// TestFloodWithoutReading: a peer that sends without reading the answers is
// held back before it costs more than a bounded number of goroutines; when it
// reads again, everything is answered.
func TestFloodWithoutReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 4000
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		w := &stuckWriter{free: make(chan struct{}), w: outW}
		s := jsonl.Pipe(inR, w)
		s.Options = jsonl.Options{MaxOutgoing: 1 << 20}
		served := make(chan error, 1)
		text := strings.Repeat("x", 10<<10)
		go func() {
			served <- jsonrpc.Serve(t.Context(), s, server(func(context.Context, *callParams) (*callResult, error) {
				return &callResult{Content: []textContent{{text}}}, nil
			}))
		}()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = io.WriteString(inW, sayInit+sayReady)
			for i := range n {
				_, _ = io.WriteString(inW, call(100+i, "x"))
			}
		}()
		time.Sleep(10 * time.Second)
		require.Less(t, runtime.NumGoroutine(), 1700)
		p := &wirePeer{t: t, lines: make(chan string, n+10)}
		go p.read(outR)
		close(w.free)
		<-sent
		got := map[string]bool{}
		for range n + 1 {
			line := <-p.lines
			id, _, _ := strings.Cut(line[strings.Index(line, `"id":`)+5:], ",")
			require.False(t, got[id], "answered twice: %s", id)
			got[id] = true
		}
		require.NoError(t, inW.Close())
		require.NoError(t, <-served)
		require.NoError(t, outW.Close())
	})
}

// TestWriteError: a broken output ends the connection, and nothing else.
func TestWriteError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		require.NoError(t, outR.Close())
		served := make(chan error, 1)
		go func() { served <- jsonrpc.Serve(t.Context(), jsonl.Pipe(inR, outW), echoServer()) }()
		_, err := io.WriteString(inW, sayInit)
		require.NoError(t, err)
		require.ErrorIs(t, <-served, io.ErrClosedPipe)
	})
}

// TestServeEnds: by its context, which drains.
func TestServeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl, sv := jsonl.InMemory()
		ctx, cancel := context.WithCancelCause(t.Context())
		served := make(chan error, 1)
		free := make(chan struct{})
		go func() { served <- jsonrpc.Serve(ctx, sv, blocking(free)) }()
		c, err := connect(t.Context(), cl, client())
		require.NoError(t, err)
		got := make(chan string)
		go func() {
			r, err := jsonrpc.CallTyped[callResult](t.Context(), c, "tools/call", &callParams{Name: "block"})
			require.NoError(t, err)
			got <- r.Content[0].Text
		}()
		synctest.Wait()
		enough := errors.New("enough")
		cancel(enough)
		synctest.Wait()
		_, err = echo(t.Context(), c, "x")
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeShuttingDown, ""))
		close(free)
		require.Equal(t, "block", <-got)
		require.ErrorIs(t, <-served, enough)
		<-c.Done()
		require.ErrorIs(t, c.Err(), io.EOF)

		_, err = cl.Dial(t.Context())
		require.ErrorIs(t, err, jsonl.ErrUsed)
		_, err = sv.Accept(t.Context())
		require.ErrorIs(t, err, io.EOF)
	})
}

// pair is a client and a server joined in some way.
type pair struct {
	name string
	make func(t *testing.T) (client, server *jsonl.Streams)
}

// plainReader and plainWriter hide deadlines and everything else.
type plainReader struct{ io.ReadCloser }
type plainWriter struct{ io.WriteCloser }

var pairs = []pair{
	{"memory", func(*testing.T) (c, s *jsonl.Streams) { return jsonl.InMemory() }},
	{"os.Pipe", func(t *testing.T) (c, s *jsonl.Streams) {
		upR, upW, err := os.Pipe()
		require.NoError(t, err)
		downR, downW, err := os.Pipe()
		require.NoError(t, err)
		return jsonl.Pipe(downR, upW), jsonl.Pipe(upR, downW)
	}},
	{"io.Pipe, without deadlines", func(*testing.T) (c, s *jsonl.Streams) {
		upR, upW := io.Pipe()
		downR, downW := io.Pipe()
		return jsonl.Pipe(downR, upW), jsonl.Pipe(upR, downW)
	}},
	{"net.Pipe", func(*testing.T) (c, s *jsonl.Streams) {
		a, b := net.Pipe()
		return jsonl.Pipe(a, a), jsonl.Pipe(b, b)
	}},
	{"TCP", func(t *testing.T) (c, s *jsonl.Streams) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		accepted := make(chan net.Conn, 1)
		go func() {
			b, _ := l.Accept()
			accepted <- b
		}()
		a, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		b := <-accepted
		return jsonl.Pipe(a, a), jsonl.Pipe(b, b)
	}},
	{"plain streams", func(*testing.T) (c, s *jsonl.Streams) {
		a, b := net.Pipe()
		return jsonl.Pipe(plainReader{a}, plainWriter{a}), jsonl.Pipe(plainReader{b}, plainWriter{b})
	}},
}

// TestCallScript: the same calls over every kind of stream.
func TestCallScript(t *testing.T) {
	for _, pr := range pairs {
		t.Run(pr.name, func(t *testing.T) {
			ctx := t.Context()
			cl, sv := pr.make(t)
			served := make(chan error, 1)
			free := make(chan struct{})
			blocks := blocking(free)
			go func() { served <- jsonrpc.Serve(ctx, sv, blocks) }()
			c, err := connect(ctx, cl, client())
			require.NoError(t, err)
			tool := func(ctx context.Context, name string) (string, error) {
				r, err := jsonrpc.CallTyped[callResult](ctx, c, "tools/call", &callParams{Name: name})
				if err != nil {
					return "", err
				}
				return r.Content[0].Text, nil
			}
			// One after the other: the caller reads.
			for i := range 200 {
				name := fmt.Sprint("a", i)
				got, err := tool(ctx, name)
				require.NoError(t, err)
				require.Equal(t, name, got)
			}
			// Cancelling a caller that reads.
			short, cancel := context.WithCancel(ctx)
			go func() { // once the call is under way
				for c.Stats().Calls == 0 {
					_, _ = tool(ctx, "x")
				}
				cancel()
			}()
			_, err = tool(short, "block")
			require.ErrorIs(t, err, context.Canceled)
			// A timeout of a caller that reads.
			_, err = tool(jsonrpc.WithCallOptions(ctx, jsonrpc.CallOptions{Timeout: new(20 * time.Millisecond)}), "block")
			require.ErrorIs(t, err, jsonrpc.ErrTimeout)
			// Many at once, among them one that blocks.
			blocked := make(chan error, 1)
			go func() {
				_, err := tool(ctx, "block")
				blocked <- err
			}()
			var wg sync.WaitGroup
			for i := range 64 {
				wg.Go(func() {
					for j := range 20 {
						name := fmt.Sprint("m", i, ".", j)
						got, err := tool(ctx, name)
						if err != nil || got != name {
							t.Errorf("%s: %q, %v", name, got, err)
						}
					}
				})
			}
			wg.Wait()
			close(free)
			require.NoError(t, <-blocked)
			// A message larger than any buffer, both ways.
			big := strings.Repeat("big", 1<<20)
			got, err := tool(ctx, big)
			require.NoError(t, err)
			require.True(t, got == big)
			// The server's notifications arrive while nobody calls.
			require.NoError(t, c.Close(ctx))
			require.NoError(t, <-served)
			_, err = tool(ctx, "x")
			require.ErrorIs(t, err, jsonrpc.ErrClosed)
		})
	}
}

// TestIdleClientHears: notifications arrive though no call is made, within a
// tick or two, and again after calls.
func TestIdleClientHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, pr := range pairs[:1] {
			cl, sv := pr.make(t)
			hub := new(jsonrpc.Hub)
			svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: revision, Methods: methods, Hub: hub})
			jsonrpc.HandleRequest(svc, "initialize", func(context.Context, *object) (*object, error) {
				return &object{wire.Raw(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{}}`)}, nil
			})
			jsonrpc.HandleRequest(svc, "tools/call", func(context.Context, *callParams) (*callResult, error) {
				return &callResult{Content: []textContent{{"x"}}}, nil
			})
			served := make(chan error, 1)
			go func() { served <- jsonrpc.Serve(t.Context(), sv, svc) }()
			heard := make(chan time.Time, 10)
			me := client()
			jsonrpc.HandleNotification(me, "notifications/tools/list_changed", func(context.Context, *object) error {
				heard <- time.Now()
				return nil
			})
			c, err := connect(t.Context(), cl, me)
			require.NoError(t, err)
			require.NoError(t, c.Ping(t.Context())) // the server has seen initialized
			for range 3 {
				start := time.Now()
				hub.ToolsListChanged(t.Context())
				require.LessOrEqual(t, (<-heard).Sub(start), 2*time.Millisecond)
				_, err = echo(t.Context(), c, "x")
				require.NoError(t, err)
				time.Sleep(time.Hour)
			}
			// The end of the server is noticed as well.
			require.NoError(t, c.Close(t.Context()))
			require.NoError(t, <-served)
		}
	})
}

// TestCancelIsPrompt: a caller that reads is stopped at once when its context
// ends, or its deadline passes.
func TestCancelIsPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl, sv := jsonl.InMemory()
		free := make(chan struct{})
		served := make(chan error, 1)
		go func() { served <- jsonrpc.Serve(t.Context(), sv, blocking(free)) }()
		c, err := connect(t.Context(), cl, client())
		require.NoError(t, err)
		for _, after := range []time.Duration{0, time.Microsecond, time.Millisecond, 5 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			start := time.Now()
			_, err := jsonrpc.CallTyped[callResult](ctx, c, "tools/call", &callParams{Name: "block"})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.LessOrEqual(t, time.Since(start), after+2*time.Millisecond)
			cancel()
			start = time.Now()
			_, err = jsonrpc.CallTyped[callResult](jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Timeout: new(after + time.Second)}), c, "tools/call", &callParams{Name: "block"})
			require.ErrorIs(t, err, jsonrpc.ErrTimeout)
			require.Equal(t, after+time.Second, time.Since(start))
			got, err := echoName(t.Context(), c, "fine")
			require.NoError(t, err)
			require.Equal(t, "fine", got)
		}
		require.NoError(t, c.Close(t.Context()))
		require.NoError(t, <-served)
	})
}

func echoName(ctx context.Context, c *jsonrpc.Conn, name string) (string, error) {
	r, err := jsonrpc.CallTyped[callResult](ctx, c, "tools/call", &callParams{Name: name})
	if err != nil {
		return "", err
	}
	return r.Content[0].Text, nil
}

// TestListenFromPeerThatDoesNotRead: an acknowledgement that finds no room is
// bounded by the stall timeout like every answer, and the end of the input ends
// the server all the same.
func TestListenFromPeerThatDoesNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		stall time.Duration
		end   bool // of the input
		want  error
	}{
		"stall":        {2 * time.Second, false, jsonrpc.ErrOverloaded},
		"end of input": {-1, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inR, inW := io.Pipe()
				w := &stuckWriter{free: make(chan struct{}), w: io.Discard}
				svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: "2026-07-28", Side: jsonrpc.ServerSide, Listen: jsonrpc.ListenOptions{ToolsListChanged: true}})
				s := jsonl.Pipe(inR, w)
				s.Options = jsonl.Options{MaxOutgoing: 1, StallTimeout: c.stall}
				served := make(chan error, 1)
				go func() { served <- jsonrpc.Serve(t.Context(), s, svc) }()
				for id := range 2 { // the first is being written, the second waits
					_, err := fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`+"\n", id)
					require.NoError(t, err)
				}
				synctest.Wait()
				start := time.Now()
				svc.Hub().ToolsListChanged(t.Context())
				require.Zero(t, time.Since(start))
				if c.end {
					require.NoError(t, inW.Close())
				}
				err := <-served
				if c.want != nil {
					require.ErrorIs(t, err, c.want)
				}
				require.LessOrEqual(t, time.Since(start), 5*time.Second)
				close(w.free)
			})
		})
	}
}

// stoppableWriter takes nothing once it is stopped.
type stoppableWriter struct {
	w    io.Writer
	stop chan struct{}
	free chan struct{}
}

func (w *stoppableWriter) Write(b []byte) (int, error) {
	select {
	case <-w.stop:
		<-w.free
		return 0, io.ErrClosedPipe
	default:
	}
	return w.w.Write(b)
}

// TestServerThatOnlyAsks: a server that sends requests without reading the
// answers costs the client neither its calls nor memory.
func TestServerThatOnlyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		w := &stoppableWriter{w: outW, stop: make(chan struct{}), free: make(chan struct{})}
		lines := bufio.NewReader(outR)
		answer := func(s string) {
			_, err := lines.ReadString('\n')
			require.NoError(t, err)
			_, err = io.WriteString(inW, s+"\n")
			require.NoError(t, err)
		}
		streams := jsonl.Pipe(inR, w)
		streams.Options.MaxOutgoing = 1 << 10
		go answer(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`)
		c, err := connect(t.Context(), streams, client())
		require.NoError(t, err)
		before := runtime.NumGoroutine()
		go func() {
			_, err := lines.ReadString('\n') // initialized
			require.NoError(t, err)
			_, err = lines.ReadString('\n') // the call
			require.NoError(t, err)
			close(w.stop)
			for i := range 10_000 {
				method := [...]string{"ping", "x/y", "tools/call", "elicitation/create"}[i%4]
				_, err = fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{}}`+"\n", i, method)
				require.NoError(t, err)
			}
			_, err = io.WriteString(inW, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"text":"m"}]}}`+"\n")
			require.NoError(t, err)
		}()
		start := time.Now()
		text, err := echo(t.Context(), c, "m")
		require.NoError(t, err)
		require.Equal(t, "m", text)
		require.Zero(t, time.Since(start))
		synctest.Wait()
		require.LessOrEqual(t, runtime.NumGoroutine(), before+5)
		s := c.Stats()
		require.Zero(t, s.Handling)
		require.NotZero(t, s.Count(jsonrpc.DroppedAnswer))
		start = time.Now()
		require.NoError(t, c.Close(t.Context()))
		require.LessOrEqual(t, time.Since(start), 5*time.Second)
		close(w.free)
	})
}

// TestGoexitOfAReader: a handler that ends the goroutine that reads is
// answered, and reading goes on at once.
func TestGoexitOfAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := server(func(_ context.Context, p *callParams) (*callResult, error) {
			if p.Name == "exit" {
				runtime.Goexit()
			}
			return &callResult{}, nil
		})
		p := serve(t, withOptions{svc, quiet}, jsonl.Options{})
		start := time.Now()
		for i := range 10 {
			p.say(call(10+i, "exit") + call(30+i, "x"))
			require.Contains(t, <-p.lines, fmt.Sprintf(`"id":%d,"error":{"code":-32603`, 10+i))
			require.Contains(t, <-p.lines, fmt.Sprintf(`"id":%d,"result"`, 30+i))
		}
		require.Zero(t, time.Since(start))
		p.stop()
	})
}

// TestRefusalsWithoutReading: a peer whose frames are refused and who does not
// read is held back at once, and given up after one stall timeout.
func TestRefusalsWithoutReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		w := &stuckWriter{free: make(chan struct{}), w: io.Discard}
		s := jsonl.Pipe(inR, w)
		s.Options = jsonl.Options{MaxOutgoing: 1 << 10, StallTimeout: 10 * time.Second}
		served := make(chan error, 1)
		before := runtime.NumGoroutine()
		go func() { served <- jsonrpc.Serve(t.Context(), s, echoServer()) }()
		start := time.Now()
		go func() {
			for i := 0; ; i++ {
				frame := [...]string{"not JSON", `{}`, `[]`, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`}[i%5]
				if _, err := io.WriteString(inW, frame+"\n"); err != nil {
					return
				}
			}
		}()
		time.Sleep(5 * time.Second)
		require.LessOrEqual(t, runtime.NumGoroutine(), before+30)
		require.ErrorIs(t, <-served, jsonrpc.ErrOverloaded)
		require.LessOrEqual(t, time.Since(start), 13*time.Second)
		close(w.free)
		require.NoError(t, inR.Close())
	})
}
