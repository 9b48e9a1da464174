package jsonrpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// tap is a link whose other end is the test: it pushes frames in and takes
// what the connection sends.
type tap struct {
	t    testing.TB
	conn *jsonrpc.Conn
	r    jsonrpc.Receiver
	out  chan string // all that was sent, in order
	done chan struct{}
	once sync.Once
	full bool // Send fails unless it may wait
	mu   sync.Mutex
}

func newTap(t testing.TB, b jsonrpc.Binder, side jsonrpc.Side) *tap {
	t.Helper()
	ch, err := b.Bind()
	require.NoError(t, err)
	p := &tap{t: t, out: make(chan string, 4096), done: make(chan struct{})}
	p.conn = jsonrpc.NewConn(p, ch, side)
	require.NoError(t, p.conn.Start())
	t.Cleanup(func() { _ = p.conn.Close(context.Background()) })
	return p
}

func (p *tap) Start(r jsonrpc.Receiver) error {
	p.r = r
	return nil
}

func (p *tap) Send(ctx context.Context, f jsonrpc.Frame) error {
	p.mu.Lock()
	full := p.full
	p.mu.Unlock()
	if full {
		if err := ctx.Err(); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	p.out <- string(f.Data)
	return nil
}

func (p *tap) Call(ctx context.Context, f jsonrpc.Frame, _ jsonrpc.Waiter) error {
	return p.Send(ctx, f)
}

func (p *tap) Close(context.Context) error {
	p.once.Do(func() { close(p.done) })
	return nil
}
func (p *tap) Done() <-chan struct{} { return p.done }
func (p *tap) Err() error            { return nil }

// tapExchange is the way back of one frame.
type tapExchange struct {
	p        *tap
	replied  bool
	detached bool
}

func (e *tapExchange) Notify(ctx context.Context, f jsonrpc.Frame) error { return e.p.Send(ctx, f) }

func (e *tapExchange) Reply(ctx context.Context, f jsonrpc.Frame) error {
	if e.replied {
		e.p.t.Errorf("a second reply: %s", f.Data)
	}
	e.replied = true
	if len(f.Data) == 0 {
		return nil
	}
	return e.p.Send(ctx, f)
}

func (e *tapExchange) Detach() { e.detached = true }

// push hands a message to the connection, as a carrier that reuses its buffer.
func (p *tap) push(msg string) *tapExchange {
	ex := &tapExchange{p: p}
	buf := []byte(msg)
	p.r.Receive(context.Background(), ex, jsonrpc.Frame{Data: buf})
	for i := range buf {
		buf[i] = '#'
	}
	return ex
}

func (p *tap) next() string {
	p.t.Helper()
	return <-p.out
}

// none holds that nothing was sent.
func (p *tap) none() {
	p.t.Helper()
	select {
	case s := <-p.out:
		p.t.Errorf("nothing should have been sent, got %s", s)
	default:
	}
}

// talk plays lines: "> x" is pushed, "< x" is what has to come out next, "-"
// says that nothing has. A "*" in what is wanted stands for any value.
func (p *tap) talk(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		switch {
		case line == "-":
			p.none()
		case strings.HasPrefix(line, "> "):
			p.push(line[2:])
		case strings.HasPrefix(line, "< "):
			p.wants(line[2:], p.next())
		default:
			p.t.Fatalf("bad line %q", line)
		}
	}
}

func (p *tap) wants(want, got string) {
	p.t.Helper()
	if d := cmp.Diff(parse(p.t, want), parse(p.t, got), cmp.FilterValues(func(a, b any) bool {
		return a == any("*") || b == any("*")
	}, cmp.Ignore())); d != "" {
		p.t.Errorf("sent %s\n(-want +got):\n%s", got, d)
	}
}

func parse(t testing.TB, s string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	require.NoError(t, d.Decode(&v), s)
	return v
}

const (
	sayInit  = `> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{"listChanged":true}},"clientInfo":{"name":"t","version":"1"}}}`
	getInit  = `< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":"*","serverInfo":{"name":"sample","version":"1"}}}`
	sayReady = `> {"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// oldTap is a server's connection after the handshake.
func oldTap(t testing.TB, s oldServer) *tap {
	t.Helper()
	p := newTap(t, s, jsonrpc.ServerSide)
	p.talk(sayInit, getInit, sayReady, "-")
	require.Equal(t, jsonrpc.Ready, p.conn.State())
	return p
}

// clientTap is a client's connection after the handshake.
func clientTap(t testing.TB, c oldClient, serverCaps string) (*tap, *oldRemote) {
	t.Helper()
	p := newTap(t, c, jsonrpc.ClientSide)
	done := make(chan error, 1)
	go func() {
		_, err := jsonrpc.Initialize[raw](context.Background(), p.conn, &oldParams{})
		done <- err
	}()
	p.talk(`< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
		`> {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":`+serverCaps+`,"serverInfo":{"name":"s","version":"1"}}}`,
		`< {"jsonrpc":"2.0","method":"notifications/initialized"}`)
	require.NoError(t, <-done)
	return p, &oldRemote{p.conn}
}

const allCaps = `{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}`

// modern makes the params of a 2026-07-28 request.
func modern(members string) string {
	if members != "" {
		members = "," + members
	}
	return `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}` + members + `}`
}

// count is how often a kind of event happened on a connection.
func count(c *jsonrpc.Conn, k jsonrpc.EventKind) int {
	s := c.Stats()
	return int(s.Count(k))
}

func echoTool(_ context.Context, p *callToolParams) (*result, error) {
	return &result{Text: p.Name + string(p.Arguments)}, nil
}

func request(id, method, params string) string {
	if params != "" {
		params = `,"params":` + params
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q%s}`, id, method, params)
}
