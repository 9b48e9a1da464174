package replay

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goldwire/goldwire/conformance/transcript"
)

// Kind of a problem.
type Kind string

// Kinds of problems.
const (
	Missing  Kind = "missing"  // a line of the transcript never came
	Mismatch Kind = "mismatch" // the line that came in its place differs
	Extra    Kind = "extra"    // a line came that the transcript does not have
	Order    Kind = "order"    // a line came before one that has to come first
	Stopped  Kind = "stopped"  // the replay could not go on
)

// Problem is one difference between the transcript and what happened.
type Problem struct {
	Kind   Kind
	Event  int    // index in the events of the transcript played; -1 when it has no such line
	Golden string // that line
	Seen   int    // index in the events of the outcome's recording; -1 when nothing came
	Got    string // that line
	Err    error  // why: a *match.Error for a mismatch
}

// Error tells the problem on a few lines: what was wanted, what came, why.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(string(p.Kind))
	if p.Err != nil {
		b.WriteString(": ")
		b.WriteString(p.Err.Error())
	}
	if p.Golden != "" {
		b.WriteString("\n  want ")
		b.WriteString(short(p.Golden))
	}
	if p.Got != "" {
		b.WriteString("\n  got  ")
		b.WriteString(short(p.Got))
	}
	return b.String()
}

// Unwrap returns why.
func (p *Problem) Unwrap() error { return p.Err }

func short(s string) string {
	const most = 2000
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("… (%d bytes)", len(s))
}

// Outcome is what a replay found.
type Outcome struct {
	Recording *transcript.Recording // what happened
	Updated   *transcript.Recording // the transcript with what the peer said now in the place of what it should have said; nil when the replay was stopped
	Problems  []Problem             // in the order in which they were found
	More      int                   // further problems that are not listed
	Sent      int                   // lines that were sent
	Matched   int                   // lines that came as the transcript has them
	Unplayed  int                   // lines, either way, that the replay did not reach
	End       string                // how the peer ended, with the end of its standard error; "" when it was not seen to
}

// Err is nil when the peer did all that the transcript has, and nothing else;
// or an error that lists the problems.
func (o *Outcome) Err() error {
	if len(o.Problems) == 0 {
		return nil
	}
	var b strings.Builder
	for i := range o.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(o.Problems[i].Error())
	}
	if o.More > 0 {
		fmt.Fprintf(&b, "\nand %d more", o.More)
	}
	if o.Unplayed > 0 {
		fmt.Fprintf(&b, "\n%d lines of the transcript were not reached", o.Unplayed)
	}
	if o.End != "" {
		b.WriteString("\nthe peer: " + o.End)
	}
	return errors.New(b.String())
}
