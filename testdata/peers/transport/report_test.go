package main

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/testdata/peers/transport/load"
)

func sample(name string, p50 ...float64) *subject {
	s := &subject{name: name}
	for _, v := range p50 {
		r := load.Result{P50: v, Rate: 1e9 / v}
		if v == 0 {
			r = load.Result{Err: "failed"}
		}
		s.results = append(s.results, r)
	}
	return s
}

func TestRatiosAreOfARoundAndOfTheBetterOfAToolkit(t *testing.T) {
	e := &experiment{subjects: []*subject{
		sample("raw", 1, 10, 100), sample("raw, slow", 9, 9, 9), sample("goldwire", 2, 30, 0), sample("sdk JSON", 8, 70, 900), sample("sdk SSE", 6, 90, 800),
	}}
	require.InDelta(t, 2.5, e.ratio("goldwire", "raw", p50, false), 1e-9, "2 and 3; the round that failed does not count")
	require.InDelta(t, 7, e.ratio("sdk", "raw", p50, false), 1e-9, "6, 7 and 8")
	require.InDelta(t, 7, e.ratio("raw", "sdk", rate, true), 1e-9)
	require.True(t, math.IsNaN(e.ratio("nobody", "raw", p50, false)))
	require.True(t, failed([]*experiment{e}, "goldwire"))
	require.False(t, failed([]*experiment{e}, "sdk"))
}

func TestEveryGoalIsOfAnExperimentAndItsSubjects(t *testing.T) {
	names := map[string]*experiment{}
	for _, g := range groups {
		for _, e := range g("") {
			for _, s := range e.subjects {
				s.results = []load.Result{{P50: 1, P999: 1, Rate: 1, ServerPeak: 1, ServerAlloc: 1, ClientAlloc: 1, PerStream: 1, GoroutinesPer: 1}}
			}
			names[e.name] = e
		}
	}
	for _, g := range goals() {
		e := names[g.experiment]
		require.NotNil(t, e, g.experiment)
		require.False(t, math.IsNaN(g.measured(e)), "%s, %s", g.experiment, g.text)
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.0789: "0.0789", 12.345: "12.3", 999: "999", 1234.6: "1,235", 2184288: "2,184,288"} {
		require.Equal(t, want, digits(v))
	}
	require.Equal(t, none, digits(math.NaN()))
	require.Equal(t, none, digits(math.Inf(1)))
	var b strings.Builder
	e := &experiment{name: "one", subjects: []*subject{sample("raw", 1000), sample("broken", 0)}}
	e.print(&b)
	require.Contains(t, b.String(), "| broken | – | – | – | – | failed")
}
