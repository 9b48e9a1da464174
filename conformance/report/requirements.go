package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
)

// listColumns is the width of a list of requirements where none is asked for,
// nameColumns that of the longest id that others are lined up with.
const (
	listColumns = 80
	nameColumns = 46
)

// Requirements prints requirements for people: a row for each, with its
// sentence, revisions and place in the specification below, and the checks
// that judge it or the reason why none does; then how many there are of each
// status. rev is the revision whose pages are named, "" for the last that each
// requirement holds in.
func Requirements(w io.Writer, entries []check.Entry, rev string, o TextOptions) error {
	p := printer{w: bufio.NewWriter(w), o: o, prose: listColumns}
	if o.Width > 0 {
		p.prose = min(max(o.Width, 40), 100)
	}
	name := len("requirement")
	for i := range entries {
		if n := len(entries[i].ID); n <= nameColumns {
			name = max(name, n)
		}
	}
	row := func(id, level, side, over, state string) string {
		return strings.TrimRight(fmt.Sprintf("%-*s %-10s %-6s %-5s %s", name, id, level, side, over, state), " ")
	}
	if len(entries) > 0 {
		p.printf("%s\n", p.paint("1", row("requirement", "level", "side", "over", "state")))
	}
	counts := map[string]int{}
	for i := range entries {
		e := &entries[i]
		state := stateOf(e)
		counts[state]++
		line := row(e.ID, string(e.Level), string(e.Side), string(e.Transport), state)
		if len(e.ID) > name {
			p.printf("%s\n", p.paint("1", e.ID))
			line = row("", string(e.Level), string(e.Side), string(e.Transport), state)
		} else {
			line = p.paint("1", e.ID) + line[len(e.ID):]
		}
		p.printf("%s\n", line)
		p.wrap("  ", "  ", e.Sentence)
		p.wrap("  ", "  ", span(e.Since, e.Until)+" "+e.URL(rev))
		for _, line := range tells(e) {
			p.wrap("  ", "    ", line)
		}
		p.printf("\n")
	}
	var parts []string
	for _, s := range append(states(), partly) {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	if len(entries) == 0 {
		p.printf("no requirement is of that kind\n")
	} else {
		p.printf("%s: %s\n", plural(len(entries), "requirement", "requirements"), strings.Join(parts, ", "))
	}
	return p.w.Flush()
}

// partly is the state of a requirement that is not the same on both sides, or
// in all revisions.
const partly = "partly"

func states() []string {
	var out []string
	for _, s := range check.Statuses {
		out = append(out, string(s))
	}
	return out
}

func stateOf(e *check.Entry) string {
	state := ""
	for _, c := range e.Coverage {
		if state != "" && state != string(c.Status) {
			return partly
		}
		state = string(c.Status)
	}
	return state
}

// tells says what the checks do about an entry; whom that is about only where
// it is not the same for all.
func tells(e *check.Entry) []string {
	said := make([]string, len(e.Coverage))
	same := true
	for i, c := range e.Coverage {
		said[i] = string(c.Status) + ": " + c.Reason
		if c.Status == check.StatusCovered {
			said[i] = "covered by " + strings.Join(c.Checks, ", ")
		}
		same = same && said[i] == said[0]
	}
	if same {
		return said[:min(1, len(said))]
	}
	for i, c := range e.Coverage {
		said[i] = string(c.Side) + " " + span(c.Revisions[0], c.Revisions[len(c.Revisions)-1]) + ", " + said[i]
	}
	return said
}

func span(first, last string) string {
	if first == last {
		return first
	}
	return first + "…" + last
}

// requirement is one entry in the JSON form of a list, which is an array.
type requirement struct {
	ID        string              `json:"id"`
	Level     catalogue.Level     `json:"level"`
	Side      catalogue.Side      `json:"side"`      // server, client or both: who has to comply
	Transport catalogue.Transport `json:"transport"` // any, stdio, http or sse
	Since     string              `json:"since"`
	Until     string              `json:"until"`
	Basis     catalogue.Basis     `json:"basis"`
	Observe   catalogue.Observe   `json:"observe"` // active, passive, needs-fixture or not-observable
	Sentence  string              `json:"requirement"`
	URL       string              `json:"spec"`
	Coverage  []coverage          `json:"coverage"` // by side, and by revisions where it is not the same in all
}

type coverage struct {
	Side      catalogue.Side `json:"side"`
	Revisions []string       `json:"revisions"`
	Status    check.Status   `json:"status"`           // covered, open, fixture or hidden
	Checks    []string       `json:"checks,omitempty"` // that judge it
	Reason    string         `json:"reason,omitempty"` // why none does
}

// RequirementsJSON writes requirements as an array, indented by tabs, with a
// newline at the end; rev is as for Requirements.
func RequirementsJSON(w io.Writer, entries []check.Entry, rev string) error {
	list := make([]requirement, 0, len(entries))
	for i := range entries {
		e := &entries[i]
		r := requirement{
			ID: e.ID, Level: e.Level, Side: e.Side, Transport: e.Transport, Since: e.Since, Until: e.Until, Basis: e.Basis, Observe: e.Observe,
			Sentence: e.Sentence, URL: e.URL(rev),
		}
		for _, c := range e.Coverage {
			r.Coverage = append(r.Coverage, coverage{Side: c.Side, Revisions: c.Revisions, Status: c.Status, Checks: c.Checks, Reason: c.Reason})
		}
		list = append(list, r)
	}
	return indented(w, list)
}

// RequirementsSummary prints how many requirements there are of each status,
// by revision and side, and how many of those that can be judged are.
func RequirementsSummary(w io.Writer, entries []check.Entry, o TextOptions) error {
	p := printer{w: bufio.NewWriter(w), o: o, prose: listColumns}
	if o.Width > 0 {
		p.prose = min(max(o.Width, 40), 100)
	}
	p.printf("%s\n", p.paint("1", fmt.Sprintf("%-10s  %-6s  %5s  %7s  %4s  %7s  %6s  %s", "revision", "side", "all", "covered", "open", "fixture", "hidden", "active or passive")))
	for _, t := range check.Tallies(entries) {
		all := 0
		for _, n := range t.Status {
			all += n
		}
		p.printf("%-10s  %-6s  %5d  %7d  %4d  %7d  %6d  %s\n", t.Revision, t.Side, all, t.Status[check.StatusCovered], t.Status[check.StatusOpen],
			t.Status[check.StatusFixture], t.Status[check.StatusHidden], share(t))
	}
	p.printf("\n")
	p.wrap("", "  ", "covered: a check judges it; open: no check does yet; fixture: to judge it takes something that a peer need not have; "+
		"hidden: it does not show on the wire; active or passive: the share that is covered of what shows of itself, or can be provoked")
	return p.w.Flush()
}

func share(t check.Tally) string {
	if t.Judgeable == 0 {
		return "none"
	}
	return fmt.Sprintf("%d of %d, %d%%", t.Judged, t.Judgeable, t.Judged*100/t.Judgeable)
}

// tally is one row of a summary in its JSON form, which is an array.
type tally struct {
	Revision  string         `json:"revision"`
	Side      catalogue.Side `json:"side"`
	Covered   int            `json:"covered"`
	Open      int            `json:"open"`
	Fixture   int            `json:"fixture"`
	Hidden    int            `json:"hidden"`
	Judgeable int            `json:"judgeable"` // active or passive
	Judged    int            `json:"judged"`    // those of them that are covered
}

// RequirementsSummaryJSON writes the numbers of RequirementsSummary as an
// array, indented by tabs, with a newline at the end.
func RequirementsSummaryJSON(w io.Writer, entries []check.Entry) error {
	list := []tally{}
	for _, t := range check.Tallies(entries) {
		list = append(list, tally{
			Revision: t.Revision, Side: t.Side, Covered: t.Status[check.StatusCovered], Open: t.Status[check.StatusOpen],
			Fixture: t.Status[check.StatusFixture], Hidden: t.Status[check.StatusHidden], Judgeable: t.Judgeable, Judged: t.Judged,
		})
	}
	return indented(w, list)
}

func indented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	return e.Encode(v)
}
