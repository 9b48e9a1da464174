// Package catalogue holds the requirements of the Model Context Protocol
// that Goldwire knows: one sentence each in our own words, with level, side,
// transport, revisions and the place in the specification. The
// specification is authoritative, a sentence only says what to look for.
package catalogue

import (
	"errors"
	"iter"
)

// Level is the weight of a requirement.
type Level string

// The levels of RFC 2119 that the specification uses.
const (
	Must      Level = "MUST"
	MustNot   Level = "MUST NOT"
	Should    Level = "SHOULD"
	ShouldNot Level = "SHOULD NOT"
	May       Level = "MAY"
)

// Side is who has to comply.
type Side string

// Sides.
const (
	Server Side = "server"
	Client Side = "client"
	Both   Side = "both"
)

// Transport is the carrier that a requirement is about.
type Transport string

// Transports.
const (
	Any   Transport = "any"
	Stdio Transport = "stdio"
	HTTP  Transport = "http" // Streamable HTTP
	SSE   Transport = "sse"  // the HTTP+SSE of 2024-11-05
)

// Basis says what gives a requirement its weight.
type Basis string

// Bases. What rests on Implied or Lowercase only ever warns.
const (
	Keyword   Basis = "keyword"   // an upper-case key word on a page
	Lowercase Basis = "lowercase" // should or must without capitals
	Schema    Basis = "schema"    // a type or comment of the schema
	JSONRPC   Basis = "jsonrpc"   // inherited from JSON-RPC 2.0
	RFC       Basis = "rfc"       // inherited from an RFC that a page incorporates
	Implied   Basis = "implied"   // follows from descriptive text or another requirement
)

// Observe says how a violation can be seen from outside.
type Observe string

// Ways to see a violation.
const (
	Active        Observe = "active"         // provoked by a probe, nothing special needed
	Passive       Observe = "passive"        // visible in any traffic
	NeedsFixture  Observe = "needs-fixture"  // the peer must offer something particular
	NotObservable Observe = "not-observable" // does not show on the wire
)

// Requirement is one entry.
type Requirement struct {
	ID        string // legacy/<name> or modern/<name>
	Level     Level
	Side      Side
	Transport Transport
	Since     string // first revision it holds in
	Until     string // last revision it holds in
	Basis     Basis
	Observe   Observe
	Sentence  string // what has to hold, in one plain sentence
	Page      string // page#anchor in the specification of Until
	PageSince string // the same for Since when it differs, or ""
}

// Area is the first word of the name: tools for legacy/tools-unknown-tool.
func (r Requirement) Area() string { return "" }

// Warns reports whether breaking the requirement is a warning, not a
// failure: SHOULD levels, and whatever rests on Implied or Lowercase.
func (r Requirement) Warns() bool { return false }

// Applies reports whether the requirement binds that side in that revision.
// An empty argument matches everything; side Both matches everything.
func (r Requirement) Applies(revision string, side Side) bool { return false }

// Carries reports whether the requirement is about that transport.
func (r Requirement) Carries(t Transport) bool { return false }

// URL is the place in the specification of that revision ("": Until).
func (r Requirement) URL(revision string) string { return "" }

// Lookup finds a requirement by its id.
func Lookup(id string) (Requirement, bool) { return Requirement{}, false }

// All yields every requirement, legacy first, in the order of the files.
func All() iter.Seq[Requirement] { return func(func(Requirement) bool) {} }

// Select yields those that apply to that revision and side; see Applies.
func Select(revision string, side Side) iter.Seq[Requirement] { return func(func(Requirement) bool) {} }

// Load reads the embedded files and reports what is wrong with them. The
// other functions call it; a test holds that it never fails.
func Load() error { return errors.ErrUnsupported }
