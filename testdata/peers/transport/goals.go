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
	const one, many = "stdio, own client and server, 1 at a time", "stdio, own client and server, 64 at a time"
	const big, bigServer = "stdio, own client and server, 16 MiB result", "stdio server, 16 MiB result"
	l = append(l,
		goal{one, "go-sdk's P50 ÷", 8, true, slower("go-sdk", "goldwire", p50)},
		goal{many, "calls/s × go-sdk", 15, true, faster("goldwire", "go-sdk")},
		goal{many, "calls/s × trpc", 2, true, faster("goldwire", "trpc")},
		goal{big, "go-sdk's time ÷", 4, true, slower("go-sdk", "goldwire", p50)},
		goal{big, "payloads allocated by the client", 3, false, payloads("goldwire", func(r load.Result) float64 { return r.ClientAlloc })},
		goal{bigServer, "payloads allocated by the server", 3, false, payloads("goldwire", func(r load.Result) float64 { return r.ServerAlloc })},
		goal{bigServer, "peak memory × raw", 1.1, false, slower("goldwire", "raw", func(r load.Result) float64 { return r.ServerPeak })},
	)
	return l
}

func payloads(name string, f field) func(*experiment) float64 {
	return func(e *experiment) float64 {
		for _, s := range e.subjects {
			if s.name == name {
				return s.of(f) / load.BigSize
			}
		}
		return math.NaN()
	}
}

// printGoals prints the goals of what was measured.
func (o outcome) printGoals(w io.Writer) {
	fmt.Fprint(w, "\nGoals, as medians of the ratios within a round\n\n|  |  | goal | measured |  |\n|---|---|---:|---:|---|\n")
	for _, g := range goals() {
		for _, e := range o {
			if e.name != g.experiment {
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
