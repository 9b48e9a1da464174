package dial_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/ssehttp"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestMain makes the test binary its own peer in another process, and fails
// the run when goroutines of this module or children are left behind.
func TestMain(m *testing.M) {
	if kind := os.Getenv("GOLDWIRE_CHILD"); kind != "" {
		os.Exit(child(kind))
	}
	code := m.Run()
	if stacks := left(); code == 0 && len(stacks) > 0 {
		fmt.Fprintf(os.Stderr, "goroutines are left behind:\n%s\n", strings.Join(stacks, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

// left is the goroutines that run code of this module, once that has settled.
func left() (stacks []string) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 250 {
		buf := make([]byte, 4<<20)
		stacks = slices.DeleteFunc(strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n"), func(s string) bool {
			return !strings.Contains(s, "goldwire/runtime/") || strings.Contains(s, "dial_test.left")
		})
		if len(stacks) == 0 {
			break
		}
		<-tick.C
	}
	return stacks
}

// child is what the test binary does as a peer: a server over stdio or over
// HTTP, in every revision.
func child(kind string) int {
	var err error
	switch kind {
	case "stdio":
		err = jsonrpc.Serve(context.Background(), jsonl.Stdio(), everyRevision(newWork()))
	case "http":
		err = serveHTTP(newWork())
	default:
		err = errors.New("unknown child " + kind)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serveHTTP says its URL on stdout and serves until SIGTERM.
func serveHTTP(w *work) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	l, err := streamhttp.Listen(ctx, ":0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	return streamhttp.Serve(ctx, l, streamhttp.NewHandler(everyRevision(w), streamhttp.HandlerOptions{Logger: quiet.Logger}), nil)
}

// childEnv is the environment of a child of a kind.
func childEnv(kind string) map[string]string {
	env := map[string]string{"GOLDWIRE_CHILD": kind, "GORACE": "atexit_sleep_ms=0"} // it exits without the race detector's second
	if testing.CoverMode() != "" {
		env["GOCOVERDIR"] = os.TempDir()
	}
	return env
}

// self is the test binary as a server over stdio.
func self() *jsonl.Process {
	p := jsonl.Command(os.Args[0])
	p.Env = childEnv("stdio")
	return p
}

// httpChild is a server over HTTP in another process.
type httpChild struct {
	url string
	cmd *exec.Cmd
}

// kill is kill -9.
func (c httpChild) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// startHTTP starts the test binary as a server over HTTP, until the test ends.
func startHTTP(t testing.TB) httpChild {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = os.Environ()
	for name, value := range childEnv("http") {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := httpChild{cmd: cmd}
	t.Cleanup(c.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	c.url = strings.TrimSpace(line)
	return c
}

var quiet = jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)}

const serverName = "script"

// dialect is both sides of the script in the types of one revision.
type dialect struct {
	revision string
	server   func(*work) jsonrpc.Binder
	connect  func(context.Context, jsonrpc.Dialer, *ear) (*session, error)
}

var dialects = []dialect{dialect20241105, dialect20250326, dialect20250618, dialect20251125, dialect20260728}

// everyRevision serves each client in the revision that it speaks.
func everyRevision(w *work) jsonrpc.Binder {
	var all []jsonrpc.Binder
	for _, d := range dialects {
		all = append(all, d.server(w))
	}
	return compat.Revisions(all...)
}

// session is a client in any revision.
type session struct {
	conn             *jsonrpc.Conn
	revision, server string
	close            func() error
	tools            func(context.Context) iter.Seq2[string, error]
	call             func(ctx context.Context, tool, arguments string) (string, error)
	read             func(ctx context.Context, uri string) (string, error)
	watch            func(ctx context.Context, uri string) (stop func() error, err error)
	logFrom          func(ctx context.Context, level string) error
	other            func(ctx context.Context, method string) error // with no params of its own
}

// ear is what a client hears beside answers.
type ear struct {
	options jsonrpc.Options
	asked   func(prompt string) (answer string)
	logged  func(level string, data wire.Raw)
	updated func(uri string)
}

// deaf hears nothing.
func deaf() *ear {
	return &ear{
		options: quiet, asked: func(prompt string) string { return prompt },
		logged: func(string, wire.Raw) {}, updated: func(string) {},
	}
}

// host is what the server of a revision can do within a call.
type host struct {
	ask func(prompt string) (string, error)
	log func(level, text string) error
}

// work is what the server does, in any revision.
type work struct {
	options jsonrpc.Options
	ended   chan string  // what became of the calls of wait
	running atomic.Int64 // calls
}

func newWork() *work { return &work{options: quiet, ended: make(chan string, 4096)} }

var tools = []string{"echo", "count", "wait", "ended", "ask", "log", "touch", "big"}

func (w *work) call(ctx context.Context, tool string, arguments wire.Raw, h host) (string, error) {
	defer w.running.Add(-1)
	running := w.running.Add(1)
	peer := jsonrpc.PeerOf(ctx)
	text, _ := arguments.Get("text").Str()
	n, _ := arguments.Get("n").Int()
	switch tool {
	case "echo":
		return text, nil
	case "count":
		for i := range n {
			if err := peer.Progress(ctx, float64(i+1), new(float64(n)), fmt.Sprint("step ", i+1)); err != nil {
				return "", err
			}
		}
		return fmt.Sprint("counted ", n), nil
	case "wait": // until it is cancelled
		if peer.WantsProgress() {
			if err := peer.Progress(ctx, 1, nil, "begun"); err != nil {
				return "", err
			}
		}
		peer.Detach()
		<-ctx.Done()
		w.ended <- ctx.Err().Error()
		return "", ctx.Err()
	case "block": // as wait does, without a word
		<-ctx.Done()
		return "", ctx.Err()
	case "running":
		return fmt.Sprint(running - 1), nil
	case "ended":
		peer.Detach()
		select {
		case text := <-w.ended:
			return text, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	case "ask":
		answer, err := h.ask(text)
		return "the answer is " + answer, err
	case "log":
		for _, level := range []string{"info", "warning", "error"} {
			if err := h.log(level, text); err != nil {
				return "", err
			}
		}
		return "logged", nil
	case "touch":
		return "touched", peer.ResourceUpdated(ctx, text)
	case "big":
		return strings.Repeat("x", int(n)), nil
	}
	return "", jsonrpc.NewError(jsonrpc.CodeInvalidParams, "name: no tool "+tool)
}

// page is three tools of the list.
func page(cursor *string) (names []string, next *string, err error) {
	from := 0
	if cursor != nil {
		if from = slices.Index(tools, *cursor); from < 0 {
			return nil, nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "cursor: not one of ours")
		}
	}
	to := min(from+3, len(tools))
	if to < len(tools) {
		next = &tools[to]
	}
	return tools[from:to], next, nil
}

func read(uri string) string { return "text of " + uri }

func names[T any](list iter.Seq2[*T, error], name func(*T) string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for v, err := range list {
			if err != nil {
				yield("", err)
				return
			}
			if !yield(name(v), nil) {
				return
			}
		}
	}
}

// pipeListener is a listener in memory, which works in a bubble.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	shut  chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), shut: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.shut:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.shut) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (l *pipeListener) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.shut:
		return nil, net.ErrClosed
	}
}

// site is a handler that is being served.
type site struct {
	url string
	rt  *http.Transport // nil for sockets
	die func()          // cuts all connections, and takes no more
}

// serve serves a handler in memory or at a socket until the test ends.
func serve(t testing.TB, h http.Handler, inMemory bool) site {
	t.Helper()
	srv := streamhttp.NewServer(h)
	srv.ErrorLog = slog.NewLogLogger(quiet.Logger.Handler(), slog.LevelError)
	served := make(chan struct{}) // closed when that is over
	var l net.Listener
	var s site
	if inMemory {
		p := newPipeListener()
		l, s = p, site{url: "http://pipe", rt: &http.Transport{DialContext: p.dial}}
	} else {
		var err error
		if l, err = streamhttp.Listen(context.Background(), ":0"); err != nil {
			t.Fatal(err)
		}
		s.url = "http://" + l.Addr().String()
	}
	go func() {
		defer close(served)
		_ = srv.Serve(l)
	}()
	s.die = func() {
		_ = srv.Close()
		<-served
	}
	t.Cleanup(func() {
		if s.rt != nil {
			s.rt.CloseIdleConnections()
		}
		s.die()
	})
	return s
}

func (s site) endpoint(k streamhttp.Kind) *streamhttp.Endpoint {
	e := &streamhttp.Endpoint{URL: s.url, Kind: k, Logger: quiet.Logger}
	if s.rt != nil {
		e.RoundTripper = s.rt
	}
	return e
}

func streamable(t testing.TB, b jsonrpc.Binder) *streamhttp.Handler {
	t.Helper()
	h := streamhttp.NewHandler(b, streamhttp.HandlerOptions{Logger: quiet.Logger})
	if err := h.Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func twoEndpoints(t testing.TB, b jsonrpc.Binder) *ssehttp.Handler {
	t.Helper()
	h := ssehttp.NewHandler(b, ssehttp.HandlerOptions{Logger: quiet.Logger})
	if err := h.Err(); err != nil {
		t.Fatal(err)
	}
	return h
}
