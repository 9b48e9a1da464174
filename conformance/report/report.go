// Package report prints what a run found: as text for people and as JSON for
// programs, both from the one model in package result.
package report

import "github.com/goldwire/goldwire/conformance/result"

// Exit codes of a run that came to an end. Usage errors (2) and a target that
// could not be started (3) are the command's to tell.
const (
	ExitConformant = 0 // nothing is broken that has to hold, and all of it was judged
	ExitBroken     = 1 // at least one fail
	ExitNoResult   = 5 // the checker failed somewhere, saw nothing it could judge, or could not judge all that has to hold
)

// ExitCode is the exit code that a report calls for. An error of the checker
// outweighs everything: the report is not complete, so neither a clean bill
// nor a list of failures is the whole truth. Warnings do not count. Where
// nothing failed, but a check was blocked whose rule is a MUST, nobody can say
// that the target conforms: there is no result. A run that came to no verdicts
// says its code itself.
func ExitCode(r *result.Report) int {
	s := r.Summary()
	switch {
	case r.Error != nil:
		return r.Error.ExitCode
	case s[result.Error] > 0 || s[result.Pass]+s[result.Fail]+s[result.Warn] == 0:
		return ExitNoResult
	case s[result.Fail] > 0:
		return ExitBroken
	case r.Unjudged() > 0:
		return ExitNoResult
	}
	return ExitConformant
}
