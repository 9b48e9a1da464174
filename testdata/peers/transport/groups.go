package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/testdata/peers/transport/load"
)

// experiment is one measurement, made with each of its subjects.
type experiment struct {
	name     string
	kind     kind // what is shown
	subjects []*subject
}

type kind int

const (
	calls kind = iota
	long
	large
	idle
)

// subject is a server, or a client with its server.
type subject struct {
	name    string
	open    func() (load.Runner, error)
	results []load.Result // by round
}

// afresh starts what it measures each time.
type afresh func() (load.Result, error)

func (f afresh) Run(load.Budget) (load.Result, error) { return f() }
func (f afresh) Close()                               {}

// programs is the folder of the programs.
type programs string

// server is the command of a server.
func (p programs) server(program, mode string) []string {
	command := []string{filepath.Join(string(p), program)}
	if mode != "" {
		command = append(command, "-mode", mode)
	}
	return command
}

// pair is a toolkit's client with its server.
func (p programs) pair(program, mode string, args ...string) func() (load.Runner, error) {
	return func() (load.Runner, error) {
		c := &pair{cmd: exec.Command(filepath.Join(string(p), program), append([]string{"-client", "-server", strings.Join(p.server(program, mode), " ")}, args...)...)}
		c.cmd.Stderr = &c.stderr
		var err error
		if c.in, err = c.cmd.StdinPipe(); err != nil {
			return nil, err
		}
		out, err := c.cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		c.out = json.NewDecoder(out)
		return c, c.cmd.Start()
	}
}

type pair struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	stderr bytes.Buffer
	conns  int // before
}

// Run lets the client measure. Of the connections it counts the new ones.
func (c *pair) Run(b load.Budget) (r load.Result, err error) {
	if _, err = fmt.Fprintln(c.in, b); err == nil {
		err = c.out.Decode(&r)
	}
	if err != nil {
		_ = c.in.Close()
		_ = c.cmd.Wait()
		return r, fmt.Errorf("%w: %.300s", err, c.stderr.Bytes())
	}
	r.Conns, c.conns = r.Conns-c.conns, r.Conns
	return r, nil
}

