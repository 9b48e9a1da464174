package result

import (
	"slices"

	"github.com/goldwire/goldwire/conformance/catalogue"
)

// Coverage is how much of what a revision demands was exercised in a run: a
// requirement is when a check of it came to pass, fail or warn.
type Coverage struct {
	Revision  string `json:"revision"`
	Transport string `json:"transport"`
	Must      int    `json:"must"`      // requirements whose breach is a failure, of the target's side, over the transport
	Exercised int    `json:"exercised"` // of Must
}

// Coverage counts the MUSTs of each revision and transport that was judged, in
// the order of the results. Requirements that rest on implied or lower-case
// wording do not count, as breaking them is no failure.
func (r *Report) Coverage() []Coverage {
	type at struct{ revision, transport string }
	seen := map[at]map[string]bool{}
	var order []at
	for i := range r.Results {
		c := &r.Results[i]
		k := at{c.Revision, c.Transport}
		if seen[k] == nil {
			seen[k] = map[string]bool{}
			order = append(order, k)
		}
		switch c.Verdict {
		case Pass, Fail, Warn:
			for _, id := range c.Requirements {
				seen[k][id] = true
			}
		}
	}
	slices.SortStableFunc(order, func(a, b at) int {
		return slices.Index(r.Revisions, a.revision) - slices.Index(r.Revisions, b.revision)
	})
	var out []Coverage
	for _, k := range order {
		n := Coverage{Revision: k.revision, Transport: k.transport}
		for q := range catalogue.Select(k.revision, catalogue.Side(r.Target.Side)) {
			if q.Level != catalogue.Must && q.Level != catalogue.MustNot || q.Warns() || !q.Carries(catalogue.Transport(k.transport)) {
				continue
			}
			n.Must++
			if seen[k][q.ID] {
				n.Exercised++
			}
		}
		out = append(out, n)
	}
	return out
}
