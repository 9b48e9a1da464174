package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/testdata/peers/transport/load"
)

// failed reports whether a subject whose name begins so did.
func failed(l []*experiment, prefix string) bool {
	for _, e := range l {
		for _, s := range e.subjects {
			if strings.HasPrefix(s.name, prefix) && s.err() != "" {
				return true
			}
		}
	}
	return false
}

// err is the first error.
func (s *subject) err() string {
	for _, r := range s.results {
		if r.Err != "" {
			return r.Err
		}
	}
	return ""
}

// of is the median of something over the rounds that worked, NaN if none did.
func (s *subject) of(f field) float64 {
	var l []float64
	for _, r := range s.results {
		if r.Err == "" {
			l = append(l, f(r))
		}
	}
	return median(l)
}

func median(l []float64) float64 {
	if len(l) == 0 {
		return math.NaN()
	}
	slices.Sort(l)
	return (l[(len(l)-1)/2] + l[len(l)/2]) / 2
}

// field is one number of a result.
type field func(load.Result) float64

func p50(r load.Result) float64  { return r.P50 }
func p99(r load.Result) float64  { return r.P99 }
func p999(r load.Result) float64 { return r.P999 }
func rate(r load.Result) float64 { return r.Rate }

func serverPeak(r load.Result) float64  { return r.ServerPeak }
func serverAdded(r load.Result) float64 { return r.ServerPeak - r.ServerRSS }
func serverAlloc(r load.Result) float64 { return r.ServerAlloc }
func clientAlloc(r load.Result) float64 { return r.ClientAlloc }
func perStream(r load.Result) float64   { return r.PerStream }
func conns(r load.Result) float64       { return float64(r.Conns) }

// subject of that name; an empty one if there is none.
func (e *experiment) subject(name string) *subject {
	if i := slices.IndexFunc(e.subjects, func(s *subject) bool { return s.name == name }); i >= 0 {
		return e.subjects[i]
	}
	return &subject{}
}

// ratio is the median over the rounds of a's number as a multiple of b's. Of
// several subjects, those of toolkit a, or b, the better one of each round
// counts.
func (e *experiment) ratio(a, b string, f field, higher bool) float64 {
	best := func(prefix string, round int) float64 {
		v := math.NaN()
		for _, s := range e.subjects {
			if !strings.HasPrefix(s.name+" ", prefix+" ") || round >= len(s.results) || s.results[round].Err != "" {
				continue
			}
			if x := f(s.results[round]); math.IsNaN(v) || (x > v) == higher {
				v = x
			}
		}
		return v
	}
	var l []float64
	for round := range e.subjects[0].results {
		if v := best(a, round) / best(b, round); !math.IsNaN(v) {
			l = append(l, v)
		}
	}
	return median(l)
}

type column struct {
	title string
	f     func(e *experiment, s *subject) string
}

func number(title string, unit float64, f field) column {
	return column{title, func(_ *experiment, s *subject) string {
		if v := s.of(f); v != 0 {
			return digits(v / unit)
		}
		return none // it was not measured, or there was none
	}}
}

const none = "–"

func digits(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return none
	case math.Abs(v) >= 1000:
		s := fmt.Sprintf("%.0f", v)
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	}
	return fmt.Sprintf("%.3g", v)
}

const (
	microsecond = 1e3
	millisecond = 1e6
	megabyte    = 1 << 20
)

var columns = map[kind][]column{
	calls: {
		number("P50 µs", microsecond, p50), number("P99 µs", microsecond, p99), number("P99.9 µs", microsecond, p999),
		number("calls/s", 1, rate),
		number("server CPU µs", microsecond, func(r load.Result) float64 { return r.ServerCPU }),
		number("client CPU µs", microsecond, func(r load.Result) float64 { return r.ClientCPU }),
		number("server MB", megabyte, serverPeak),
		number("client MB", megabyte, func(r load.Result) float64 { return r.ClientPeak }),
		number("new connections", 1, conns),
		{"server CPU × first", func(e *experiment, s *subject) string {
			return digits(e.ratio(s.name, e.subjects[0].name, func(r load.Result) float64 { return r.ServerCPU }, false))
		}},
		{"P50 × first", func(e *experiment, s *subject) string { return digits(e.ratio(s.name, e.subjects[0].name, p50, false)) }},
		{"first's calls/s ÷ this", func(e *experiment, s *subject) string { return digits(e.ratio(e.subjects[0].name, s.name, rate, true)) }},
	},
	large: {
		number("ms", millisecond, p50),
		number("server peak MB", megabyte, serverPeak),
		number("added", megabyte, serverAdded),
		number("allocated", megabyte, serverAlloc),
		number("client peak MB", megabyte, func(r load.Result) float64 { return r.ClientPeak }),
		number("added", megabyte, func(r load.Result) float64 { return r.ClientPeak - r.ClientRSS }),
		number("allocated", megabyte, clientAlloc),
		{"ms × first", func(e *experiment, s *subject) string { return digits(e.ratio(s.name, e.subjects[0].name, p50, false)) }},
	},
	idle: {
		number("kB each", 1024, perStream),
		number("goroutines each", 1, func(r load.Result) float64 { return r.GoroutinesPer }),
		number("server peak MB", megabyte, serverPeak),
	},
}

// print prints what was measured, a line a subject.
func (e *experiment) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n\n|", e.name)
	shown := []column{{"", func(_ *experiment, s *subject) string { return s.name }}}
	k := e.kind
	if k == long {
		k = calls
	}
	for _, c := range columns[k] {
		if slices.ContainsFunc(e.subjects, func(s *subject) bool { return c.f(e, s) != none }) {
			shown = append(shown, c)
		}
	}
	for _, c := range shown {
		fmt.Fprintf(w, " %s |", c.title)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---:|", len(shown)-1))
	for _, s := range e.subjects {
		fmt.Fprint(w, "|")
		for _, c := range shown {
			fmt.Fprintf(w, " %s |", c.f(e, s))
		}
		if err := s.err(); err != "" {
			fmt.Fprintf(w, " %.200s", err)
		}
		fmt.Fprintln(w)
	}
}
