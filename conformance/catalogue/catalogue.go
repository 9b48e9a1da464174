// Package catalogue holds the requirements of the Model Context Protocol
// that Goldwire knows: one sentence each, in our own words, with level, side,
// transport, revisions and the place in the specification. The specification
// is authoritative; a sentence only says what to look for.
//
// An id is legacy/<name> for the stateful revisions up to 2025-11-25 and
// modern/<name> for 2026-07-28 and later; some names exist in both. The files
// are named <era>-<part>.yaml and each is a list of entries:
//
//   - id: tools-unknown-tool
//     level: MUST
//     side: server
//     transport: any          # left out: any
//     since: "2024-11-05"     # left out: the first revision of the era
//     until: "2025-06-18"     # left out: the last revision of the era
//     basis: keyword          # left out: keyword
//     observe: active
//     page: server/tools#error-handling
//     page-since: …           # the place in the revision since, when another
//     text: What has to hold.
//     why: needs …            # what a check would need, or why none can see it
//
// Every entry that is needs-fixture or not-observable says why; an active or
// passive one does only where in truth a checker cannot judge it. The reason
// begins with needs where something is missing that a peer could have.
package catalogue

import (
	"embed"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"github.com/goldwire/goldwire/runtime/revision"
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
	PageSince string // the same for Since where it differs, or ""
	Why       string // what a check "needs …" that a peer need not have, or why none can see it; or ""
}

// Area is the part of the protocol that the requirement is about; see AreaOf.
func (r Requirement) Area() string { return AreaOf(r.ID) }

// AreaOf is the part of the protocol that an id is about: its first word after
// the era, tools for legacy/tools-unknown-tool. Areas for which
// the ids use several words, or a short one, have one full name all the same:
// resources for res, pagination for page.
func AreaOf(id string) string {
	if i := strings.LastIndexByte(id, '/'); i >= 0 {
		id = id[i+1:]
	}
	area, _, _ := strings.Cut(id, "-")
	if long, ok := areas[area]; ok {
		return long
	}
	return area
}

var areas = map[string]string{
	"res": "resources", "page": "pagination", "log": "logging", "icon": "icons", "capabilities": "capability",
	"sub": "subscriptions", "hdr": "headers", "xhdr": "headers", "ext": "extensions",
}

// Warns reports whether breaking the requirement is a warning and not a
// failure: the SHOULD levels, and whatever rests on Implied or Lowercase.
func (r Requirement) Warns() bool {
	return r.Level == Should || r.Level == ShouldNot || r.Basis == Implied || r.Basis == Lowercase
}

// Needs reports whether the requirement could be judged if a peer had what Why
// says.
func (r Requirement) Needs() bool { return strings.HasPrefix(r.Why, "needs ") }

// Applies reports whether the requirement binds that side in that revision.
// An empty argument matches everything, and so does Both, on either hand.
func (r Requirement) Applies(rev string, side Side) bool {
	if rev != "" && (!revision.Known(rev) || revision.Compare(rev, r.Since) < 0 || revision.Compare(rev, r.Until) > 0) {
		return false
	}
	return side == "" || side == Both || r.Side == Both || r.Side == side
}

// Carries reports whether the requirement is about traffic over t.
func (r Requirement) Carries(t Transport) bool {
	return t == "" || t == Any || r.Transport == Any || r.Transport == t
}

// Where the specification is published, and the source of the schemas that
// are older than its schema page.
const (
	site    = "https://modelcontextprotocol.io/specification/"
	schemas = "https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/schema/"
)

// URL is the place in the specification of that revision; "" stands for the
// last revision the requirement holds in. Where an anchor was named
// differently in a revision between the first and the last, the page is right
// and the anchor that of a neighbour.
func (r Requirement) URL(rev string) string {
	if rev == "" || !r.Applies(rev, "") {
		rev = r.Until
	}
	page := r.Page
	isSchema := strings.HasPrefix(page, "schema#") || strings.HasPrefix(r.PageSince, "schema#")
	if r.PageSince != "" && (rev == r.Since || isSchema && rev != r.Until) {
		page = r.PageSince
	}
	page, anchor, _ := strings.Cut(page, "#")
	if page == "schema" && revision.Known(rev) && revision.Compare(rev, revision.V20250618) < 0 {
		return schemas + rev + "/schema.ts"
	}
	page = strings.TrimSuffix(page, "/index")
	if anchor == "" || anchor == "top" {
		return site + rev + "/" + page
	}
	return site + rev + "/" + page + "#" + anchor
}

//go:embed *.yaml
var files embed.FS

// entry is a Requirement as the files hold it.
type entry struct {
	ID        string `yaml:"id"`
	Level     string `yaml:"level"`
	Side      string `yaml:"side"`
	Transport string `yaml:"transport"`
	Since     string `yaml:"since"`
	Until     string `yaml:"until"`
	Basis     string `yaml:"basis"`
	Observe   string `yaml:"observe"`
	Page      string `yaml:"page"`
	PageSince string `yaml:"page-since"`
	Text      string `yaml:"text"`
	Why       string `yaml:"why"`
}

