package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance/result"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// HTML writes a report as one page that needs nothing else: no network, no
// script. It tells the outcome, the verdicts by area and revision, each finding
// with its rule, what was expected and observed, and the exchange as a sequence
// diagram with the raw frames, then every result. It fits a telephone and a
// desktop, in light and dark, and is well-formed XML.
func HTML(w io.Writer, r *result.Report, o Options) error { return page.Execute(w, newView(r, o)) }

// view is what the page shows.
type view struct {
	Title, Headline, Why, Class string
	Who, Command                string
	Tool                        string
	By                          string // "judged by 2025-11-25"
	Coverage                    []coverageView
	Columns                     []string // headings of the matrix: revisions
	Rows                        []rowView
	Total                       []cellView
	Findings                    []findingView
	Blocked                     []blockedView
	Stale                       []result.Stale
	Notes                       []string
	Areas                       []areaView
	Stderr                      string
	Legend                      string
}

type coverageView struct {
	result.Coverage
	Percent int
}

type rowView struct {
	Area  string
	ID    string // of its list below
	Cells []cellView
}

// cellView counts the verdicts of an area in a revision.
type cellView []countView

type countView struct {
	Class, Word string
	N           int
}

type findingView struct {
	ID, Anchor, Verdict, Class string
	Known                      string
	Revisions, Over            string
	Level, Sentence, URL       string
	Requirements               []string
	Layer, Expected, Observed  string
	Reason, Warning            string
	Frames                     []frameView
	Client, Server             string // headings of the diagram
}

// frameView is one line of traffic: an arrow to the right for what was sent to
// the server, to the left for what came from it, a remark otherwise.
type frameView struct {
	Class string // right, left or note
	Label string // what the message is: "tools/call", "result of 3"
	At    string
	Text  string
	Here  bool
}

type blockedView struct {
	Reason, Revisions, IDs string
	N                      int
}

type areaView struct {
	Area, ID string
	Results  []resultView
}

type resultView struct {
	ID, Revision, Verdict, Class, Note, URL string
}

var classes = map[result.Verdict]string{
	result.Pass: "pass", result.Fail: "fail", result.Warn: "warn", result.NotApplicable: "quiet", result.NotObserved: "quiet",
	result.Blocked: "blocked", result.Error: "error",
}

func newView(r *result.Report, o Options) *view {
	v := &view{Who: plain(who(r)), Command: plain(commandLine(r.Target.Command)), Tool: o.Tool, By: judgedBy(r), Stale: r.Stale, Legend: "traffic: " + legendIDs}
	if v.Command == "" {
		v.Command = plain(r.Target.URL)
	}
	headline, why := Outcome(r)
	v.Headline, v.Why = headline, plain(why)
	v.Title = strings.TrimSpace(headline + ": " + v.Who)
	v.Class = map[int]string{ExitConformant: "pass", ExitBroken: "fail", ExitStale: "warn"}[ExitCode(r)]
	if v.Class == "" || r.Error != nil {
		v.Class = "error"
	}
	if r.Error != nil {
		v.Stderr = plain(r.Error.Stderr)
	}
	for i := range v.Stale {
		if i == 0 {
			v.Stale = slices.Clone(v.Stale)
		}
		v.Stale[i].Check, v.Stale[i].Why = plain(v.Stale[i].Check), plain(v.Stale[i].Why)
	}
	if hasMore(r) {
		v.Legend += "; " + MoreLegend
	}
	for _, note := range r.Notes {
		v.Notes = append(v.Notes, plain(note))
	}
	for _, c := range r.Coverage() {
		v.Coverage = append(v.Coverage, coverageView{Coverage: c, Percent: c.Exercised * 100 / max(c.Must, 1)})
	}
	v.matrix(r)
	anchors := map[string]int{}
	for _, verdict := range []result.Verdict{result.Fail, result.Warn, result.Error} {
		for _, g := range groups(r, verdict) {
			f := newFinding(g, r.Target.Side)
			if n := anchors[f.Anchor]; n > 0 {
				anchors[f.Anchor]++
				f.Anchor += fmt.Sprintf("-%d", n+1)
			} else {
				anchors[f.Anchor] = 1
			}
			v.Findings = append(v.Findings, f)
		}
	}
	for i := range r.Results {
		c := &r.Results[i]
		if c.Verdict != result.Blocked {
			continue
		}
		reason := plain(or(c.Reason, "no reason was given"))
		at := slices.IndexFunc(v.Blocked, func(b blockedView) bool { return b.Reason == reason && b.Revisions == c.Revision })
		if at < 0 {
			at = len(v.Blocked)
			v.Blocked = append(v.Blocked, blockedView{Reason: reason, Revisions: c.Revision})
		}
		b := &v.Blocked[at]
		b.N++
		b.IDs = strings.TrimPrefix(b.IDs+", "+plain(c.ID), ", ")
	}
	return v
}

