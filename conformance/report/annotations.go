package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/goldwire/goldwire/conformance/result"
)

// mostAnnotations is how many of one kind GitHub shows of a step.
const mostAnnotations = 10

// Annotations writes the findings as workflow commands of GitHub Actions, which
// shows them beside the change: an error for each that counts against the
// target and for each stale entry of the baseline, a warning for the other
// warnings; what is known is left out. A finding that is the same in several
// revisions is told once. source is the file that they are shown at, "" for
// none. GitHub shows ten of each kind; where there are more the tenth says how
// many.
func Annotations(w io.Writer, r *result.Report, source string) error {
	var b strings.Builder
	counts := map[string]int{}
	put := func(kind, title, text string) {
		counts[kind]++
		if counts[kind] >= mostAnnotations {
			return
		}
		props := "title=" + escapeProperty(plain(title))
		if source != "" {
			props = "file=" + escapeProperty(source) + "," + props
		}
		fmt.Fprintf(&b, "::%s %s::%s\n", kind, props, escapeData(plain(text)))
	}
	for _, v := range []result.Verdict{result.Fail, result.Warn} {
		for _, g := range groups(r, v) {
			c := g.check
			if c.Known != "" {
				continue
			}
			kind := "warning"
			if r.Breaks(c) {
				kind = "error"
			}
			text := c.Sentence
			for _, part := range [][2]string{{"expected", c.Expected}, {"observed", c.Observed}, {"", c.URL}} {
				if part[1] != "" {
					text += "\n" + strings.TrimPrefix(part[0]+": "+part[1], ": ")
				}
			}
			put(kind, string(c.Verdict)+" "+c.ID+" ("+strings.Join(g.revisions, ", ")+")", strings.TrimSpace(text))
		}
	}
	for _, s := range r.Stale {
		put("error", "stale "+s.Check, s.File+": "+s.Why)
	}
	if r.Error != nil {
		put("error", "goldwire came to no verdicts", r.Error.Message)
	} else if code := ExitCode(r); code == ExitNoResult {
		headline, why := Outcome(r)
		put("error", headline, why)
	}
	for _, kind := range []string{"error", "warning"} {
		if n := counts[kind] - mostAnnotations + 1; n > 0 {
			fmt.Fprintf(&b, "::%s title=goldwire::%d more in the report\n", kind, n)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// What GitHub's runner turns back.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
