package check

import "slices"

// revisions in order. The first four keep a session, the others do not.
var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

const (
	firstLegacy = "2024-11-05"
	lastLegacy  = "2025-11-25"
	firstModern = "2026-07-28"
)

// Modern reports whether a revision is stateless: no handshake, and each
// request says which revision it speaks.
func Modern(rev string) bool { return AtLeast(rev, firstModern) }

// AtLeast reports whether rev is floor or a later revision.
func AtLeast(rev, floor string) bool {
	return slices.Index(revisions, rev) >= slices.Index(revisions, floor)
}

// Revisions lists the revisions that checks exist for, oldest first.
func Revisions() []string { return slices.Clone(revisions) }
