// Package program is the command line of the programs that are measured, one
// a toolkit: each is a server, and a client that measures itself.
//
//	-stdio                    serve stdin and stdout
//	-http ADDR                serve HTTP at /mcp, and say LISTEN and the address on stderr
//	-client -server COMMAND   call the server, over its stdin and stdout or with -over http; for each line of
//	                          stdin, a time or a number of calls, measure that and say what it took
//
// A server has the tools echo {message}, which answers with the message, tell
// {message}, which reports progress before, and big {size}, which answers with
// that many bytes of text.
package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/goldwire/goldwire/testdata/peers/transport/load"
)

// Toolkit is what a program has of its toolkit. Each func may be nil.
type Toolkit struct {
	Stdio  func(mode string) error
	HTTP   func(mode string) (http.Handler, error)
	Dial   func(ctx context.Context, t Target) (*Client, error)
	Listen func(mode string, l net.Listener) error // instead of HTTP
}

// Target is the server that a client is to call: at a URL, or a command.
type Target struct {
	URL      string
	Command  []string
	Revision string // to speak; "" for what the client does by itself
}

// Client is a connected client.
type Client struct {
	Echo     func(ctx context.Context, message string) (string, error)
	Big      func(ctx context.Context, size int) (int, error) // bytes of the text
	Revision string
	Close    func()
}

// Main runs the program that the flags ask for.
func Main(t Toolkit) {
	if err := run(t); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(t Toolkit) error {
	stdio := flag.Bool("stdio", false, "serve stdin and stdout")
	addr := flag.String("http", "", "serve HTTP at this `address`")
	mode := flag.String("mode", "", "which of the toolkit's ways to serve")
	client := flag.Bool("client", false, "be the client")
	server := flag.String("server", "", "the server's `command`")
	over := flag.String("over", "stdio", "stdio or http")
	revision := flag.String("revision", "", "the `revision` that the client asks for")
	ways := flag.Int("ways", 1, "calls at a time")
	size := flag.Int("size", 100, "bytes of a message")
	big := flag.Bool("big", false, "read large results instead")
	flag.Parse()
	if *client {
		target := Target{Revision: *revision}
		return drive(t, target, strings.Fields(*server), *over == "http", *ways, *size, *big)
	}
	watch()
	if *stdio {
		return t.Stdio(*mode)
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "LISTEN", l.Addr())
	if t.Listen != nil {
		return t.Listen(*mode, l)
	}
	h, err := t.HTTP(*mode)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	s := &http.Server{Handler: mux, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			accepted.Add(1)
		}
	}}
	return s.Serve(l)
}

var accepted atomic.Int64

// watch answers each SIGUSR1 with a line on stderr, for the life of the
// process.
func watch() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	go func() {
		for range c {
			debug.FreeOSMemory()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b, _ := json.Marshal(load.Stats{Goroutines: int64(runtime.NumGoroutine()), TotalAlloc: int64(m.TotalAlloc), Conns: accepted.Load()})
			fmt.Fprintf(os.Stderr, "STATS %s\n", b)
		}
	}()
}

// drive dials the server, and then measures for each budget that it reads from
// stdin.
func drive(t Toolkit, target Target, server []string, overHTTP bool, ways, size int, big bool) error {
	ctx := context.Background()
	var listening *load.Server
	if overHTTP {
		s, err := load.StartHTTP(server)
		if err != nil {
			return err
		}
		defer func() { _ = s.Stop() }()
		listening = s
		target.URL = "http://" + s.Addr + "/mcp"
	} else {
		target.Command = append(server, "-stdio")
	}
	c, err := t.Dial(ctx, target)
	if err != nil {
		return err
	}
	defer func() {
		closed := make(chan struct{})
		go func() { c.Close(); close(closed) }()
		select {
		case <-closed:
		case <-time.After(3 * time.Second): // this process is about to end
		}
	}()
	pid := child()
	if listening != nil {
		pid = listening.PID()
	}
	if pid == 0 {
		return errors.New("the server's process is not found")
	}
	text := load.Text(size)
	echo := func(int) error {
		got, err := c.Echo(ctx, text)
		if err == nil && got != text {
			err = fmt.Errorf("the echo of %q is %q", text, got)
		}
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		b, err := load.ParseBudget(lines.Text())
		if err != nil {
			return err
		}
		r := load.Result{Revision: c.Revision}
		if big {
			err = large(ctx, c, &r, pid, b)
		} else {
			err = r.Parallel(b, ways, pid, echo)
			r.ServerPeak, r.ClientPeak = load.Peak(pid), load.Peak(os.Getpid())
			if listening != nil && err == nil {
				var s load.Stats
				s, err = listening.Stats()
				r.Conns = int(s.Conns)
			}
		}
		if err != nil {
			r.Err = err.Error()
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// large reads large results, after a small one by which the server has its
// text in memory.
func large(ctx context.Context, c *Client, r *load.Result, server int, b load.Budget) error {
	call := func(size int) error {
		n, err := c.Big(ctx, size)
		if err == nil && n != size {
			err = fmt.Errorf("%d bytes came of %d", n, size)
		}
		return err
	}
	if err := call(10); err != nil {
		return err
	}
	debug.FreeOSMemory()
	r.ServerRSS, r.ClientRSS = load.Resident(server), load.Resident(os.Getpid())
	load.ResetPeak(server)
	load.ResetPeak(os.Getpid())
	for range 2 {
		if err := call(load.BigSize); err != nil {
			return err
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := r.Sequential(b, func() error { return call(load.BigSize) })
	runtime.ReadMemStats(&after)
	r.ClientAlloc = float64(after.TotalAlloc-before.TotalAlloc) / float64(max(r.Calls, 1))
	r.ServerPeak, r.ClientPeak = load.Peak(server), load.Peak(os.Getpid())
	return err
}

// child is the process id of the only child, 0 if there is none.
func child() (pid int) {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		f, err := os.Open("/proc/self/task/" + t.Name() + "/children")
		if err != nil {
			continue
		}
		_, _ = fmt.Fscan(f, &pid)
		_ = f.Close()
		if pid != 0 {
			return pid
		}
	}
	return 0
}
