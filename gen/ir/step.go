package ir

// StepPackage is the conversions between two revisions that follow one another.
type StepPackage struct {
	Older, Newer *Package
	Name         string // the Go package name, "step20251125"
	Dir          string // its folder below generated/, "mcp/step20251125"
	Up, Down     []*Way // of the types that both have, ordered by their names in the newer revision
	Hand         []*Hand
}

// WayKind says how values of a type are converted.
type WayKind int

// The kinds of ways.
const (
	Share     WayKind = iota // the Go types have the same fields: a Go conversion
	ByMember                 // Moves, one after the other
	ByArm                    // a union: ArmMoves
	EachElem                 // a named map: Elem
	Items                    // one or many in both: Elem
	CheckRaw                 // a raw union that may hold less: To.Raws
	CastEnum                 // an open string type
	WholeHand                // a function that a person writes
)

// Way is the conversion of one type in one direction.
type Way struct {
	Up       bool
	From, To *Type
	Kind     WayKind
	Moves    []*Move
	Takes    []*Field // members of To that From does not name: an unknown member may be one
	ArmMoves []*ArmMove
	Elem     *Conv
	Sure     bool // it can neither fail nor lose anything
	Omits    bool // the whole value may be one that the target cannot say
}

// MoveKind says what becomes of a member.
type MoveKind int

// The kinds of moves.
const (
	Convert     MoveKind = iota // From to To by Conv
	DropMember                  // To does not name From: a loss, unless it says what its absence says
	MustDefault                 // To does not name From, and the value cannot be said unless it is the default
	SetDefault                  // From does not name To, which has a default
	HandMember                  // a function that a person writes, after all others
)

// Move is what becomes of one member.
type Move struct {
	Kind     MoveKind
	From, To *Field
	Conv     *Conv
}

// ArmMove is what becomes of one arm of a union. To is nil where a person
// writes the function.
type ArmMove struct {
	From string
	Way  *Way
}

// ConvKind says how a value is converted.
type ConvKind int

// The kinds of conversions.
const (
	Assign     ConvKind = iota // the Go types are the same
	Cast                       // a Go conversion
	Call                       // the function of Way
	EachOf                     // a list or map of Elem
	ToRaw                      // a struct, as a raw object
	FromRaw                    // a raw object, as the struct To
	ObjectOnly                 // any raw value, which has to be an object
	OnlyOne                    // one or many, of which there has to be one; Elem
	AsOne                      // one, as one or many; Elem
	ByHand                     // a struct, as a raw object, by a function that a person writes: Func
)

// Conv is the conversion of a value between two references.
type Conv struct {
	Kind     ConvKind
	From, To *Ref
	Way      *Way
	Elem     *Conv
	Func     string
}

// Hand is a function that a person writes.
type Hand struct {
	Func  string // its name
	Why   string // what it is for
	Up    bool
	Type  *Type  // that it converts, or of whose member or arm it takes care: of the source
	To    *Type  // nil for an arm
	Arm   *Type  // of an arm: of the source
	Union *Type  // of an arm: of the target
	Raw   bool   // the target is a raw object, nil for none
	Side  string // it finishes the conversion of a whole Server or Client
	Error bool   // it converts the errors that requests are answered with
}
