// Package delta compares the models of two revisions and says of every change
// what it means: for Go code that was written against the older package, for
// peers that speak the other revision, and for values that are converted from
// one to the other.
//
// The comparison is complete. Whatever differs between two models is either a
// change with a kind of its own, or a part of the model that a table here
// names as no change, with the reason; anything else is an
// [UnclassifiedError], so a new construct cannot pass in silence.
package delta

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
)

// Delta is what changed from an older model to a newer one.
type Delta struct {
	Older       Side          `json:"older"`
	Newer       Side          `json:"newer"`
	Counts      Counts        `json:"counts"`
	Changes     []*Change     `json:"changes"`     // by group, subject, kind and member
	Conversions []*Conversion `json:"conversions"` // of the changed types, by name
}

// Side is one of the two models.
type Side struct {
	Revision  string `json:"revision"`
	Schema    string `json:"schema"` // the file that the model was made from
	SHA256    string `json:"sha256"` // of that file, in hex
	Stateless bool   `json:"stateless"`
}

// Counts are numbers of payload types (those that have values on the wire:
// neither aliases nor interfaces), of messages, and of changes.
type Counts struct {
	TypesOlder   int `json:"typesOlder"`
	TypesNewer   int `json:"typesNewer"`
	Same         int `json:"typesSame"`    // in both, and nothing that they hold changed
	Changed      int `json:"typesChanged"` // in both, themselves or what they hold changed on the wire
	Added        int `json:"typesAdded"`
	Removed      int `json:"typesRemoved"`
	Renamed      int `json:"typesRenamed"` // among those in both
	MethodsOlder int `json:"methodsOlder"` // requests and notifications
	MethodsNewer int `json:"methodsNewer"`
	Breaking     int `json:"changesThatBreakCode"`
	OldRefuse    int `json:"changesThatOldPeersRefuse"` // wholly or for some values
	NewRefuse    int `json:"changesThatNewPeersRefuse"` // the same for what old peers send
}

// Group is what a change is about.
type Group string

// The groups, in the order of the changes.
const (
	Handshake     Group = "handshake"
	Methods       Group = "methods"
	Notifications Group = "notifications"
	Capabilities  Group = "capabilities"
	Types         Group = "types"
	Errors        Group = "errors"
	Constants     Group = "constants"
)

var groups = []Group{Handshake, Methods, Notifications, Capabilities, Types, Errors, Constants}

// Kind is the kind of a change.
type Kind string

