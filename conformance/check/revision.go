package check

import (
	"slices"

	"github.com/goldwire/goldwire/runtime/revision"
)

// revisions are those that checks exist for, oldest first.
var revisions = revision.All()

// Ends of the eras, and revisions that brought what checks look at.
const (
	firstLegacy = revision.V20241105
	lastLegacy  = revision.V20251125
	firstModern = revision.V20260728

	rev2025March    = revision.V20250326 // batches, audio, completions as a capability
	rev2025June     = revision.V20250618 // elicitation, structured content, links to resources
	rev2025November = revision.V20251125 // tasks, richer forms, icons
)

// Modern reports whether a revision is stateless: no handshake, and each
// request says which revision it speaks.
func Modern(rev string) bool { return AtLeast(rev, firstModern) }

// AtLeast reports whether rev is floor or a later revision.
func AtLeast(rev, floor string) bool { return revision.Compare(rev, floor) >= 0 }

// Revisions lists the revisions that checks exist for, oldest first.
func Revisions() []string { return slices.Clone(revisions) }
