package report

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/result"
)

// TextOptions of Text; the zero value suits a file.
type TextOptions struct {
	Color   bool // use the colours of a terminal
	Width   int  // columns to fit lines into; 0 = 100 for prose, and frames are cut late
	Verbose bool // list every result, not only what is broken
}

// Text prints a report for people: each broken rule with its sentence, level
// and place in the specification, what was expected, what was observed and
// the traffic around it; then what could not be judged, by its reason, many checks
// with one reason by their areas, unless verbose; and
// tables of the verdicts by revision and, where something was found or
// blocked, by area (all areas when verbose). Failures come before warnings, and each of them from
// the bytes up, as a fault of the lower layers often shows in the upper ones
// again; then entries of a baseline that are not true any more, and how many
// MUSTs were exercised, and the notes of the run. A finding that is the same in several revisions is told once. What the
// peer sent cannot reach the terminal as a control sequence.
func Text(w io.Writer, r *result.Report, o TextOptions) error {
	var text bytes.Buffer
	p := printer{w: bufio.NewWriter(&text), o: o, prose: 100, frame: 1000}
	if o.Width > 0 {
		p.frame = max(o.Width, 40)
		p.prose = min(p.frame, 100)
	}
	p.head(r)
	for _, v := range []result.Verdict{result.Fail, result.Warn, result.Error} {
		for _, g := range groups(r, v) {
			p.finding(g)
		}
	}
	p.legend(r)
	p.blocked(r)
	if o.Verbose {
		p.all(r)
	}
	p.stale(r)
	p.tables(r)
	p.last(r)
	if err := p.w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, tame(text.String()))
	return err
}

// tame keeps text from being read as a command by a CI that looks for some in
// the output: GitHub takes lines that begin with ::, blanks before them or not,
// and ##[ anywhere.
func tame(s string) string {
	if !strings.Contains(s, "::") && !strings.Contains(s, "##[") {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		blanks := len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
		if strings.HasPrefix(line[blanks:], "::") {
			line = line[:blanks] + `\x3a` + line[blanks+1:]
		}
		b.WriteString(strings.ReplaceAll(line, "##[", `#\x23[`))
	}
	return b.String()
}

type printer struct {
	w            *bufio.Writer // remembers the first error
	o            TextOptions
	prose, frame int // columns
}

func (p *printer) printf(format string, args ...any) { _, _ = fmt.Fprintf(p.w, format, args...) }

// paint wraps s in a colour (an SGR parameter).
func (p *printer) paint(sgr, s string) string {
	if !p.o.Color {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

var colours = map[result.Verdict]string{
	result.Pass: "32", result.Fail: "1;31", result.Warn: "33", result.Error: "1;35",
	result.NotApplicable: "2", result.NotObserved: "2", result.Blocked: "36",
}

func (p *printer) head(r *result.Report) {
	t := r.Target
	who := t.Side
	if who == string(catalogue.Both) {
		who = "both sides"
	}
	if t.Name != "" {
		who += " " + plain(t.Name)
		if t.Version != "" {
			who += " " + plain(t.Version)
		}
	}
	p.printf("%s\n", p.paint("1", strings.TrimSpace(who)))
	where := t.URL
	if len(t.Command) > 0 {
		where = commandLine(t.Command)
	}
	if where != "" {
		p.printf("%s\n", plain(where))
	}
	if by := judgedBy(r); by != "" {
		p.wrap("", "  ", by)
	}
	p.printf("\n")
}

func commandLine(args []string) string {
	q := make([]string, len(args))
	for i, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n\"'\\$`") {
			a = strconv.Quote(a)
		}
		q[i] = a
	}
	return strings.Join(q, " ")
}

// group is one finding in the revisions that have it.
type group struct {
	check     *result.Check // of the newest revision
	revisions []string
}

