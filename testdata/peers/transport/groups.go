package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

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
	large
	idle
)

// subject is a server, or a client with its server.
type subject struct {
	name    string
	measure func(load.Budget) (load.Result, error)
	results []load.Result // by round
}

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

// pair measures a toolkit's client with its server.
func (p programs) pair(program, mode string, args ...string) func(load.Budget) (load.Result, error) {
	return func(b load.Budget) (r load.Result, err error) {
		cmd := exec.Command(filepath.Join(string(p), program), append([]string{"-client", "-server", strings.Join(p.server(program, mode), " "), "-benchtime", b.String()}, args...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, &r)
		}
		if err != nil {
			err = fmt.Errorf("%w: %.300s", err, stderr.Bytes())
		}
		return r, err
	}
}

const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

var defaultGroups = []string{"stdio", "stdio-pairs", "big"}

// groups by name.
var groups = map[string]func(programs) []*experiment{
	"stdio":         stdioServers,
	"stdio-pairs":   stdioPairs,
	"big":           bigResults,
	"stdio-million": stdioMillion,
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
				e.add(name, func(b load.Budget) (load.Result, error) {
					return load.Stdio(p.server(program(name), ""), revision == modern, 100, ways, b)
				})
			}
			l = append(l, e)
		}
	}
	return l
}

// program is the program of a toolkit.
func program(toolkit string) string { return strings.ReplaceAll(toolkit, "-", "") }

func (e *experiment) add(name string, measure func(load.Budget) (load.Result, error)) {
	e.subjects = append(e.subjects, &subject{name: name, measure: measure})
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

// bigResults have 16 MiB of text.
func bigResults(p programs) []*experiment {
	few := func(f func(load.Budget) (load.Result, error)) func(load.Budget) (load.Result, error) {
		return func(load.Budget) (load.Result, error) { return f(load.Budget{Calls: 3}) }
	}
	server := &experiment{name: "stdio server, 16 MiB result", kind: large}
	for _, name := range []string{"raw", "goldwire", "go-sdk", "mcp-go", "trpc"} {
		server.add(name, few(func(b load.Budget) (load.Result, error) {
			return load.BigStdio(p.server(program(name), ""), false, b)
		}))
	}
	server.add("raw, buffer of the right size", few(func(b load.Budget) (load.Result, error) {
		return load.BigStdio(p.server("raw", "sized"), false, b)
	}))
	server.add("raw, streamed", few(func(b load.Budget) (load.Result, error) {
		return load.BigStdio(p.server("raw", "stream"), false, b)
	}))
	pair := &experiment{name: "stdio, own client and server, 16 MiB result", kind: large}
	for _, name := range []string{"goldwire", "go-sdk", "mcp-go", "trpc"} {
		pair.add(name, few(p.pair(program(name), "", "-big")))
	}
	return []*experiment{server, pair}
}

// million calls, 64 at a time.
func stdioMillion(p programs) []*experiment {
	e := &experiment{name: "stdio, own client and server, 1,000,000 calls, 64 at a time"}
	for _, name := range []string{"goldwire", "go-sdk", "mcp-go", "trpc"} {
		measure := p.pair(program(name), "", "-ways", "64")
		e.add(name, func(load.Budget) (load.Result, error) { return measure(load.Budget{Calls: 1_000_000}) })
	}
	return []*experiment{e}
}