// matrix fills the table of areas and revisions, and the list of every result.
func (v *view) matrix(r *result.Report) {
	for i := range r.Results {
		if rev := r.Results[i].Revision; !slices.Contains(v.Columns, rev) {
			v.Columns = append(v.Columns, rev)
		}
	}
	slices.Sort(v.Columns)
	cell := func(s result.Summary) cellView {
		var out cellView
		for _, verdict := range result.Verdicts {
			if s[verdict] > 0 {
				out = append(out, countView{classes[verdict], columns[verdict], s[verdict]})
			}
		}
		return out
	}
	of := func(area, rev string) result.Summary {
		s := result.Summary{}
		for i := range r.Results {
			if c := &r.Results[i]; (area == "" || Area(c) == area) && c.Revision == rev {
				s[c.Verdict]++
			}
		}
		return s
	}
	for _, row := range matrix(r, Area) {
		id := anchor("area-" + row.name)
		rv, av := rowView{Area: plain(row.name), ID: id}, areaView{Area: plain(row.name), ID: id}
		for _, rev := range v.Columns {
			rv.Cells = append(rv.Cells, cell(of(row.name, rev)))
		}
		for i := range r.Results {
			c := &r.Results[i]
			if Area(c) != row.name {
				continue
			}
			note := c.Reason
			switch {
			case c.Known != "":
				note = "known: " + c.Known
			case note == "":
				note = c.Observed
			}
			av.Results = append(av.Results, resultView{plain(c.ID), c.Revision, columns[c.Verdict], classes[c.Verdict], cut(plain(note), 200), c.URL})
		}
		v.Rows, v.Areas = append(v.Rows, rv), append(v.Areas, av)
	}
	for _, rev := range v.Columns {
		v.Total = append(v.Total, cell(of("", rev)))
	}
}

func newFinding(g *group, side string) findingView {
	c := g.check
	f := findingView{
		ID: plain(c.ID), Anchor: anchor(c.ID), Verdict: strings.ToUpper(string(c.Verdict)), Class: classes[c.Verdict], Known: plain(c.Known),
		Revisions: strings.Join(g.revisions, ", "), Over: c.Transport,
		Level: string(c.Level), Sentence: plain(c.Sentence), URL: c.URL, Layer: c.Layer,
		Expected: plain(c.Expected), Observed: plain(c.Observed), Reason: plain(c.Reason), Warning: warning(c),
		Client: "goldwire", Server: "server",
	}
	if side == "client" {
		f.Client, f.Server = "client", "goldwire"
	}
	for _, id := range c.Requirements {
		f.Requirements = append(f.Requirements, plain(id))
	}
	f.Frames = newFrames(c.Frames)
	return f
}

// carrier is the mark of a line that tells what the carrier of an HTTP exchange
// said: a request line, a status or a header.
var carrier = regexp.MustCompile(`^(?:>>|<<)\d*`)

// newFrames makes one arrow of each line, and one of lines in a row of the
// carrier of one exchange, as a request with its headers.
func newFrames(list []result.Frame) []frameView {
	var out []frameView
	before := ""
	for _, fr := range list {
		f, of := newFrame(fr), carrier.FindString(fr.Text)
		if of != "" && of == before {
			last := &out[len(out)-1]
			last.Text += "\n" + f.Text
			last.Here = last.Here || f.Here
			continue
		}
		out, before = append(out, f), of
	}
	return out
}

var unfit = regexp.MustCompile(`[^a-z0-9-]+`)

func anchor(id string) string { return unfit.ReplaceAllString(strings.ToLower(id), "-") }

// mark takes the beginning of a line of a transcript apart: who sent it, and
// when.
var mark = regexp.MustCompile(`^(>>?|<<?|!)\d*x?(?:~\d*)?(?:@(\S+))? ?`)

func newFrame(fr result.Frame) frameView {
	f := frameView{Class: "note", Text: plain(fr.Text), Here: fr.Here}
	m := mark.FindStringSubmatch(fr.Text)
	if m == nil {
		return f
	}
	data := fr.Text[len(m[0]):]
	f.At, f.Text = m[2], plain(data)
	switch m[1][0] {
	case '>':
		f.Class = "right"
	case '<':
		f.Class = "left"
	default:
		return f
	}
	f.Label = label(data)
	return f
}

// label names a message, "" where it is none that is whole.
func label(data string) string {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method *string         `json:"method"`
		Error  *struct {
			Code json.RawMessage `json:"code"`
		} `json:"error"`
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal([]byte(data), &m); err != nil {
		return ""
	}
	id := ""
	if m.ID != nil {
		id = " " + cut(string(m.ID), 20)
	}
	switch {
	case m.Method != nil:
		return plain(cut(*m.Method, 60) + id)
	case m.Error != nil:
		return plain("error " + cut(string(m.Error.Code), 20) + id)
	case m.Result != nil:
		return plain("result" + id)
	}
	return ""
}