// The kinds of changes. What Member, Older and Newer of the [Change] hold is
// said behind each; where nothing is said they are empty.
const (
	HandshakeChanged Kind = "handshake-changed" // Older, Newer: "initialize" or "stateless"

	MethodAdded       Kind = "method-added"         // Newer: who sends it; of a notification too
	MethodRemoved     Kind = "method-removed"       // Older: who sent it
	DirectionChanged  Kind = "direction-changed"    // who sends it
	ParamsChanged     Kind = "params-changed"       // the types
	ParamsMadeReq     Kind = "params-made-required" //
	ParamsMadeOpt     Kind = "params-made-optional" //
	ResultChanged     Kind = "result-changed"       // the types
	OutcomeAdded      Kind = "outcome-added"        // Member: what a request may give besides its result
	OutcomeRemoved    Kind = "outcome-removed"      // Member
	PagesChanged      Kind = "pages-changed"        // what the pages hold, "" for none
	NeedAdded         Kind = "need-added"           // Member: the side and the capability that the method needs
	NeedRemoved       Kind = "need-removed"         // Member
	GateAdded         Kind = "gate-added"           // Member: a capability that some params need, and which
	GateRemoved       Kind = "gate-removed"         // Member
	LifecycleChanged  Kind = "lifecycle-changed"    // "runtime" or "func": who answers it
	EmbeddedChanged   Kind = "embedded-changed"     // "message" or "embedded": whether it travels by itself
	MethodKindChanged Kind = "message-kind-changed" // "request" or "notification"

	CapabilityAdded   Kind = "capability-added"   // Subject: the side and the path
	CapabilityRemoved Kind = "capability-removed" // Subject
	FlagAdded         Kind = "flag-added"         // Subject: a field of Server or Client says that it is offered
	FlagRemoved       Kind = "flag-removed"       // Subject: there is no such field any more

	TypeAdded     Kind = "type-added"      // Newer: struct, enum, union, …
	TypeRemoved   Kind = "type-removed"    // Older
	TypeRenamed   Kind = "type-renamed"    // the Go names; Subject is the newer
	KindChanged   Kind = "kind-changed"    // struct, enum, union, …
	ClosedChanged Kind = "closed-changed"  // "open" or "closed": whether unknown members are allowed
	TargetChanged Kind = "target-changed"  // of an alias: the types
	ElemChanged   Kind = "element-changed" // of a named map or a one-or-many: the types

	MemberAdded    Kind = "member-added"    // Member; Newer: its type, with ! when it is required
	MemberRemoved  Kind = "member-removed"  // Member; Older
	MadeRequired   Kind = "made-required"   // Member
	MadeOptional   Kind = "made-optional"   // Member
	TypeChanged    Kind = "type-changed"    // Member; the types
	ConstChanged   Kind = "const-changed"   // Member; the constants, "" for none
	DefaultChanged Kind = "default-changed" // Member; what a lenient reader takes when it is missing
	ImpliedChanged Kind = "implied-changed" // Member; what absence stands for
	BoundsChanged  Kind = "bounds-changed"  // Member; the bounds
	FormatChanged  Kind = "format-changed"  // Member; the formats
	GoNameChanged  Kind = "go-name-changed" // Member, if it is one's; the Go names; of a method too

	ValueAdded   Kind = "value-added"    // Member: the value of an enum
	ValueRemoved Kind = "value-removed"  // Member
	ValueRenamed Kind = "value-renamed"  // Member; the Go names
	OrderChanged Kind = "order-changed"  // the common values in their order
	OpenChanged  Kind = "open-changed"   // "open" or "closed": whether the schema allows other values
	ArmAdded     Kind = "arm-added"      // Member: the type that a union may be
	ArmRemoved   Kind = "arm-removed"    // Member
	PlanChanged  Kind = "plan-changed"   // how the members of a union are told apart
	RawAdded     Kind = "raw-added"      // Member: a JSON kind that a raw union may be
	RawRemoved   Kind = "raw-removed"    // Member
	AccessorLost Kind = "accessor-lost"  // Member: a Go method that the type has no more
	GetterAdded  Kind = "getter-added"   // Member: of a Go interface
	GetterGone   Kind = "getter-removed" // Member
	ImplAdded    Kind = "impl-added"     // Member: a type that meets a Go interface
	ImplGone     Kind = "impl-removed"   // Member

	Deprecated   Kind = "deprecated"   // Member, if it is one's
	Undeprecated Kind = "undeprecated" // Member, if it is one's

	ErrorAdded   Kind = "error-added"   // Newer: the code
	ErrorRemoved Kind = "error-removed" // Older: the code
	CodeChanged  Kind = "code-changed"  // the codes
	DataChanged  Kind = "data-changed"  // the types of an error's data, "" when it is free

	ConstantAdded   Kind = "constant-added"   // Newer: the value
	ConstantRemoved Kind = "constant-removed" // Older: the value
	ConstantChanged Kind = "constant-changed" // the values
)

// Code says whether Go code that compiles against the older package, with
// keyed literals, compiles against the newer one.
type Code string

// What a change does to old code.
const (
	Compiles Code = "compiles"
	Breaks   Code = "breaks" // where it uses what changed
)

// Reads says how a peer of one revision takes messages of the other, by what
// the schemas allow. A lenient reader may make more of them.
type Reads string

// How a peer takes messages of the other revision.
const (
	ReadsAll  Reads = "yes"     // nothing in them is new to it
	ReadsPart Reads = "ignores" // it takes them and passes over what is new
	ReadsSome Reads = "some"    // there are messages that it refuses or misunderstands
	ReadsNone Reads = "no"      // it refuses every message that holds the change
)

// Change is one difference.
type Change struct {
	Group       Group  `json:"group"`
	Kind        Kind   `json:"kind"`
	Subject     string `json:"subject"`          // Go name of a type, method name, "server tools.listChanged", name of an error or constant
	Member      string `json:"member,omitempty"` // what of the subject changed, see the kind
	Older       string `json:"older,omitempty"`
	Newer       string `json:"newer,omitempty"`
	Sender      string `json:"sender,omitempty"` // who puts it on the wire: "client", "server", "either"; "" when that has no meaning
	Code        Code   `json:"code"`
	OldReadsNew Reads  `json:"oldReadsNew"`    // old peers, of new messages
	NewReadsOld Reads  `json:"newReadsOld"`    // new peers, of old messages
	Up          Class  `json:"up,omitempty"`   // converting older values to newer ones; "" when there are no values
	Down        Class  `json:"down,omitempty"` // converting newer values to older ones
	Note        string `json:"note,omitempty"` // what the other fields do not say
}

