package broken_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/broken"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/result"
)

// TestSlips judges the faults that are made by program.
func TestSlips(t *testing.T) {
	var slips []broken.Slip
	harmless := 0
	for _, rev := range check.Revisions() {
		done := map[string]bool{}
		for _, base := range []string{"reference", "small"} {
			traffic := &broken.Traffic{Base: base, Revision: rev}
			findings(t, traffic.Launcher(), rev)
			more, same, err := traffic.Slips(done)
			require.NoError(t, err)
			slips, harmless = append(slips, more...), harmless+same
		}
	}
	t.Logf("%d faults made by program, and %d that break no rule", len(slips), harmless)
	var seen tally
	t.Run("servers", func(t *testing.T) {
		for i, s := range slips {
			if !*all && *only == "" && i%97 != 0 || !strings.Contains(s.Name(), *only) {
				continue
			}
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				touched := map[string]bool{}
				var mu sync.Mutex
				got := findings(t, s.Launcher(func(line string) {
					mu.Lock()
					defer mu.Unlock()
					touched[line] = true
				}), s.Revision)
				delete(got, known[s.Base+" "+s.Revision])
				caught := false
				for _, id := range slices.Sorted(maps.Keys(got)) {
					if about(got[id], touched) {
						caught = true
					} else {
						g := got[id]
						t.Logf("ELSE %q: {%q} %s: want %s, got %s; %s\n%s", s.Name(), id, g.Verdict, g.Expected, g.Observed, g.Reason, frames(g))
					}
				}
				if len(touched) == 0 {
					t.Logf("UNTOUCHED %s", s.Name())
				}
				if !caught {
					t.Logf("NOTSEEN %s: %s", s.Name(), slices.Sorted(maps.Keys(got)))
				}
				seen.add(s.Area(), caught, s.Name())
			})
		}
	})
	t.Logf("faults made by program, by method:\n%s", &seen)
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
