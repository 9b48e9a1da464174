package report

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"github.com/goldwire/goldwire/conformance/result"
)

// Diff prints what changed between two reports for people: what got worse, with
// what was seen, what got better, and what came to be judged or is no more.
func Diff(w io.Writer, c *result.Comparison, o TextOptions) error {
	var text bytes.Buffer
	p := printer{w: bufio.NewWriter(&text), o: o, prose: 100, frame: 1000}
	if o.Width > 0 {
		p.frame = max(o.Width, 40)
		p.prose = min(p.frame, 100)
	}
	paints := map[result.Turn]string{result.Worse: "1;31", result.Better: "32", result.Other: "2"}
	word := func(v result.Verdict) string {
		if v == "" {
			return "not there"
		}
		return string(v)
	}
	for _, ch := range c.Changes {
		p.printf("%s  %s  %s: %s, was %s\n", p.paint(paints[ch.Turn], strings.ToUpper(string(ch.Turn))), p.paint("1", plain(ch.Check)), plain(ch.Revision),
			word(ch.After), word(ch.Before))
		if ch.Turn == result.Worse {
			p.wrap("  ", "  ", plain(ch.Sentence))
			p.wrap("  seen      ", "            ", plain(ch.Detail))
		}
	}
	if len(c.Changes) > 0 {
		p.printf("\n")
	}
	if len(c.Apart) > 0 {
		p.wrap("not compared: ", "  ", plain(strings.Join(c.Apart, ", "))+", as only one of the reports judges it")
	}
	p.printf("%d worse, %d better, %s, %d the same\n", c.Counts[result.Worse], c.Counts[result.Better],
		plural(c.Counts[result.Other], "other change", "other changes"), c.Same)
	if err := p.w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, tame(text.String()))
	return err
}

// comparison is the JSON form of Diff.
type comparison struct {
	Goldwire int             `json:"goldwire"` // Format
	Summary  comparisonSum   `json:"summary"`
	Apart    []string        `json:"notCompared,omitempty"` // revisions that only one report judges
	Changes  []result.Change `json:"changes"`               // worse before better before other
}

type comparisonSum struct {
	Worse  int `json:"worse"`
	Better int `json:"better"`
	Other  int `json:"other"`
	Same   int `json:"same"`
}

// DiffJSON writes what changed between two reports for programs, indented by
// tabs.
func DiffJSON(w io.Writer, c *result.Comparison) error {
	d := comparison{
		Goldwire: Format, Apart: c.Apart, Changes: c.Changes,
		Summary: comparisonSum{c.Counts[result.Worse], c.Counts[result.Better], c.Counts[result.Other], c.Same},
	}
	if d.Changes == nil {
		d.Changes = []result.Change{}
	}
	return indented(w, d)
}
