package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/conformance/result"
)

// What a Markdown report holds at most: GitHub takes 1 MiB for the summary of a
// step and shows nothing of a longer one.
const (
	mostMarkdown = 900 << 10
	mostFindings = 100
)

// Markdown writes a report for a job summary or an issue: what came of it, the
// verdicts by revision with how many MUSTs were exercised, and each finding
// folded, with its rule, what was expected and observed, and the traffic. It
// stays below the size that GitHub takes: findings that are too many are
// counted. What the peer sent is shown literally and is no Markdown.
func Markdown(w io.Writer, r *result.Report) error {
	var b strings.Builder
	headline, why := Outcome(r)
	fmt.Fprintf(&b, "## Goldwire: %s\n\n%s\n\n", headline, md(why))
	if name := who(r); name != "" {
		line := md(name)
		if by := judgedBy(r); by != "" {
			line += ", " + by
		}
		b.WriteString(line + "\n\n")
	}
	if r.Error != nil && r.Error.Stderr != "" {
		b.WriteString(fenced(r.Error.Stderr) + "\n")
	}
	if len(r.Results) > 0 {
		b.WriteString("| revision | pass | fail | warn | n/a | unseen | blocked | error | MUSTs exercised |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
		for _, row := range matrix(r, func(c *result.Check) string { return c.Revision }) {
			fmt.Fprintf(&b, "| %s |", md(row.name))
			for _, v := range result.Verdicts {
				cell := ""
				if n := row.counts[v]; n > 0 {
					cell = strconv.Itoa(n)
					if v == result.Fail {
						cell = "**" + cell + "**"
					}
				}
				fmt.Fprintf(&b, " %s |", cell)
			}
			var cov []string
			for _, c := range r.Coverage() {
				if c.Revision == row.name {
					cov = append(cov, fmt.Sprintf("%d of %d", c.Exercised, c.Must))
				}
			}
			fmt.Fprintf(&b, " %s |\n", strings.Join(cov, ", "))
		}
		b.WriteString("\n")
	}
	if len(r.Stale) > 0 {
		b.WriteString("| stale entry | file | why |\n|---|---|---|\n")
		for _, s := range r.Stale {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", md(s.Check), md(s.File), md(s.Why))
		}
		b.WriteString("\n")
	}
	for _, note := range r.Notes {
		b.WriteString(md(note) + "\n\n")
	}
	shown, left, full := 0, 0, false
	for _, v := range []result.Verdict{result.Fail, result.Warn, result.Error} {
		for _, g := range groups(r, v) {
			if full {
				left++
				continue
			}
			text := markdownFinding(g)
			if full = shown == mostFindings || b.Len()+len(text) > mostMarkdown; full {
				left++
				continue
			}
			shown++
			b.WriteString(text)
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "%s in the other reports.\n\n", plural(left, "more finding is", "more findings are"))
	}
	blocked := map[string][]string{}
	var reasons []string
	for i := range r.Results {
		if c := &r.Results[i]; c.Verdict == result.Blocked {
			if blocked[c.Reason] == nil {
				reasons = append(reasons, c.Reason)
			}
			blocked[c.Reason] = append(blocked[c.Reason], c.ID)
		}
	}
	for _, reason := range reasons {
		ids := blocked[reason]
		slices.Sort(ids)
		ids = slices.Compact(ids)
		text := fmt.Sprintf("<details><summary>%s blocked: %s</summary>\n\n%s\n\n</details>\n\n", plural(len(ids), "check", "checks"), md(reason), md(strings.Join(ids, ", ")))
		if b.Len()+len(text) > mostMarkdown {
			break
		}
		b.WriteString(text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownFinding(g *group) string {
	var b strings.Builder
	c := g.check
	verdict := strings.ToUpper(string(c.Verdict))
	if c.Known != "" {
		verdict += " (known)"
	}
	fmt.Fprintf(&b, "<details><summary><b>%s</b> <code>%s</code> %s</summary>\n\n", verdict, md(c.ID), md(strings.Join(g.revisions, ", ")))
	if c.Sentence != "" || c.Level != "" {
		text := strings.Trim(string(c.Level)+": "+md(c.Sentence), ": ")
		if c.URL != "" {
			text += " ([specification](" + strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E").Replace(c.URL) + "))"
		}
		b.WriteString(text + "\n\n")
	}
	for _, part := range [][2]string{
		{"expected", c.Expected}, {"observed", c.Observed}, {"reason", c.Reason}, {"warning", warning(c)}, {"known", c.Known},
		{"requirements", strings.Join(c.Requirements, ", ")},
	} {
		if part[1] != "" {
			fmt.Fprintf(&b, "- %s: %s\n", part[0], md(part[1]))
		}
	}
	b.WriteString("\n")
	if len(c.Frames) > 0 {
		var t strings.Builder
		for _, f := range c.Frames {
			lead := "  "
			if f.Here {
				lead = "→ "
			}
			t.WriteString(lead + f.Text + "\n")
		}
		b.WriteString(fenced(t.String()) + "\n")
	}
	b.WriteString("</details>\n\n")
	return b.String()
}

// md is text that Markdown, and HTML in it, shows literally, in one line and
// one cell: what has a meaning there is written as a number.
func md(s string) string {
	var b strings.Builder
	for _, c := range strings.Join(strings.Fields(plain(s)), " ") {
		if strings.ContainsRune("<>&\\`*_{}[]#+!|~@", c) {
			fmt.Fprintf(&b, "&#%d;", c)
		} else {
			b.WriteRune(c)
		}
	}
	// An address that a peer names is no link.
	return strings.NewReplacer("://", ":&#47;/", "www.", "www&#46;").Replace(b.String())
}

// fenced is a block of code that nothing in the text can end.
func fenced(s string) string {
	s = strings.TrimRight(plain(s), "\n")
	fence, run := 3, 0
	for _, c := range s {
		if c != '`' {
			run = 0
			continue
		}
		run++
		fence = max(fence, run+1)
	}
	f := strings.Repeat("`", fence)
	return f + "text\n" + s + "\n" + f + "\n"
}

// counted is a row of a table of verdicts.
type counted struct {
	name   string
	counts result.Summary
}

// matrix counts the verdicts of each group, ordered by name.
func matrix(r *result.Report, of func(*result.Check) string) []counted {
	var rows []counted
	for i := range r.Results {
		c := &r.Results[i]
		name := of(c)
		at := slices.IndexFunc(rows, func(r counted) bool { return r.name == name })
		if at < 0 {
			at = len(rows)
			rows = append(rows, counted{name, result.Summary{}})
		}
		rows[at].counts[c.Verdict]++
	}
	slices.SortFunc(rows, func(a, b counted) int { return strings.Compare(a.name, b.name) })
	return rows
}
