package check

import (
	"slices"

	"github.com/goldwire/goldwire/conformance/catalogue"
)

// Status says what the checks do about a requirement.
type Status string

// The statuses.
const (
	StatusCovered Status = "covered" // a check judges it
	StatusOpen    Status = "open"    // it can be judged from outside, and no check does so yet
	StatusFixture Status = "fixture" // to judge it takes something that a peer need not have, or that the checker does not do
	StatusHidden  Status = "hidden"  // it does not show on the wire
)

// Statuses lists all, in the order of reports.
var Statuses = []Status{StatusCovered, StatusOpen, StatusFixture, StatusHidden}

// Coverage is what the checks do about a requirement, as far as it binds one
// side, in revisions in which that is the same.
type Coverage struct {
	Side      catalogue.Side // Server or Client
	Revisions []string       // oldest first
	Status    Status
	Checks    []string // ids of the checks that judge it, in their order
	Reason    string   // why no check does; "" where one does
}

// Entry is a requirement with what the checks do about it.
type Entry struct {
	catalogue.Requirement
	Coverage []Coverage // that of servers before that of clients, older revisions first
}

// Covered reports whether checks judge the requirement on each side and in
// each revision that the entry was asked for.
func (e *Entry) Covered() bool {
	return !slices.ContainsFunc(e.Coverage, func(c Coverage) bool { return c.Status != StatusCovered })
}

// noCheck is the reason of what is open.
const noCheck = "no check yet"

// judges finds checks by side, revision and id of a requirement.
type judges map[catalogue.Side]map[string]map[string][]string

func judgesOf(checks []Check) judges {
	all := judges{catalogue.Server: {}, catalogue.Client: {}}
	for i := range checks {
		k := &checks[i]
		for _, rev := range Revisions() {
			by := all[k.side()][rev]
			if by == nil {
				by = map[string][]string{}
				all[k.side()][rev] = by
			}
			for _, r := range k.Bound(rev, catalogue.Any) {
				by[r.ID] = append(by[r.ID], k.ID)
			}
		}
	}
	return all
}

// coverage is that of one side in one revision.
func (j judges) coverage(r catalogue.Requirement, rev string, side catalogue.Side) Coverage {
	c := Coverage{Side: side, Revisions: []string{rev}, Status: StatusOpen, Reason: noCheck, Checks: j[side][rev][r.ID]}
	switch {
	case len(c.Checks) > 0:
		c.Status, c.Reason = StatusCovered, ""
	case r.Needs():
		c.Status, c.Reason = StatusFixture, r.Why
	case r.Why != "":
		c.Status, c.Reason = StatusHidden, r.Why
	}
	return c
}

// Entries lists the requirements that bind a side in a revision with what
// checks do about them there, in the order of the catalogue. "" is every
// revision, and every side.
func Entries(checks []Check, rev string, side catalogue.Side) []Entry {
	judged := judgesOf(checks)
	revs := Revisions()
	if rev != "" {
		revs = []string{rev}
	}
	var out []Entry
	for r := range catalogue.Select(rev, side) {
		e := Entry{Requirement: r}
		for _, s := range []catalogue.Side{catalogue.Server, catalogue.Client} {
			if side != "" && side != catalogue.Both && side != s {
				continue
			}
			first := len(e.Coverage)
			for _, rev := range revs {
				if !r.Applies(rev, s) {
					continue
				}
				c := judged.coverage(r, rev, s)
				if n := len(e.Coverage); n > first && e.Coverage[n-1].Status == c.Status && slices.Equal(e.Coverage[n-1].Checks, c.Checks) {
					e.Coverage[n-1].Revisions = append(e.Coverage[n-1].Revisions, rev)
					continue
				}
				e.Coverage = append(e.Coverage, c)
			}
		}
		out = append(out, e)
	}
	return out
}

// Tally counts the requirements that bind one side in one revision.
type Tally struct {
	Revision string
	Side     catalogue.Side
	Status   map[Status]int // every status has an entry
	// Judgeable are those that the catalogue calls active or passive, Judged
	// those of them that are covered.
	Judgeable, Judged int
}

// Tallies counts entries by revision, oldest first, and side. An entry counts
// in each revision, and on each side, that it tells of.
func Tallies(entries []Entry) []Tally {
	var out []Tally
	for _, rev := range Revisions() {
		for _, side := range []catalogue.Side{catalogue.Server, catalogue.Client} {
			t := Tally{Revision: rev, Side: side, Status: map[Status]int{}}
			for _, s := range Statuses {
				t.Status[s] = 0
			}
			seen := false
			for i := range entries {
				e := &entries[i]
				for _, c := range e.Coverage {
					if c.Side != side || !slices.Contains(c.Revisions, rev) {
						continue
					}
					seen = true
					t.Status[c.Status]++
					if e.Observe == catalogue.Active || e.Observe == catalogue.Passive {
						t.Judgeable++
						if c.Status == StatusCovered {
							t.Judged++
						}
					}
				}
			}
			if seen {
				out = append(out, t)
			}
		}
	}
	return out
}