// Close ends the client, which ends its server.
func (c *pair) Close() {
	_ = c.in.Close()
	kill := time.AfterFunc(10*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	_ = c.cmd.Wait() // how it ends says nothing of what was measured
}

// once runs a pair once, with calls of a number of its own.
func once(open func() (load.Runner, error), calls int) func() (load.Result, error) {
	return func() (load.Result, error) {
		c, err := open()
		if err != nil {
			return load.Result{}, err
		}
		defer c.Close()
		return c.Run(load.Budget{Calls: calls})
	}
}

const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

var defaultGroups = []string{"stdio", "stdio-pairs", "http", "http-events", "http-pairs", "big", "idle"}

// groups by name.
var groups = map[string]func(programs) []*experiment{
	"stdio":       stdioServers,
	"stdio-pairs": stdioPairs,
	"http":        httpServers,
	"http-events": httpEvents,
	"http-pairs":  httpPairs,
	"big":         bigResults,
	"idle":        idlePeers,
	"million":     million,
}

// stdioServers are servers under prepared bytes on bare pipes.
func stdioServers(p programs) (l []*experiment) {
	for _, revision := range []string{legacy, modern} {
		for _, ways := range []int{1, 64} {
			e := &experiment{name: fmt.Sprintf("stdio server, %s, %d at a time", revision, ways)}
			for _, name := range []string{"raw", "goldwire", "go-sdk", "mcp-go", "trpc"} {
				if name == "trpc" && (revision == modern || ways > 1) {
					continue // it does not speak the one, and mixes up its lines with the other
				}
				e.add(name, func() (load.Runner, error) {
					return load.OpenStdio(p.server(program(name), ""), revision == modern, 100, ways)
				})
			}
			l = append(l, e)
		}
	}
	return l
}

// program is the program of a toolkit.
func program(toolkit string) string { return strings.ReplaceAll(toolkit, "-", "") }

func (e *experiment) add(name string, open func() (load.Runner, error)) {
	e.subjects = append(e.subjects, &subject{name: name, open: open})
}

func (e *experiment) afresh(name string, measure func() (load.Result, error)) {
	e.add(name, func() (load.Runner, error) { return afresh(measure), nil })
}

// stdioPairs are clients with servers of the same toolkit.
func stdioPairs(p programs) (l []*experiment) {
	for _, ways := range []string{"1", "64"} {
		e := &experiment{name: "stdio, own client and server, " + ways + " at a time"}
		for _, name := range []string{"goldwire", "go-sdk", "mcp-go"} {
			for _, revision := range []string{legacy, modern} {
				e.add(name+" "+revision, p.pair(program(name), "", "-ways", ways, "-revision", revision))
			}
		}
		e.add("trpc", p.pair("trpc", "", "-ways", ways))
		l = append(l, e)
	}
	return l
}

// httpModes are the ways in which toolkits answer over HTTP: of the faster one
// it is the best that counts.
func httpModes(revision string) (l []mode) {
	l = append(l, mode{"raw", "raw", ""}, mode{"goldwire", "goldwire", ""})
	if revision == legacy {
		l = append(l, mode{"go-sdk JSON", "gosdk", "stateful-json"}, mode{"go-sdk SSE", "gosdk", "stateful-sse"})
	} else {
		l = append(l, mode{"go-sdk JSON", "gosdk", "stateless-json"}, mode{"go-sdk SSE", "gosdk", "stateless-sse"})
	}
	l = append(l, mode{"mcp-go", "mcpgo", ""})
	if revision == legacy {
		l = append(l, mode{"trpc JSON", "trpc", "json"}, mode{"trpc SSE", "trpc", "sse"})
	}
	return l
}

type mode struct{ name, program, mode string }

// httpServers are servers under prepared bytes on sockets. Single calls are
// made wherever the system puts server and caller, again with a core for each,
// and by the client of net/http, as most callers would.
func httpServers(p programs) (l []*experiment) {
	for _, revision := range []string{legacy, modern} {
		one := &experiment{name: fmt.Sprintf("HTTP server, %s, 1 at a time", revision)}
		pinned := &experiment{name: one.name + apart}
		client := &experiment{name: one.name + netHTTP}
		many := &experiment{name: fmt.Sprintf("HTTP server, %s, 64 at a time", revision)}
		for _, m := range slices.Insert(httpModes(revision), 1, mode{byHand, "raw", "hand"}) {
			open := func(ways int, netHTTP bool) func() (load.Runner, error) {
				return func() (load.Runner, error) {
					return load.OpenHTTP(p.server(m.program, m.mode), netHTTP, revision == modern, load.EchoCall, 100, ways)
				}
			}
			one.add(m.name, open(1, false))
			pinned.add(m.name, func() (load.Runner, error) { return load.Apart(open(1, false)) })
			client.add(m.name, open(1, true))
			many.add(m.name, open(64, false))
		}
		l = append(l, one, pinned, client, many)
	}
	return l
}

// byHand is a handler of net/http that reads each call and writes its answer with
// the hand-written codec: what single calls are to be held against.
const byHand = "by hand"

// apart ends the name of an experiment of load.Apart, netHTTP that of one whose
// calls are made by net/http.
const (
	apart   = ", on a core each"
	netHTTP = ", by net/http"
)

// httpEvents are calls with progress before the answer: event streams.
func httpEvents(p programs) (l []*experiment) {
	for _, revision := range []string{legacy, modern} {
		for _, ways := range []int{1, 64} {
			e := &experiment{name: fmt.Sprintf("HTTP server, %s, progress and answer, %d at a time", revision, ways)}
			for _, m := range httpModes(revision) {
				if m.program == "trpc" || strings.HasSuffix(m.mode, "-json") {
					continue
				}
				e.add(m.name, func() (load.Runner, error) {
					return load.OpenHTTP(p.server(m.program, m.mode), false, revision == modern, load.TellCall, 100, ways)
				})
			}
			l = append(l, e)
		}
	}
	return l
}

// httpPairs are clients with servers of the same toolkit, and net/http's with
// a bare handler.
func httpPairs(p programs) (l []*experiment) {
	for _, ways := range []int{1, 64} {
		e := &experiment{name: fmt.Sprintf("HTTP, own client and server, %d at a time", ways)}
		e.add("raw", func() (load.Runner, error) {
			return load.OpenHTTP(p.server("raw", ""), true, false, load.EchoCall, 100, ways)
		})
		for _, revision := range []string{legacy, modern} {
			for _, m := range httpModes(revision) {
				args := []string{"-over", "http", "-ways", strconv.Itoa(ways), "-revision", revision}
				switch {
				case m.program == "raw":
					continue
				case m.program == "trpc":
					args[len(args)-1] = "" // it has no choice
					e.add(m.name, p.pair(m.program, m.mode, args...))
				default:
					e.add(m.name+" "+revision, p.pair(m.program, m.mode, args...))
				}
			}
		}
		l = append(l, e)
	}
	return l
}

// bigResults have 16 MiB of text.
func bigResults(p programs) []*experiment {
	const few = 3 // calls
	stdio := &experiment{name: "stdio server, 16 MiB result", kind: large}
	stdioPair := &experiment{name: "stdio, own client and server, 16 MiB result", kind: large}
	overHTTP := &experiment{name: "HTTP server, 16 MiB result", kind: large}
	httpPair := &experiment{name: "HTTP, own client and server, 16 MiB result", kind: large}
	for _, m := range append(httpModes(legacy), mode{"raw, buffer of the right size", "raw", "sized"}, mode{"raw, streamed", "raw", "stream"}, mode{"goldwire, streamed", "goldwire", "stream"}) {
		over := []string{"-big", "-over", "http"}
		if !strings.HasSuffix(m.name, " SSE") {
			name := strings.TrimSuffix(m.name, " JSON")
			stdio.afresh(name, func() (load.Result, error) {
				return load.BigStdio(p.server(m.program, m.mode), false, load.Budget{Calls: few})
			})
			if m.program != "raw" && m.mode != "stream" {
				stdioPair.afresh(name, once(p.pair(m.program, m.mode, "-big"), few))
			}
		}
		overHTTP.afresh(m.name, func() (load.Result, error) {
			return load.BigHTTP(p.server(m.program, m.mode), false, load.Budget{Calls: few})
		})
		if m.program == "gosdk" {
			over = append(over, "-revision", legacy) // its server with sessions has no other
		}
		if m.program != "raw" && m.mode != "stream" {
			httpPair.afresh(m.name, once(p.pair(m.program, m.mode, over...), few))
		}
	}
	return []*experiment{stdio, stdioPair, overHTTP, httpPair}
}

// idlePeers are sessions and streams on which nothing happens.
func idlePeers(p programs) (l []*experiment) {
	for _, n := range []int{1000, 5000} {
		for _, kind := range []string{load.IdleSession, load.IdleStream, load.IdleListen} {
			e := &experiment{name: fmt.Sprintf("%d idle: %s", n, kind), kind: idle}
			for _, m := range []mode{{"raw", "raw", ""}, {"goldwire", "goldwire", ""}, {"go-sdk", "gosdk", "stateful-sse"}, {"mcp-go", "mcpgo", ""}, {"trpc", "trpc", "sse"}} {
				switch {
				case kind == load.IdleSession && m.program == "raw", kind == load.IdleListen && m.program == "trpc":
					continue
				case kind == load.IdleListen && m.program == "gosdk":
					m.mode = "stateless-sse"
				}
				e.afresh(m.name, func() (load.Result, error) { return load.Idle(p.server(m.program, m.mode), kind, n) })
			}
			l = append(l, e)
		}
	}
	return l
}

// million calls, 64 at a time.
func million(p programs) []*experiment {
	stdio := &experiment{name: "stdio, own client and server, 1,000,000 calls, 64 at a time", kind: long}
	overHTTP := &experiment{name: "HTTP, own client and server, 1,000,000 calls, 64 at a time", kind: long}
	const calls = 1_000_000
	for _, m := range httpModes(legacy) {
		if m.program == "raw" || strings.HasSuffix(m.name, " SSE") {
			continue
		}
		name := strings.TrimSuffix(m.name, " JSON")
		stdio.afresh(name, once(p.pair(m.program, "", "-ways", "64"), calls))
		over := []string{"-ways", "64", "-over", "http"}
		if m.program == "gosdk" {
			over = append(over, "-revision", legacy)
		}
		overHTTP.afresh(name, once(p.pair(m.program, m.mode, over...), calls))
	}
	return []*experiment{stdio, overHTTP}
}
