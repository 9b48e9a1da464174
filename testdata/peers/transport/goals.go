package main

import (
	"fmt"
	"io"
	"math"

	"github.com/goldwire/goldwire/testdata/peers/transport/load"
)

// goal is what is asked of one experiment.
type goal struct {
	experiment string
	text       string
	limit      float64
	atLeast    bool // otherwise at most
	measured   func(e *experiment) float64
}

// slower is how many times longer a takes than b, at P50 or another time.
func slower(a, b string, f field) func(*experiment) float64 {
	return func(e *experiment) float64 { return e.ratio(a, b, f, false) }
}

// faster is how many times more calls a second a makes than b.
func faster(a, b string) func(*experiment) float64 {
	return func(e *experiment) float64 { return e.ratio(a, b, rate, true) }
}

func goals() (l []goal) {
	for _, r := range []string{legacy, modern} {
		one, many := "stdio server, "+r+", 1 at a time", "stdio server, "+r+", 64 at a time"
		l = append(l,
			goal{one, "P50 × raw", 1.35, false, slower("goldwire", "raw", p50)},
			goal{one, "P99.9 × raw", 4, false, slower("goldwire", "raw", p999)},
			goal{many, "calls/s × go-sdk", 28, true, faster("goldwire", "go-sdk")},
			goal{many, "calls/s × mcp-go", 6, true, faster("goldwire", "mcp-go")},
			goal{many, "raw's calls/s ÷", 6, false, faster("raw", "goldwire")},
		)
	}
	for _, r := range []struct {
		revision     string
		goSDK, mcpGo float64
	}{{legacy, 8.7, 1.7}, {modern, 11, 3.3}} {
		one, many := "HTTP server, "+r.revision+", 1 at a time", "HTTP server, "+r.revision+", 64 at a time"
		l = append(l,
			goal{one, "P50 × by hand", 1.15, false, slower("goldwire", byHand, p50)},
			goal{one + apart, "P50 × by hand", 1.15, false, slower("goldwire", byHand, p50)},
			goal{one + netHTTP, "P50 × by hand", 1.15, false, slower("goldwire", byHand, p50)},
			goal{many, "by hand's calls/s ÷", 1.3, false, faster(byHand, "goldwire")},
			goal{many, "calls/s × go-sdk", r.goSDK, true, faster("goldwire", "go-sdk")},
			goal{many, "calls/s × mcp-go", r.mcpGo, true, faster("goldwire", "mcp-go")},
		)
	}
	const one, many = "stdio, own client and server, 1 at a time", "stdio, own client and server, 64 at a time"
	const big, bigServer = "stdio, own client and server, 16 MiB result", "stdio server, 16 MiB result"
	l = append(l,
		goal{one, "go-sdk's P50 ÷", 8, true, slower("go-sdk", "goldwire", p50)},
		goal{many, "calls/s × go-sdk", 15, true, faster("goldwire", "go-sdk")},
		goal{many, "calls/s × trpc", 2, true, faster("goldwire", "trpc")},
		goal{big, "go-sdk's time ÷", 4, true, slower("go-sdk", "goldwire", p50)},
		goal{big, "payloads allocated by the client", 3, false, payloads("goldwire", clientAlloc)},
		goal{bigServer, "payloads allocated by the server", 3, false, payloads("goldwire", serverAlloc)},
		goal{bigServer, "peak memory × raw", 1.1, false, slower("goldwire", "raw", serverPeak)},
	)
	const httpMany = "HTTP, own client and server, 64 at a time"
	const httpBig, httpBigServer = "HTTP, own client and server, 16 MiB result", "HTTP server, 16 MiB result"
	l = append(l,
		goal{httpMany, "raw's calls/s ÷", 2, false, faster("raw", "goldwire")},
		goal{httpMany, "new connections", 0, false, func(e *experiment) float64 { return e.subject("goldwire " + legacy).of(conns) }},
		goal{httpBig, "go-sdk's time ÷", 4, true, slower("go-sdk", "goldwire", p50)},
		goal{httpBig, "payloads allocated by the client", 3, false, payloads("goldwire", clientAlloc)},
		goal{httpBigServer, "payloads allocated by the server", 3, false, payloads("goldwire", serverAlloc)},
		goal{httpBigServer, "peak memory × raw", 1.1, false, slower("goldwire", "raw", serverPeak)},
		goal{"5000 idle: session", "kB each", 2, false, func(e *experiment) float64 { return e.subject("goldwire").of(perStream) / 1024 }},
	)
	for _, name := range []string{bigServer, httpBigServer} {
		l = append(l, goal{name, "MB added, text from a reader", 4, false, func(e *experiment) float64 { return e.subject("goldwire, streamed").of(serverAdded) / megabyte }})
	}
	for _, kind := range []string{load.IdleStream, load.IdleListen} {
		l = append(l,
			goal{"5000 idle: " + kind, "memory × raw", 1.1, false, slower("goldwire", "raw", perStream)},
			goal{"5000 idle: " + kind, "goroutines × raw", 1.0005, false, slower("goldwire", "raw", func(r load.Result) float64 { return r.GoroutinesPer })},
		)
	}
	return l
}

func payloads(name string, f field) func(*experiment) float64 {
	return func(e *experiment) float64 { return e.subject(name).of(f) / load.BigSize }
}

// printGoals prints the goals of what was measured.
func printGoals(l []*experiment, w io.Writer) {
	fmt.Fprint(w, "\nGoals, as medians of the ratios within a round\n\n|  |  | goal | measured |  |\n|---|---|---:|---:|---|\n")
	for _, g := range goals() {
		for _, e := range l {
			if e.name != g.experiment || len(e.subjects) == 0 {
				continue
			}
			v := g.measured(e)
			sign, met := "≤", v <= g.limit
			if g.atLeast {
				sign, met = "≥", v >= g.limit
			}
			verdict := "met"
			switch {
			case math.IsNaN(v):
				verdict = "not measured"
			case !met:
				verdict = "not met"
			}
			fmt.Fprintf(w, "| %s | %s | %s %g | %s | %s |\n", g.experiment, g.text, sign, g.limit, digits(v), verdict)
		}
	}
}
