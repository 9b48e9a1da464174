package bridge

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// wireEnd is one end of a line connection, read and written as bytes.
type wireEnd struct {
	t *testing.T
	r *bufio.Reader
	w io.WriteCloser
}

func (e *wireEnd) send(line string) {
	e.t.Helper()
	_, err := io.WriteString(e.w, line+"\n")
	require.NoError(e.t, err)
}

func (e *wireEnd) recv() string {
	e.t.Helper()
	line, err := e.r.ReadString('\n')
	require.NoError(e.t, err)
	return strings.TrimSuffix(line, "\n")
}

// over wants the other side to say nothing more.
func (e *wireEnd) over() {
	e.t.Helper()
	_, err := e.r.ReadByte()
	require.ErrorIs(e.t, err, io.EOF)
}

// lines joins streams with an end that is read and written as bytes.
func lines(t *testing.T) (*jsonl.Streams, *wireEnd) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	return jsonl.Pipe(r1, w2), &wireEnd{t: t, r: bufio.NewReader(r2), w: w1}
}

// servers is a dialer of servers that the test plays.
type servers struct {
	t    *testing.T
	next chan *wireEnd
}

func newServers(t *testing.T) *servers { return &servers{t: t, next: make(chan *wireEnd, 100)} }

func (s *servers) Dial(ctx context.Context) (jsonrpc.Link, error) {
	streams, end := lines(s.t)
	l, err := streams.Dial(ctx)
	s.next <- end
	return l, err
}

func quietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }

// bridged is a client of a bridge to servers that the test plays.
func bridged(t *testing.T, o Options) (b *Bridge, client *wireEnd, s *servers) {
	t.Helper()
	s = newServers(t)
	if o.Logger == nil {
		o.Logger = quietLog()
	}
	b = New(s, o)
	client = connect(t, b)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	return b, client, s
}

// connect makes one more client of a bridge.
func connect(t *testing.T, b *Bridge) *wireEnd {
	t.Helper()
	streams, client := lines(t)
	served := make(chan error, 1)
	go func() { served <- jsonrpc.Serve(context.Background(), streams, b) }()
	t.Cleanup(func() {
		_ = client.w.Close()
		go func() { _, _ = io.Copy(io.Discard, client.r) }()
		<-served
	})
	return client
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}`

// begin makes the handshake of a stateful session.
func begin(t *testing.T, client *wireEnd, s *servers) *wireEnd {
	t.Helper()
	client.send(initialize)
	server := <-s.next
	require.Equal(t, strings.Replace(initialize, `"id":0`, `"id":1`, 1), server.recv())
	const answer = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"2"},"x":1.0}}`
	server.send(answer)
	require.Equal(t, strings.Replace(answer, `"id":1`, `"id":0`, 1), client.recv())
	const initialized = `{"method":"notifications/initialized","jsonrpc":"2.0"}`
	client.send(initialized)
	require.Equal(t, initialized, server.recv())
	return server
}
