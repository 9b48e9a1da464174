package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// outcome is everything that a run measured.
type outcome struct {
	messages []message
	workers  []worker
	samples  [][][]sample // by message, worker, round
	rounds   int
}

func (o *outcome) worker(name string) int {
	return slices.IndexFunc(o.workers, func(w worker) bool { return w.name == name })
}

// ratio is the median, over the rounds, of what reading and writing message i
// takes with worker a as a multiple of what it takes with b.
func (o *outcome) ratio(i, a, b int) float64 {
	l := make([]float64, o.rounds)
	for r := range l {
		l[r] = o.samples[i][a][r].total() / o.samples[i][b][r].total()
	}
	return median(l)
}

// median of one number of all rounds.
func (o *outcome) median(i, j int, f func(sample) float64) float64 {
	l := make([]float64, o.rounds)
	for r := range l {
		l[r] = f(o.samples[i][j][r])
	}
	return median(l)
}

func median(l []float64) float64 {
	slices.Sort(l)
	if n := len(l); n%2 == 0 {
		return (l[n/2-1] + l[n/2]) / 2
	}
	return l[len(l)/2]
}

func (o *outcome) print(w io.Writer) {
	fmt.Fprintf(w, "\nReading and writing whole messages: %s, %s/%s, %s, one processor; %s; medians of %d rounds in which all took turns.\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, processor(), clock, o.rounds)

	fmt.Fprintf(w, "\nDecode + encode as a multiple of the hand-written codec (hand = 1):\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "bytes\t")
	for _, x := range o.workers {
		fmt.Fprintf(t, "%s\t", x.name)
	}
	fmt.Fprintln(t, " message")
	for i, m := range o.messages {
		if o.samples[i][0] == nil {
			continue
		}
		fmt.Fprintf(t, "%d\t", len(m.data))
		for j := range o.workers {
			fmt.Fprintf(t, "%.2f\t", o.ratio(i, j, 0))
		}
		fmt.Fprintf(t, " %s\n", m.name)
	}
	_ = t.Flush()

	fmt.Fprintf(w, "\nEach by itself, ns/op and allocations:\n\n")
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "decode\tallocs\tbytes\tencode\tallocs\tbytes\t message, implementation")
	for i, m := range o.messages {
		if o.samples[i][0] == nil {
			continue
		}
		for j, x := range o.workers {
			for _, f := range []func(sample) float64{
				func(s sample) float64 { return s.Decode.NS }, func(s sample) float64 { return s.Decode.Allocs }, func(s sample) float64 { return s.Decode.Bytes },
				func(s sample) float64 { return s.Encode.NS }, func(s sample) float64 { return s.Encode.Allocs }, func(s sample) float64 { return s.Encode.Bytes },
			} {
				fmt.Fprintf(t, "%.0f\t", o.median(i, j, f))
			}
			fmt.Fprintf(t, " %s, %s\n", m.name, x.name)
		}
	}
	_ = t.Flush()

	fmt.Fprintf(w, "\nGoals:\n\n")
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range o.goals() {
		fmt.Fprintln(t, g)
	}
	_ = t.Flush()

	fmt.Fprintf(w, "\nWhat was otherwise after reading and writing (plain structs lose what nobody declared, and zeros by omitempty):\n\n")
	for i, x := range o.workers {
		names := []string{x.name}
		if slices.ContainsFunc(o.workers[:i], func(y worker) bool { return slices.Equal(y.changed, x.changed) }) {
			continue
		}
		for _, y := range o.workers[i+1:] {
			if slices.Equal(y.changed, x.changed) {
				names = append(names, y.name)
			}
		}
		fmt.Fprintf(w, "  %s:\n", strings.Join(names, "; "))
		if len(x.changed) == 0 {
			fmt.Fprintln(w, "    nothing")
		}
		for _, c := range x.changed {
			fmt.Fprintln(w, "    "+c)
		}
	}
}

// goals compares with what was set out to be reached.
func (o *outcome) goals() (l []string) {
	aliased, copied, goccy, sdk := o.worker("goldwire, aliased"), o.worker("goldwire, copied"), o.worker("goccy"), o.worker("go-sdk")
	line := func(m, what string, got float64, than string, limit float64) {
		verdict := "met"
		if than == "at most" && got > limit || than == "at least" && got < limit {
			verdict = "MISSED"
		}
		l = append(l, fmt.Sprintf("  %s\t%s\t%.2f\t%s %g\t%s", m, what, got, than, limit, verdict))
	}
	for i, m := range o.messages {
		if o.samples[i][0] == nil || m.raw || m.bytes {
			continue // beside the goals
		}
		long := len(m.data) > 5<<10 && m.kind != tools
		if m.name == "result 10 KiB" {
			line(m.name, "aliased / goccy", o.ratio(i, aliased, goccy), "at most", 1.1)
			line(m.name, "copied / goccy", o.ratio(i, copied, goccy), "at most", 1.1)
		} else {
			line(m.name, "aliased / hand", o.ratio(i, aliased, 0), "at most", 1.3)
			line(m.name, "copied / goccy", o.ratio(i, copied, goccy), "at most", 1)
		}
		allocs := func(s sample) float64 { return math.Round(s.Decode.Allocs) + math.Round(s.Encode.Allocs) }
		line(m.name, "allocations, copied - goccy", o.median(i, copied, allocs)-o.median(i, goccy, allocs), "at most", 0)
		if long {
			line(m.name, "go-sdk / copied", o.ratio(i, sdk, copied), "at least", 10)
		} else {
			line(m.name, "go-sdk / copied", o.ratio(i, sdk, copied), "at least", 12)
		}
		line(m.name, "allocations to encode", o.median(i, copied, func(s sample) float64 { return math.Round(s.Encode.Allocs) }), "at most", 0)
	}
	return l
}