// Conversion is what converting the values of a type means, with all that they hold.
type Conversion struct {
	Type       string `json:"type"`            // Go name in the newer package
	Older      string `json:"older,omitempty"` // Go name in the older one, if another
	Up         Class  `json:"up"`              // older to newer
	Down       Class  `json:"down"`
	NestedUp   bool   `json:"nestedUp,omitempty"`   // Up has letters that only types inside give it
	NestedDown bool   `json:"nestedDown,omitempty"` // the same for Down
}

// UnclassifiedError says that two models differ in a way that this package has no kind for.
type UnclassifiedError struct {
	Subject string // the type, method, … and member
	Part    string // the part of the model, "Field.Min"
	Older   string // its values
	Newer   string
}

// Error names subject, part and both values.
func (e *UnclassifiedError) Error() string {
	return fmt.Sprintf("%s: the change of %s from %s to %s has no class: add a kind for it to gen/delta", e.Subject, e.Part, e.Older, e.Newer)
}

// Compare finds and classifies all changes from older to newer. Neither model
// is changed. The same models always give the same delta.
func Compare(older, newer *ir.Package) (*Delta, error) {
	names := renames(older, newer)
	c := &comparer{
		older: index(renamed(older, names)), newer: index(newer),
		was: map[string]string{},
		d: &Delta{
			Older: Side{older.Revision, older.Source, older.SourceHash, older.Stateless},
			Newer: Side{newer.Revision, newer.Source, newer.SourceHash, newer.Stateless},
		},
	}
	for o, n := range names {
		c.was[n] = o
	}
	for _, step := range []func() error{c.packages, c.methods, c.capabilities, c.types, c.errors, c.constants} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(c.d.Changes, func(x, y *Change) int {
		return cmp.Or(
			cmp.Compare(slices.Index(groups, x.Group), slices.Index(groups, y.Group)),
			strings.Compare(x.Subject, y.Subject),
			strings.Compare(string(x.Kind), string(y.Kind)),
			strings.Compare(x.Member, y.Member),
		)
	})
	c.compose()
	c.count()
	return c.d, nil
}

// comparer compares two packages whose renamed types have one name.
type comparer struct {
	older, newer *pkg
	was          map[string]string // Go name in the newer package -> name in the older one, of renamed types
	d            *Delta
}

// pkg is a package with an index.
type pkg struct {
	*ir.Package
	byName map[string]*ir.Type
}

func index(p *ir.Package) *pkg {
	out := &pkg{p, map[string]*ir.Type{}}
	for _, t := range p.Types {
		out.byName[t.Name] = t
	}
	return out
}

// typ is the type of a name, aliases followed; nil if there is none.
func (p *pkg) typ(name string) *ir.Type {
	t := p.byName[name]
	for i := 0; t != nil && t.Kind == ir.Alias && i < 16; i++ {
		t = p.byName[t.Target]
	}
	return t
}

// found is the changes of one subject, for the check that nothing was missed.
type found struct {
	c       *comparer
	group   Group
	subject string
	sender  string
	kinds   map[string][]Kind // by member
}

func (c *comparer) subject(g Group, subject, sender string) *found {
	return &found{c, g, subject, sender, map[string][]Kind{}}
}

// add notes a change.
func (f *found) add(ch Change) {
	ch.Group, ch.Subject = f.group, f.subject
	if ch.Sender == "" {
		ch.Sender = f.sender
	}
	f.kinds[ch.Member] = append(f.kinds[ch.Member], ch.Kind)
	f.c.d.Changes = append(f.c.d.Changes, &ch)
}

// has says whether a member has a change of one of the kinds; "*" is any member.
func (f *found) has(member string, kinds ...Kind) bool {
	for m, have := range f.kinds {
		if member != "*" && member != m {
			continue
		}
		if slices.ContainsFunc(have, func(k Kind) bool { return slices.Contains(kinds, k) }) {
			return true
		}
	}
	return false
}

