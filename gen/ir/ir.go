// Package ir is the Go-shaped model of one protocol revision, between the
// schema it was built from and the code that is printed from it.
//
// It holds data only. Everything is resolved and ordered: package build makes
// every decision (names, which member is written how, how a union is told
// apart), package emit prints what it finds here.
package ir

// Package is one revision's generated package.
type Package struct {
	Revision   string       // "2025-11-25"
	Name       string       // the Go package name, always "mcp"
	Dir        string       // its folder below generated/, "mcp/v20251125"
	Source     string       // path of the schema file as the header names it, "spec/2025-11-25/schema.json"
	SourceHash string       // sha256 of that file, in hex
	Stateless  bool         // requests stand alone (_meta carries version and capabilities), no initialize handshake
	Doc        []string     // paragraphs
	Place      string       // where the specification describes a definition: a URL with {definition} and {anchor} (its name in small letters), "" if unknown
	Changes    []string     // what came and went since the revision before, a paragraph or list item ("- …") each
	Types      []*Type      // ordered by name
	Methods    []*Method    // ordered by method name
	Errors     []*Error     // error types of the schema, ordered by code, descending
	Consts     []*Const     // ordered by name
	Extensions []*Extension // whose definitions are among the types and methods, ordered by name
}

// Extension is an official extension of the protocol.
type Extension struct {
	Name       string // "Tasks": Go name of what opts in
	ID         string // "io.modelcontextprotocol/tasks"
	Source     string // path of its schema file as the header names it
	SourceHash string // sha256 of that file, in hex
	Place      string // where it is described: a URL
}

// Kind says which Go shape a Type has.
type Kind int

// The kinds of types.
const (
	Struct    Kind = iota // Fields
	Enum                  // an open string type; Values
	Union                 // a sealed interface; Arms, Plan
	Alias                 // type X = Target
	RawUnion              // a raw JSON value with one accessor a JSON kind (ElicitValue); Raws
	KeyedRaw              // a raw JSON value whose type the reader knows from elsewhere (InputResponse, a task's payload); Arms
	OneOrMany             // one Elem or an array of them, remembering the form (SamplingContent); Elem
	Interface             // getters shared by results (PaginatedResult, CacheableResult); Fields name the getters, Arms the types
	MapOf                 // a named map: type X map[string]Elem (InputRequests, InputResponses); Elem is a type of this package
)

// Type is one named Go type.
type Type struct {
	Name      string // Go name
	Schema    string // definition name in the schema, or the pointer of the inline object it came from
	Kind      Kind
	Doc       []string // lines, without the comment mark and not wrapped: a line can be a paragraph
	Since     string   // first revision that has it, "" if unknown
	Deprec    string   // text of a Deprecated: paragraph, "" if none
	Fields    []*Field // Struct: in the order they are written; constants first, then required, optional, _meta
	Closed    bool     // Struct: no unknown members are kept (never true in the official schemas)
	Values    []*EnumValue
	Arms      []*Arm
	Plan      *Plan
	Target    string // Alias
	Elem      string // OneOrMany, MapOf: name of the element type
	Raws      []RawKind
	Open      bool   // Enum: the schema allows any string, the values are only those that are known
	Role      Role   // which way the type travels, decides strictness in docs and examples
	Params    bool   // it is the params of a method: has Metadata()
	Result    bool   // it is the result of a method
	MetaOf    string // name of the type of its _meta field, "" when raw or none
	Extension string // identifier of the extension that defines it, "" of the specification itself
	Bounded   bool   // some field below has a bound, or holds a union (whose nil is reported): Validate has something to say
}

// Role says who writes values of a type.
type Role int

// The roles.
const (
	Both Role = iota
	FromClient
	FromServer
)

// Field is one member of a Struct.
type Field struct {
	JSON     string // member name on the wire
	Name     string // Go name
	Type     Ref
	Required bool
	Const    string   // the only legal value as a Go string; then there is no Go field: written on encode, checked on decode
	Default  *Lenient // what lenient decoding takes when a required member is missing or as Default says
	Min, Max *float64 // bounds of a number; Validate reports them
	MaxItems *int
	Format   string // "uri", "uri-template", "byte", … as the schema says it; never checked on decode
	Implied  string // what an absent optional member stands for, as JSON text ("true" for destructiveHint); "" when nothing is implied
	Since    string // first revision that has it, "" if it is as old as its type
	Doc      []string
	Deprec   string
}

// Lenient is the value that a lenient decoder takes for a required member.
type Lenient struct {
	JSON     string // the value as JSON text: `"complete"`, `[]`, `0`, `"private"`
	Negative bool   // also for a negative number
	Empty    bool   // also for an empty string
	Zero     bool   // the encoder writes JSON in place of the Go zero value, which is never legal here (resultType "")
}

// RefKind says how a value is held in Go and which codec call reads it.
type RefKind int