func groups(r *result.Report, v result.Verdict) []*group {
	type key struct{ id, transport, expected, observed, reason, known string }
	var order []*group
	byKey := map[key]*group{}
	for i := range r.Results {
		c := &r.Results[i]
		if c.Verdict != v {
			continue
		}
		k := key{c.ID, c.Transport, c.Expected, c.Observed, c.Reason, c.Known}
		g := byKey[k]
		if g == nil {
			g = &group{}
			byKey[k] = g
			order = append(order, g)
		}
		g.check = c
		if !slices.Contains(g.revisions, c.Revision) {
			g.revisions = append(g.revisions, c.Revision)
		}
	}
	slices.SortStableFunc(order, func(a, b *group) int { return depth(a.check.Layer) - depth(b.check.Layer) })
	return order
}

// depth orders layers from the bytes up; what has none comes last.
func depth(layer string) int {
	if i := slices.Index([]string{"carrier", "jsonrpc", "protocol", "feature"}, layer); i >= 0 {
		return i
	}
	return 4
}

// blocked lists the checks that could not look, by the reason.
func (p *printer) blocked(r *result.Report) {
	type block struct {
		reason, known  string
		revisions, ids []string
		areas          map[string]int
	}
	var order []*block
	for i := range r.Results {
		c := &r.Results[i]
		if c.Verdict != result.Blocked {
			continue
		}
		at := slices.IndexFunc(order, func(b *block) bool { return b.reason == c.Reason && b.known == c.Known })
		if at < 0 {
			at = len(order)
			order = append(order, &block{reason: c.Reason, known: c.Known, areas: map[string]int{}})
		}
		b := order[at]
		if !slices.Contains(b.revisions, c.Revision) {
			b.revisions = append(b.revisions, c.Revision)
		}
		if !slices.Contains(b.ids, c.ID) {
			b.ids = append(b.ids, c.ID)
			b.areas[Area(c)]++
		}
	}
	for _, b := range order {
		p.printf("%s  %s  %s\n", p.paint(colours[result.Blocked], "BLOCKED"), p.paint("1", plural(len(b.ids), "check", "checks")), strings.Join(b.revisions, ", "))
		p.wrap("  reason    ", "            ", plain(or(b.reason, "none was given")))
		p.wrap("  checks    ", "            ", plain(p.blockedIDs(b.ids, b.areas)))
		if b.known != "" {
			p.wrap("  known     ", "            ", plain(b.known))
		}
		p.printf("\n")
	}
}

// mostBlocked is how many checks with one reason are named, or else areas.
const mostBlocked = 8