// packages compares what the packages say of themselves.
func (c *comparer) packages() error {
	f := c.subject(Handshake, "handshake", "")
	if o, n := c.older.Stateless, c.newer.Stateless; o != n {
		f.add(Change{
			Kind: HandshakeChanged, Older: handshake(o), Newer: handshake(n),
			Code: Breaks, OldReadsNew: ReadsNone, NewReadsOld: ReadsNone,
			Note: "what handlers can ask of their peer, and how a connection begins, is another",
		})
	}
	return f.explain("", c.older.Package, c.newer.Package)
}

func handshake(stateless bool) string {
	if stateless {
		return "stateless"
	}
	return "initialize"
}

// both pairs what two lists have by key, in the order of the keys.
func both[T any](older, newer []T, key func(T) string, f func(k string, o, n T) error) error {
	type pair struct{ o, n T }
	all := map[string]pair{}
	for _, o := range older {
		all[key(o)] = pair{o: o}
	}
	for _, n := range newer {
		p := all[key(n)]
		p.n = n
		all[key(n)] = p
	}
	keys := make([]string, 0, len(all))
	for k := range all {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if err := f(k, all[k].o, all[k].n); err != nil {
			return err
		}
	}
	return nil
}

// errors compares the error types.
func (c *comparer) errors() error {
	return both(c.older.Errors, c.newer.Errors, func(e *ir.Error) string { return e.Name }, func(name string, o, n *ir.Error) error {
		f := c.subject(Errors, name, "either")
		switch {
		case o == nil:
			f.add(Change{Kind: ErrorAdded, Newer: fmt.Sprint(n.Code), Code: Compiles, OldReadsNew: ReadsPart, NewReadsOld: ReadsAll})
			return nil
		case n == nil:
			f.add(Change{Kind: ErrorRemoved, Older: fmt.Sprint(o.Code), Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsPart})
			return nil
		}
		if o.Code != n.Code {
			f.add(Change{Kind: CodeChanged, Older: fmt.Sprint(o.Code), Newer: fmt.Sprint(n.Code), Code: Compiles, OldReadsNew: ReadsSome, NewReadsOld: ReadsSome})
		}
		if o.Data != n.Data {
			f.add(Change{Kind: DataChanged, Older: o.Data, Newer: n.Data, Code: Breaks, OldReadsNew: ReadsSome, NewReadsOld: ReadsSome})
		}
		return f.explain("", o, n)
	})
}

// constants compares the named constants.
func (c *comparer) constants() error {
	return both(c.older.Consts, c.newer.Consts, func(k *ir.Const) string { return k.Name }, func(name string, o, n *ir.Const) error {
		f := c.subject(Constants, name, "")
		switch {
		case o == nil:
			f.add(Change{Kind: ConstantAdded, Newer: n.Value, Code: Compiles, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll})
			return nil
		case n == nil:
			f.add(Change{Kind: ConstantRemoved, Older: o.Value, Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll})
			return nil
		}
		if o.Value != n.Value {
			f.add(Change{Kind: ConstantChanged, Older: o.Value, Newer: n.Value, Code: Compiles, OldReadsNew: ReadsSome, NewReadsOld: ReadsSome})
		}
		return f.explain("", o, n)
	})
}

// count fills in the numbers.
func (c *comparer) count() {
	n := &c.d.Counts
	payload := func(p *pkg) (n int) {
		for _, t := range p.Types {
			if isPayload(t) {
				n++
			}
		}
		return n
	}
	n.TypesOlder, n.TypesNewer = payload(c.older), payload(c.newer)
	n.MethodsOlder, n.MethodsNewer = len(c.older.Methods), len(c.newer.Methods)
	n.Changed = len(c.d.Conversions)
	for _, ch := range c.d.Changes {
		switch ch.Kind {
		case TypeAdded:
			if isPayload(c.newer.byName[ch.Subject]) {
				n.Added++
			}
		case TypeRemoved:
			if isPayload(c.older.byName[ch.Subject]) {
				n.Removed++
			}
		case TypeRenamed:
			n.Renamed++
		}
		if ch.Code == Breaks {
			n.Breaking++
		}
		if ch.OldReadsNew == ReadsSome || ch.OldReadsNew == ReadsNone {
			n.OldRefuse++
		}
		if ch.NewReadsOld == ReadsSome || ch.NewReadsOld == ReadsNone {
			n.NewRefuse++
		}
	}
	n.Same = n.TypesOlder - n.Removed - n.Changed
}

// isPayload says whether a type has values on the wire.
func isPayload(t *ir.Type) bool { return t != nil && t.Kind != ir.Alias && t.Kind != ir.Interface }