// The kinds of references.
const (
	String RefKind = iota
	Bool
	Int       // int64
	Float     // float64
	NullInt   // *int64, required, null when nil
	RawAny    // wire.Raw, any JSON value
	RawObject // wire.Raw, an object
	ID        // jsonrpc.ID: request ids and progress tokens
	Named     // a type of this package: Struct, Enum, Union, RawUnion, KeyedRaw, OneOrMany, MapOf
	Slice     // of Elem
	Map       // string to Elem
	Base64    // string, base64 text, with a Bytes accessor
)

// Ref is the type of a field, an element or a map value.
type Ref struct {
	Kind RefKind
	Name string // Named: the type's Go name
	Elem *Ref   // Slice, Map
}

// EnumValue is one known value of an Enum.
type EnumValue struct {
	Name  string // Go constant name, "LoggingLevelDebug"
	Value string
	Since string // first revision that has it, "" if it is as old as its type
	Doc   []string
	Rank  int // place in the order of declaration, from 0 (severity of LoggingLevel)
}

// Arm is one member of a Union.
type Arm struct {
	Type string // Go type name of the member
	Tag  string // KeyedRaw: accessor name ("Elicit")
}

// PlanKind says how a union is told apart.
type PlanKind int

// The plans.
const (
	ByTag      PlanKind = iota // a constant string member Key: Cases by value, Absent when the member is missing
	ByPresence                 // the first of Cases whose Key member is there
	ByRule                     // Cases by tag value of Key, then nested steps (PrimitiveSchemaDefinition)
)

// Plan tells the members of a union apart without ever trying to decode one.
type Plan struct {
	Kind   PlanKind
	Key    string // the member that is looked at
	Cases  []*Case
	Absent string // ByTag: Go type when Key is absent, "" = unknown
}

// Case is one branch of a Plan. Exactly one of Type and Steps is set.
type Case struct {
	Value string  // ByTag, ByRule: value of Key
	Key   string  // ByPresence: the member that must be there
	Type  string  // Go type name
	Steps []*Step // ByRule: looked at in order; when none matches the value is unknown
}

// Step picks Type when the member path Has is present ("items.anyOf"), always when Has is "".
type Step struct {
	Has  string
	Type string
}

// RawKind is one JSON kind that a RawUnion may hold.
type RawKind int

// The raw kinds.
const (
	RawString RawKind = iota
	RawInt
	RawFloat
	RawBool
	RawStrings
)

// Direction says who sends a message.
type Direction int

// The directions.
const (
	ClientToServer Direction = iota
	ServerToClient
	EitherWay
)

// Method is one request or notification.
type Method struct {
	Name         string // "tools/call"
	Definition   string // "CallToolRequest"
	Go           string // "CallTool": func field, method and constant suffix base
	Const        string // "MethodToolsCall"
	Notification bool
	Direction    Direction
	Params       string // Go type, "" if the method has none
	ParamsReq    bool
	Result       string // Go type of the complete result; requests only
	Outcomes     []Outcome
	Paginated    bool
	Items        string   // Paginated: Go name of the list field of the result ("Tools")
	Item         string   // Paginated: Go type of one item
	Server       []string // server capabilities needed, as paths ("resources.subscribe")
	Client       []string // client capabilities needed
	Gates        []*Gate  // capabilities needed only for some params
	Lifecycle    bool     // answered by the runtime, no func field (initialize, ping, discover, listen, cancelled, …)
	Since        string   // first revision that has it, "" if unknown
	Extension    string   // identifier of the extension that defines it, "" of the specification itself
	Embedded     bool     // travels inside another message (inputRequests of 2026-07-28): no id, no envelope
	Doc          []string
	Deprec       string
}

// Gate is a capability that is needed only when the params say so.
type Gate struct {
	Server  bool     // the server's capability; else the client's
	Path    string   // "sampling.tools"
	Members []string // params members (paths with dots) of which any, when it is there, asks for the capability
	Values  []string // not empty: only when the (single) member holds one of these strings
	Absent  bool     // with Values: also when the member is missing
	Advice  bool     // SHOULD: report, do not refuse
	OrEmpty bool     // an empty object in place of the capability's parent grants it too (elicitation {} is elicitation.form)
}

// Outcome is what a request may give besides its complete result.
type Outcome int

// The outcomes.
const (
	InputRequired Outcome = iota // resultType input_required (2026-07-28)
	TaskCreated                  // params had task and the result has task (2025-11-25)
	TaskByType                   // resultType task (tasks extension of 2026-07-28)
)

// Error is an error type of the schema: a code and the type of its data.
type Error struct {
	Name string // "UnsupportedProtocolVersion"
	Code int64
	Data string // Go type, "" when the data is free
	Doc  []string
}

// Const is a named constant of the specification.
type Const struct {
	Name  string
	Value string // Go literal
	Doc   []string
}
