// Package script is what every client of the matrix does with every server,
// and the command line of the programs:
//
//	-serve stdio | http | sse [-revision REV]   serve; over HTTP, say LISTEN and the URL on stderr
//	-call stdio | http | sse | fallback -revision REV [-detect yes] -- COMMAND... | URL
//
// With -detect the client has to find out that the server speaks the revision.
// Fallback is a client of Streamable HTTP that meets a server of HTTP+SSE.
// A client says on stdout, a line each, how its steps went. Every server has
// the tools
//
//	steps      reports the progress 1, 2 and 3, a moment apart, and says done
//	burst      does the same without a pause
//	wait       reports the progress 1, and ends when it is cancelled
//	cancelled  says how many calls of wait were cancelled
//	change     tells that the resource changed
//	ask        asks for the client's roots, and says the URI of the first
//
// and the resource test://note, which reads "a note".
package script

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What the servers have, and the root of each client.
const (
	ToolSteps     = "steps"
	ToolBurst     = "burst"
	ToolWait      = "wait"
	ToolCancelled = "cancelled"
	ToolChange    = "change"
	ToolAsk       = "ask"
	RootURI       = "file:///matrix"
	NoteURI       = "test://note"
	NoteText      = "a note"
)

// Tools are the names of the tools.
var Tools = []string{ToolSteps, ToolBurst, ToolWait, ToolCancelled, ToolChange, ToolAsk}

// Steps are what a client does, in this order.
var Steps = []string{"open", "list", "progress", "burst", "cancel", "read", "ask", "subscribe", "close"}

// Step is how one step went: a line of a client's stdout.
type Step struct {
	Name string
	Err  string `json:",omitempty"`
}

// Run is what a server does when a tool but ask is called; progress reports progress
// on the call, and change tells who subscribed that the resource changed.
func Run(ctx context.Context, tool string, progress func(done float64) error, change func() error) (string, error) {
	switch tool {
	case ToolSteps, ToolBurst:
		for i := range 3 {
			if err := progress(float64(i + 1)); err != nil {
				return "", err
			}
			if tool == ToolSteps {
				time.Sleep(50 * time.Millisecond)
			}
		}
		return "done", nil
	case ToolWait:
		if err := progress(1); err != nil {
			return "", err
		}
		select {
		case <-ctx.Done():
			cancelled.Add(1)
			return "", ctx.Err()
		case <-time.After(30 * time.Second):
			return "", errors.New("nobody cancelled")
		}
	case ToolCancelled:
		return fmt.Sprint(cancelled.Load()), nil
	case ToolChange:
		return "changed", change()
	}
	return "", fmt.Errorf("no tool %q", tool)
}

var cancelled atomic.Int64

// Server serves over stdio, or gives the handler for http and sse: in the
// given revision, or in all if that is empty. Foreign ones leave it to the
// client.
type Server struct {
	Stdio func(revision string) error
	HTTP  func(revision string) (http.Handler, error)
	SSE   func(revision string) (http.Handler, error)
}

// Client is one connection of a client.
type Client struct {
	Revision  string
	ListTools func(context.Context) ([]string, error)
	Call      func(ctx context.Context, tool string, progress func(float64)) (string, error)
	Read      func(ctx context.Context, uri string) (string, error)
	Subscribe func(ctx context.Context, uri string) error // what is updated goes to Target.Updated
	Close     func() error
}

// Target is the server to be called.
type Target struct {
	Carrier  string   // stdio, http, sse or fallback
	URL      string   // over all but stdio
	Command  []string // over stdio
	Revision string
	Detect   bool // Revision is what has to come of it
	Updated  func(uri string)
}