// blockedIDs names blocked checks, or says how many there are of each area where
// there are many: the largest first.
func (p *printer) blockedIDs(ids []string, areas map[string]int) string {
	if len(ids) <= mostBlocked || p.o.Verbose {
		return strings.Join(ids, ", ")
	}
	names := slices.SortedFunc(maps.Keys(areas), func(a, b string) int { return cmp.Or(areas[b]-areas[a], strings.Compare(a, b)) })
	others := 0
	for i, name := range names {
		names[i] = strconv.Itoa(areas[name]) + " " + name
		if i >= mostBlocked {
			others += areas[name]
		}
	}
	if n := len(names) - mostBlocked; n > 1 {
		names = append(names[:mostBlocked], fmt.Sprintf("%d in %d other areas", others, n))
	}
	return strings.Join(names, ", ") + " (--report json=FILE names each)"
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// legend explains the lines of traffic, where some were shown.
func (p *printer) legend(r *result.Report) {
	if hasMore(r) {
		p.wrap("", "", MoreLegend)
		p.printf("\n")
	}
	for i := range r.Results {
		switch c := &r.Results[i]; c.Verdict {
		case result.Fail, result.Warn, result.Error:
			if len(c.Frames) > 0 {
				p.wrap("", "", Legend)
				p.printf("\n")
				return
			}
		}
	}
}

// Legend explains the lines of traffic that a report shows with a finding.
const Legend = "traffic: > to the peer, < from it, ! a remark of the checker, → the line that is judged; " + legendIDs

const legendIDs = "requests with ids from 7000000 only ask whether the peer is still there"

// MoreLegend says where to find what "and 2 more like it" stands for.
const MoreLegend = `more like it: the other times a rule was broken are not always by the same fault; ` +
	`--report json=FILE has each, with its traffic, as "more" of the result (nine at most)`

func hasMore(r *result.Report) bool {
	return slices.ContainsFunc(r.Results, func(c result.Check) bool { return len(c.More) > 0 })
}

func (p *printer) finding(g *group) {
	c := g.check
	verdict := strings.ToUpper(string(c.Verdict))
	if c.Known != "" {
		verdict += " (known)"
	}
	head := p.paint(colours[c.Verdict], verdict) + "  " + p.paint("1", c.ID)
	tail := strings.Join(g.revisions, ", ")
	if c.Transport != "" {
		tail += " over " + c.Transport
	}
	p.printf("%s  %s\n", head, tail)
	if c.Sentence != "" || c.Level != "" {
		text := string(c.Level)
		if c.Verdict == result.Warn && c.Mild != "" {
			text += " (told as a warning)"
		}
		if c.Sentence != "" {
			text = strings.TrimPrefix(text+": "+plain(c.Sentence), ": ")
		}
		p.wrap("  ", "  ", text)
	}
	for i, id := range c.Requirements {
		if i == 0 && c.URL != "" {
			id += "  " + c.URL
		}
		p.printf("  %s\n", p.paint("2", plain(id)))
	}
	if c.Layer != "" {
		p.wrap("  layer     ", "            ", plain(c.Layer))
	}
	for _, part := range []struct{ label, text string }{
		{"expected", c.Expected}, {"observed", c.Observed}, {"reason", c.Reason}, {"warning", warning(c)}, {"known", c.Known},
	} {
		if part.text != "" {
			p.wrap(fmt.Sprintf("  %-10s", part.label), "            ", plain(part.text))
		}
	}
	if len(c.Frames) > 0 {
		p.printf("  traffic\n")
	}
	for _, f := range c.Frames {
		// The line that the finding is about may take more room.
		lead, lines := "      ", 2
		if f.Here {
			lead, lines = "    → ", 8
		}
		text := plain(f.Text)
		if p.o.Width <= 0 {
			lines = 1
		}
		for _, line := range fold(cut(text, lines*(p.frame-6)), p.frame-6) {
			line = lead + line
			if f.Here {
				line = p.paint("1", line)
			}
			p.printf("%s\n", line)
			lead = "      "
		}
	}
	p.printf("\n")
}

// warning says why a broken MUST is a warning, "" where there is nothing to say.
func warning(c *result.Check) string {
	if c.Verdict != result.Warn || c.Mild == "" {
		return ""
	}
	return "since " + c.Mild
}

// fold breaks a line after every so many columns.
func fold(s string, columns int) []string {
	var lines []string
	n, start := 0, 0
	for i := range s {
		if n == columns {
			lines = append(lines, s[start:i])
			n, start = 0, i
		}
		n++
	}
	return append(lines, s[start:])
}

// wrap prints text in lines that fit; what cannot be broken stands over.
func (p *printer) wrap(first, rest, text string) {
	lead := first
	for _, para := range strings.Split(text, "\n") {
		line := ""
		for _, word := range strings.Fields(para) {
			if line != "" && utf8.RuneCountInString(lead)+utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > p.prose {
				p.printf("%s%s\n", lead, line)
				lead, line = rest, ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		if line != "" {
			p.printf("%s%s\n", lead, line)
			lead = rest
		}
	}
}

func (p *printer) all(r *result.Report) {
	for i := range r.Results {
		c := &r.Results[i]
		line := fmt.Sprintf("%-14s  %s  %s", c.Verdict, c.Revision, c.ID)
		if c.Reason != "" {
			line += ": " + strings.Join(strings.Fields(plain(c.Reason)), " ")
		}
		line = cut(line, p.frame)
		if rest, ok := strings.CutPrefix(line, string(c.Verdict)); ok {
			line = p.paint(colours[c.Verdict], string(c.Verdict)) + rest
		}
		p.printf("%s\n", line)
	}
	if len(r.Results) > 0 {
		p.printf("\n")
	}
}

var columns = map[result.Verdict]string{
	result.Pass: "pass", result.Fail: "fail", result.Warn: "warn", result.NotApplicable: "n/a",
	result.NotObserved: "unseen", result.Blocked: "blocked", result.Error: "error",
}

func (p *printer) tables(r *result.Report) {
	if len(r.Results) == 0 {
		return
	}
	p.table("revision", r, func(c *result.Check) string { return c.Revision }, false)
	p.table("area", r, Area, !p.o.Verbose)
}

// Area is the part of the protocol a result is about: that of its first
// requirement, or of the check.
func Area(c *result.Check) string {
	if len(c.Requirements) > 0 {
		return catalogue.AreaOf(c.Requirements[0])
	}
	return catalogue.AreaOf(c.ID)
}

// table counts the verdicts of each group. With few, the rows of groups in which
// all went well are left out.
func (p *printer) table(title string, r *result.Report, of func(*result.Check) string, few bool) {
	counts := map[string]result.Summary{}
	for i := range r.Results {
		c := &r.Results[i]
		k := of(c)
		if counts[k] == nil {
			counts[k] = result.Summary{}
		}
		counts[k][c.Verdict]++
	}
	names := make([]string, 0, len(counts))
	width := len(title)
	for k, s := range counts {
		if few && s[result.Fail]+s[result.Warn]+s[result.Blocked]+s[result.Error] == 0 {
			continue
		}
		names = append(names, k)
		width = max(width, utf8.RuneCountInString(plain(k)))
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	row := func(name string, cell func(result.Verdict) string) {
		p.printf("%-*s", width, plain(name))
		for _, v := range result.Verdicts {
			s := fmt.Sprintf("  %*s", max(4, len(columns[v])), cell(v))
			if n := strings.TrimSpace(s); n != "." && n != "0" && n != columns[v] {
				s = p.paint(colours[v], s)
			}
			p.printf("%s", s)
		}
		p.printf("\n")
	}
	number := func(s result.Summary) func(result.Verdict) string {
		return func(v result.Verdict) string {
			if s[v] == 0 {
				return "."
			}
			return strconv.Itoa(s[v])
		}
	}
	row(title, func(v result.Verdict) string { return columns[v] })
	for _, k := range names {
		row(k, number(counts[k]))
	}
	if !few && len(names) > 1 {
		row("total", number(r.Summary()))
	}
	if n := len(counts) - len(names); n > 0 {
		p.printf("and %s without a finding\n", plural(n, title, title+"s"))
	}
	p.printf("\n")
}

func (p *printer) last(r *result.Report) {
	for _, line := range coverageLines(r) {
		p.printf("%s\n", line)
	}
	for _, note := range r.Notes {
		p.wrap("", "  ", plain(note))
	}
	headline, why := Outcome(r)
	colour := "1;35"
	switch {
	case r.Error != nil:
		p.wrap(p.paint(colour, headline)+": ", "  ", plain(why))
		return
	case ExitCode(r) == ExitConformant:
		colour = "1;32"
	case ExitCode(r) == ExitBroken:
		colour = "1;31"
	case ExitCode(r) == ExitStale:
		colour = "33"
	}
	p.printf("%s: %s\n", p.paint(colour, headline), why)
}

// stale lists the entries of a baseline that are not true any more.
func (p *printer) stale(r *result.Report) {
	for _, s := range r.Stale {
		p.printf("%s  %s  %s\n", p.paint(colours[result.Warn], "STALE"), p.paint("1", plain(s.Check)), plain(s.File))
		p.wrap("  reason    ", "            ", plain(s.Why))
	}
	if len(r.Stale) > 0 {
		p.printf("\n")
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Plain makes text from elsewhere harmless for a terminal: control and format
// characters (which could move the cursor or reverse the reading order) are
// shown as escapes. Newlines stay. So it does for a CI that takes commands from
// the output.
func Plain(s string) string { return tame(plain(s)) }

func plain(s string) string {
	bad := func(r rune) bool {
		return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) || r == utf8.RuneError
	}
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\t':
			b.WriteByte(' ')
		case r == utf8.RuneError || !bad(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// cut shortens a line to that many columns, and says how long it was.
func cut(s string, columns int) string {
	n := utf8.RuneCountInString(s)
	if n <= columns {
		return s
	}
	tail := "… (" + strconv.Itoa(len(s)) + " bytes)"
	keep := max(0, columns-utf8.RuneCountInString(tail))
	for i := range s {
		if keep == 0 {
			return s[:i] + tail
		}
		keep--
	}
	return s
}
