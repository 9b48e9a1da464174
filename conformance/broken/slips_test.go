package broken_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/broken"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/result"
)

// TestSlips judges the faults that are made by program.
func TestSlips(t *testing.T) {
	if raced > 1 && !*all {
		t.Skip("make test judges these without the race detector")
	}
	var slips []broken.Slip
	harmless := 0
	revs := check.Revisions()
	nth := *every
	switch {
	case nth > 0:
	case *all || *only != "":
		nth = 1
	default:
		nth = 499
	}
	if nth > 100 { // a few seconds are enough then
		revs = revs[len(revs)-2:]
	}
	for _, rev := range revs {
		done := map[string]bool{}
		for _, base := range []string{"reference", "small"} {
			traffic := &broken.Traffic{Base: base, Revision: rev}
			findings(t, traffic.Launcher(), rev)
			more, same, err := traffic.Slips(done)
			require.NoError(t, err)
			slips, harmless = append(slips, more...), harmless+same
		}
	}
	var seen tally
	first := firsts{by: map[string]string{}}
	t.Run("servers", func(t *testing.T) {
		for i, s := range slips {
			if i%nth != 0 || !strings.Contains(s.Name(), *only) {
				continue
			}
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				caught := first.sees(t, s)
				seen.add(s.Area(), caught, s.Name())
			})
		}
	})
	seen.tell(t, fmt.Sprintf("faults made by program, by method (%d break a rule, %d break none)", len(slips), harmless))
	seen.atLeast(t, 95)
}

// firsts are the checks that named a fault of a kind of message before: they
// are asked first, since it is enough that one does.
type firsts struct {
	mu sync.Mutex
	by map[string]string
}

// sees runs the checker on a server with a slip until a check names it.
func (h *firsts) sees(t *testing.T, s broken.Slip) (seen bool) {
	touched := map[string]bool{}
	var mu sync.Mutex
	l := s.Launcher(func(line string) {
		mu.Lock()
		defer mu.Unlock()
		touched[line] = true
	})
	synctest.Test(t, func(t *testing.T) {
		x, err := check.Explore(t.Context(), l, check.Limits{})
		if err != nil || !slices.Contains(x.Speaks, s.Revision) {
			return // it is not judged at all
		}
		o := check.DriveOptions{Revision: s.Revision, Probes: check.Probes()}
		if s.Revision == check.Revisions()[0] {
			o.Allow = []string{"*"}
		}
		traces, err := check.Drive(t.Context(), l, o)
		if err != nil {
			return
		}
		facts := check.FactsOf(s.Revision, traces)
		key := s.Revision + s.Role + strings.Join(s.Path, "/")
		h.mu.Lock()
		likely := h.by[key]
		h.mu.Unlock()
		checks := check.All()
		slices.SortStableFunc(checks, func(a, b check.Check) int {
			switch likely {
			case a.ID:
				return -1
			case b.ID:
				return 1
			}
			return 0
		})
		mu.Lock()
		defer mu.Unlock()
		for i := range checks {
			if k := &checks[i]; k.Applies(s.Revision, catalogue.Stdio) {
				v := k.Verdict(s.Revision, catalogue.Stdio, facts, traces, x.Traces)
				if (v.Verdict == result.Fail || v.Verdict == result.Warn) && about(v, touched) {
					seen = true
					h.mu.Lock()
					h.by[key] = k.ID
					h.mu.Unlock()
					return
				}
			}
		}
	})
	return seen
}

// about reports whether a finding is about a line that was changed: it points at
// it, or at a request and shows that line as what came instead of an answer.
func about(v result.Check, touched map[string]bool) bool {
	request, shown := false, false
	for _, f := range v.Frames {
		mark, text, _ := strings.Cut(f.Text, " ")
		text, cut := strings.CutSuffix(text, "…")
		same := false
		for line := range touched {
			same = same || line == text || cut && strings.HasPrefix(line, text) || strings.Contains(text, line)
		}
		if f.Here && same {
			return true
		}
		request = request || f.Here && strings.HasPrefix(mark, ">")
		shown = shown || same
	}
	return request && shown
}