// Main runs the program that the flags ask for.
func Main(s Server, dial func(context.Context, Target) (*Client, error)) {
	serve := flag.String("serve", "", "serve over this `carrier`")
	call := flag.String("call", "", "call over this `carrier`")
	revision := flag.String("revision", "", "the `revision` to speak")
	detect := flag.String("detect", "", "find out the revision")
	flag.Parse()
	var err error
	switch {
	case *serve == "stdio":
		err = s.Stdio(*revision)
	case *serve == "http":
		err = listen(s.HTTP, *revision, "/mcp")
	case *serve == "sse":
		err = listen(s.SSE, *revision, "/sse")
	case *call != "" && flag.NArg() > 0:
		t := Target{Carrier: *call, Command: flag.Args(), Revision: *revision, Detect: *detect != ""}
		if *call != "stdio" {
			t.URL, t.Command = flag.Arg(0), nil
		}
		err = play(os.Stdout, t, dial)
	default:
		err = errors.New("nothing to do")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func listen(handler func(revision string) (http.Handler, error), revision, path string) error {
	h, err := handler(revision)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "LISTEN http://%s%s\n", l.Addr(), path)
	return http.Serve(l, h)
}

// patience bounds each step.
const patience = 10 * time.Second

// play makes the steps and says how each went. It ends at the first that
// fails to open; the others do not need each other.
func play(w io.Writer, t Target, dial func(context.Context, Target) (*Client, error)) error {
	out := json.NewEncoder(w)
	var p player
	t.Updated = p.updated
	for _, name := range Steps {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err := p.step(ctx, name, t, dial)
		cancel()
		s := Step{Name: name}
		if err != nil {
			s.Err = err.Error()
		}
		if err := out.Encode(s); err != nil {
			return err
		}
		if name == "open" && err != nil {
			return nil
		}
	}
	return nil
}

type player struct {
	c  *Client
	mu sync.Mutex
	// uris that were said to be updated.
	uris []string
}

func (p *player) updated(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uris = append(p.uris, uri)
}

func (p *player) step(ctx context.Context, name string, t Target, dial func(context.Context, Target) (*Client, error)) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	switch name {
	case "open":
		if p.c, err = dial(context.Background(), t); err == nil && p.c.Revision != t.Revision {
			err = fmt.Errorf("the revision is %s", p.c.Revision)
		}
	case "list":
		var got []string
		if got, err = p.c.ListTools(ctx); err == nil {
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(Tools)); !slices.Equal(got, want) {
				err = fmt.Errorf("the tools are %v", got)
			}
		}
	case "progress":
		err = p.progress(ctx, ToolSteps)
	case "burst":
		err = p.progress(ctx, ToolBurst)
	case "cancel":
		err = p.cancel(ctx)
	case "read":
		var text string
		if text, err = p.c.Read(ctx, NoteURI); err == nil && text != NoteText {
			err = fmt.Errorf("the note reads %q", text)
		}
	case "ask":
		var text string
		if text, err = p.c.Call(ctx, ToolAsk, func(float64) {}); err == nil && text != RootURI {
			err = fmt.Errorf("the server got the root %q", text)
		}
	case "subscribe":
		if err = p.c.Subscribe(ctx, NoteURI); err == nil {
			err = p.change(ctx)
		}
	case "close":
		err = p.c.Close()
	}
	return err
}

func (p *player) progress(ctx context.Context, tool string) error {
	var mu sync.Mutex
	var got []float64
	text, err := p.c.Call(ctx, tool, func(v float64) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, v)
	})
	if err != nil {
		return err
	}
	if text != "done" {
		return fmt.Errorf("the result is %q", text)
	}
	// Some hand progress over on goroutines of their own.
	if !eventually(ctx, time.Second, func() bool { mu.Lock(); defer mu.Unlock(); return len(got) >= 3 }) {
		return fmt.Errorf("the progress is %v", got)
	}
	slices.Sort(got)
	if !slices.Equal(got, []float64{1, 2, 3}) {
		return fmt.Errorf("the progress is %v", got)
	}
	return nil
}

func (p *player) cancel(ctx context.Context) error {
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	running := make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		_, err := p.c.Call(call, ToolWait, func(float64) {
			select {
			case running <- struct{}{}:
			default:
			}
		})
		done <- err
	}()
	select {
	case <-running:
	case err := <-done:
		return fmt.Errorf("the call ended at once: %v", err)
	case <-time.After(3 * time.Second):
		return errors.New("no progress came")
	}
	cancel()
	select {
	case err := <-done:
		if err == nil {
			return errors.New("the call ended well")
		}
	case <-ctx.Done():
		return errors.New("the call does not end")
	}
	var text string
	var err error
	if !eventually(ctx, 3*time.Second, func() bool {
		text, err = p.c.Call(ctx, ToolCancelled, func(float64) {})
		return err != nil || text != "0"
	}) {
		return errors.New("the server was not told")
	}
	return err
}

// change lets the server change the note until it is heard of: a subscription
// may take a moment to be there.
func (p *player) change(ctx context.Context) error {
	for range 5 {
		if _, err := p.c.Call(ctx, ToolChange, func(float64) {}); err != nil {
			return err
		}
		if eventually(ctx, time.Second, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return slices.Contains(p.uris, NoteURI) }) {
			return nil
		}
	}
	return fmt.Errorf("no update came, but %q", strings.Join(p.uris, " "))
}

func eventually(ctx context.Context, d time.Duration, f func() bool) bool {
	for end := time.Now().Add(d); ; time.Sleep(10 * time.Millisecond) {
		if f() {
			return true
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return false
		}
	}
}