type index struct {
	all  []Requirement
	byID map[string]int
	err  error
}

var load = sync.OnceValue(func() index {
	x := index{byID: map[string]int{}}
	names, err := files.ReadDir(".")
	if err != nil {
		x.err = err
		return x
	}
	// ReadDir sorts by name, so that legacy stands before modern.
	for _, f := range names {
		b, err := files.ReadFile(f.Name())
		if err == nil {
			err = x.read(f.Name(), b)
		}
		if err != nil {
			x.err = errors.Join(x.err, fmt.Errorf("%s: %w", f.Name(), err))
		}
	}
	return x
})

// read adds the entries of one file.
func (x *index) read(name string, b []byte) error {
	era, _, ok := strings.Cut(name, "-")
	first, last := "", ""
	switch {
	case ok && era == "legacy":
		first, last = revision.Stateful()[0], revision.LatestStateful()
	case ok && era == "modern":
		first, last = revision.Stateless()[0], revision.Latest
	default:
		return errors.New("the name does not start with legacy- or modern-")
	}
	var es []entry
	if err := yaml.UnmarshalWithOptions(b, &es, yaml.Strict()); err != nil {
		return err
	}
	for _, e := range es {
		r := Requirement{
			ID:        era + "/" + e.ID,
			Level:     Level(e.Level),
			Side:      Side(e.Side),
			Transport: Transport(or(e.Transport, string(Any))),
			Since:     or(e.Since, first),
			Until:     or(e.Until, last),
			Basis:     Basis(or(e.Basis, string(Keyword))),
			Observe:   Observe(e.Observe),
			Sentence:  e.Text,
			Page:      e.Page,
			PageSince: e.PageSince,
			Why:       e.Why,
		}
		if _, dup := x.byID[r.ID]; dup {
			return fmt.Errorf("%s: there are two entries of that id", r.ID)
		}
		if err := r.check(); err != nil {
			return fmt.Errorf("%s: %w", r.ID, err)
		}
		x.byID[r.ID] = len(x.all)
		x.all = append(x.all, r)
	}
	return nil
}

// check holds what every entry satisfies.
func (r *Requirement) check() error {
	switch {
	case !slices.Contains([]Level{Must, MustNot, Should, ShouldNot, May}, r.Level):
		return fmt.Errorf("level %q is not known", r.Level)
	case !slices.Contains([]Side{Server, Client, Both}, r.Side):
		return fmt.Errorf("side %q is not known", r.Side)
	case !slices.Contains([]Transport{Any, Stdio, HTTP, SSE}, r.Transport):
		return fmt.Errorf("transport %q is not known", r.Transport)
	case !slices.Contains([]Basis{Keyword, Lowercase, Schema, JSONRPC, RFC, Implied}, r.Basis):
		return fmt.Errorf("basis %q is not known", r.Basis)
	case !slices.Contains([]Observe{Active, Passive, NeedsFixture, NotObservable}, r.Observe):
		return fmt.Errorf("observe %q is not known", r.Observe)
	case !revision.Known(r.Since) || !revision.Known(r.Until) || revision.Compare(r.Since, r.Until) > 0:
		return fmt.Errorf("no revisions lie between %q and %q", r.Since, r.Until)
	case r.Page == "":
		return errors.New("the place in the specification is missing")
	case r.Sentence == "" || strings.ContainsAny(r.Sentence, "\n\t"):
		return errors.New("the sentence is missing or not one line")
	case strings.ContainsAny(r.Why, "\n\t"):
		return errors.New("the reason is not one line")
	case r.Observe == NeedsFixture && r.Why != "" && !r.Needs():
		return errors.New("the reason does not say what it needs")
	case r.Why == "" && (r.Observe == NeedsFixture || r.Observe == NotObservable):
		return fmt.Errorf("the reason is missing that makes it %s", r.Observe)
	}
	return nil
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// Lookup finds a requirement by its id.
func Lookup(id string) (Requirement, bool) {
	x := load()
	i, ok := x.byID[id]
	if !ok {
		return Requirement{}, false
	}
	return x.all[i], true
}

// All yields every requirement, those of the stateful revisions first, in
// the order of the files.
func All() iter.Seq[Requirement] { return slices.Values(load().all) }

// Select yields those that apply to that revision and side; see
// Requirement.Applies.
func Select(rev string, side Side) iter.Seq[Requirement] {
	return func(yield func(Requirement) bool) {
		for _, r := range load().all {
			if r.Applies(rev, side) && !yield(r) {
				return
			}
		}
	}
}

// Load reads the embedded files and reports what is wrong with them. The
// other functions do the same and leave out what cannot be read; a test holds
// that nothing is.
func Load() error { return load().err }
