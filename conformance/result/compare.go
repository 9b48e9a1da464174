package result

import (
	"cmp"
	"slices"
)

// Turn says what a change of a verdict means.
type Turn string

// The turns.
const (
	Better Turn = "better" // what was found is gone: it passes now, or is only a warning
	Worse  Turn = "worse"  // something is found that was not, or can no longer be judged though it was kept
	Other  Turn = "other"  // neither: it came to be judged, or is no more
)

// Change is a check whose verdict is not the same in two reports.
type Change struct {
	Check     string  `json:"check"`
	Revision  string  `json:"revision"`
	Transport string  `json:"transport"`
	Turn      Turn    `json:"turn"`
	Before    Verdict `json:"before,omitempty"` // "" where the older report has no such result
	After     Verdict `json:"after,omitempty"`  // "" where the newer one has none
	Sentence  string  `json:"requirement,omitempty"`
	URL       string  `json:"spec,omitempty"`
	Detail    string  `json:"detail,omitempty"` // what was observed, or the reason, in the newer report
}

// Comparison is what changed between two reports.
type Comparison struct {
	Changes []Change // worse before better before other, then by revision and check
	Same    int      // results that did not change
	Paired  int      // results that both reports have, changed or not; of 0 the comparison says nothing
	Apart   []string // revisions that only one of the reports judges: nothing in them is compared
	Counts  map[Turn]int
}

// Compare says what changed from one report to another. Results are paired by
// check, revision and transport. What is known to a baseline counts like
// everything else: the verdicts are compared.
func Compare(older, newer *Report) *Comparison {
	type key struct{ check, revision, transport string }
	index := func(r *Report) map[key]*Check {
		m := map[key]*Check{}
		for i := range r.Results {
			c := &r.Results[i]
			m[key{c.ID, c.Revision, c.Transport}] = c
		}
		return m
	}
	before, after := index(older), index(newer)
	out := &Comparison{Counts: map[Turn]int{Better: 0, Worse: 0, Other: 0}}
	both := func(rev string) bool {
		return slices.Contains(older.Revisions, rev) && slices.Contains(newer.Revisions, rev)
	}
	for _, rev := range slices.Concat(older.Revisions, newer.Revisions) {
		if !both(rev) && !slices.Contains(out.Apart, rev) {
			out.Apart = append(out.Apart, rev)
		}
	}
	slices.Sort(out.Apart)
	add := func(k key, a, b *Check) {
		if !both(k.revision) {
			return
		}
		c := Change{Check: k.check, Revision: k.revision, Transport: k.transport}
		from := a
		if b != nil {
			from = b
			c.After, c.Detail = b.Verdict, b.Observed
			if c.Detail == "" {
				c.Detail = b.Reason
			}
		}
		if a != nil {
			c.Before = a.Verdict
		}
		if a != nil && b != nil {
			out.Paired++
		}
		c.Sentence, c.URL = from.Sentence, from.URL
		if c.Before == c.After {
			out.Same++
			return
		}
		c.Turn = turn(c.Before, c.After)
		out.Counts[c.Turn]++
		out.Changes = append(out.Changes, c)
	}
	for k, a := range before {
		add(k, a, after[k])
	}
	for k, b := range after {
		if before[k] == nil {
			add(k, nil, b)
		}
	}
	slices.SortFunc(out.Changes, func(a, b Change) int {
		order := []Turn{Worse, Better, Other}
		return cmp.Or(slices.Index(order, a.Turn)-slices.Index(order, b.Turn), cmp.Compare(a.Revision, b.Revision),
			cmp.Compare(a.Check, b.Check), cmp.Compare(a.Transport, b.Transport))
	})
	return out
}

// turn says what a change means. A finding that is no longer judged is not
// gone.
func turn(before, after Verdict) Turn {
	unseen := func(v Verdict) bool { return v != Pass && v != Fail && v != Warn }
	switch {
	case after == Fail:
		return Worse
	case after == Warn && before != Fail:
		return Worse
	case before == Pass && (after == Blocked || after == Error):
		return Worse
	case (before == Fail || before == Warn) && !unseen(after):
		return Better
	case (before == Blocked || before == Error) && after == Pass:
		return Better
	}
	return Other
}
