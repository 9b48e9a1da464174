package broken

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/goldwire/goldwire/conformance/everything"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Wire is a filter before a server: it sees every line both ways. What is nil
// changes nothing.
type Wire struct {
	// Start is called before anything was said.
	Start func(w *Link)
	// Input may replace a line of the client, without its newline, or deal with
	// it itself and return nil.
	Input func(w *Link, line []byte) []byte
	// Output may replace a line of the server; "" sends nothing. asked is what it
	// answers, the zero Message for what answers nothing.
	Output func(w *Link, asked Message, line string) string
	// End is called when the client has said all, before the server hears of
	// it.
	End func(w *Link)
	// Exit is the status with which the server exits.
	Exit int
}

// Message is a line that was read as a message; the zero value is none.
type Message struct {
	Text   wire.Raw
	ID     wire.Raw // nil where it has none
	Method string
	Params wire.Raw
	Meta   wire.Raw // params._meta
}

// Name is the tool, prompt or URI that a request is about, or "".
func (m Message) Name() string {
	for _, member := range []string{"name", "uri", "taskId"} {
		if s, ok := m.Params.Get(member).Str(); ok {
			return s
		}
	}
	return ""
}

// Link is one connection through a filter. Its methods may be called by the
// functions of Wire, which are called one at a time.
type Link struct {
	Context context.Context // ends when the server is killed
	State   map[string]any  // free for faults
	// Revision is the one agreed by handshake, "" before.
	Revision string

	turn  chan struct{} // holds one while a function of Wire runs: one may block for as long as the server lives
	out   io.Writer
	errs  io.Writer
	in    io.Writer // to the server
	asked map[string]Message
	open  map[string]bool // ids of requests that have no answer yet
	stop  context.CancelFunc
	ended bool
	exit  int
}

// Line writes a line to the client.
func (w *Link) Line(text string) { w.Write(text + "\n") }

// Write writes bytes to the client.
func (w *Link) Write(text string) { _, _ = io.WriteString(w.out, text) }

// Stderr writes a line of free text.
func (w *Link) Stderr(text string) { _, _ = io.WriteString(w.errs, text+"\n") }

// Exit ends the server with a status.
func (w *Link) Exit(status int) { w.ended, w.exit = true, status; w.stop() }

// Hang blocks until the server is killed.
func (w *Link) Hang() { <-w.Context.Done() }

// Count counts from 1 how often it was called with a key on this connection.
func (w *Link) Count(key string) int {
	n, _ := w.State[key].(int)
	w.State[key] = n + 1
	return n + 1
}

type serveFunc func(ctx context.Context, in io.Reader, out, errs io.Writer) int

// reference is the reference server.
func reference(ctx context.Context, in io.Reader, out, _ io.Writer) int {
	if err := jsonrpc.Serve(ctx, jsonl.Pipe(in, out), everything.Server()); err != nil && ctx.Err() == nil {
		return 1
	}
	return 0
}

// serve runs a server behind the filter and returns its exit status.
func (f *Wire) serve(ctx context.Context, server serveFunc, in io.Reader, out, errs io.Writer) int {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	toServer, serverIn := io.Pipe()
	serverOut, fromServer := io.Pipe()
	w := &Link{Context: ctx, State: map[string]any{}, out: out, errs: errs, in: serverIn, turn: make(chan struct{}, 1), asked: map[string]Message{}, open: map[string]bool{}, stop: stop, exit: f.Exit}
	if f.Start != nil {
		f.Start(w)
	}
	var work sync.WaitGroup
	work.Go(func() { f.inward(w, in, serverIn) })
	code := make(chan int, 1)
	work.Go(func() {
		code <- server(ctx, toServer, fromServer, errs)
		_ = fromServer.Close()
		_ = toServer.CloseWithError(io.ErrClosedPipe)
	})
	f.outward(w, serverOut)
	stop() // ends a function that blocks
	_ = toServer.CloseWithError(io.ErrClosedPipe)
	if c, ok := in.(io.Closer); ok {
		_ = c.Close()
	}
	work.Wait()
	if n := <-code; n != 0 && w.exit == 0 && !w.ended {
		return n
	}
	return w.exit
}

// inward carries what the client says.
func (f *Wire) inward(w *Link, in io.Reader, to io.WriteCloser) {
	defer func() { _ = to.Close() }()
	for r := bufio.NewReader(in); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			if f.End != nil {
				w.turn <- struct{}{}
				f.End(w)
				<-w.turn
			}
			return
		}
		line = bytes.TrimSuffix(line, []byte{'\n'})
		w.turn <- struct{}{}
		w.note(line)
		if f.Input != nil {
			line = f.Input(w, line)
		}
		<-w.turn
		if line == nil {
			continue
		}
		if _, err := to.Write(append(line, '\n')); err != nil {
			return
		}
	}
}

// note keeps what was asked, so that it is known what an answer is about.
func (w *Link) note(line []byte) {
	v, err := wire.ParseRaw(line)
	if err != nil {
		return
	}
	keep := func(v wire.Raw) {
		if m := parse(v); m.ID != nil && m.Method != "" {
			w.asked[string(m.ID)], w.open[string(m.ID)] = m, true
		}
	}
	keep(v)
	for e := range v.Elems() {
		keep(e)
	}
}

func parse(v wire.Raw) Message {
	m := Message{Text: v, ID: v.Get("id"), Params: v.Get("params")}
	m.Method, _ = v.Get("method").Str()
	m.Meta = m.Params.Get("_meta")
	return m
}

// outward carries what the server says.
func (f *Wire) outward(w *Link, from io.Reader) {
	for r := bufio.NewReader(from); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		text := string(bytes.TrimSuffix(line, []byte{'\n'}))
		w.turn <- struct{}{}
		if !w.ended {
			if f.Output != nil {
				text = f.Output(w, w.answered(text), text)
			}
			if text != "" {
				w.Line(text)
			}
		}
		<-w.turn
	}
}

// answered is the request that a line answers.
func (w *Link) answered(line string) Message {
	v, err := wire.ParseRaw([]byte(line))
	if err != nil {
		return Message{}
	}
	if m := v.Get("method"); m != nil {
		return Message{}
	}
	delete(w.open, string(v.Get("id")))
	if asked, ok := w.asked[string(v.Get("id"))]; ok {
		if version, ok := v.Get("result").Get("protocolVersion").Str(); ok && asked.Method == "initialize" {
			w.Revision = version
		}
		return asked
	}
	return Message{}
}
