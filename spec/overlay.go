package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
)

// Overlay is what the schema files lost or got wrong, and the decisions that
// no file can say. Every entry has a reason, and every entry of a known
// revision must be of use: the generator refuses one that matches nothing.
//
// Places of Go types are written as an owner and a path: "CompleteParams.ref",
// "CallToolResult.content[]" (elements), "ElicitResult.content{}" (map values).
// The owner is a Go type name, "*" is any, "*Params" any with that end.
type Overlay struct {
	Errata     []*Erratum     `json:"errata,omitempty"`
	Names      []*Name        `json:"names,omitempty"`
	Inline     []*Inline      `json:"inline,omitempty"`
	Raw        []*Raw         `json:"raw,omitempty"`
	Unions     []*Union       `json:"unions,omitempty"`
	Enums      []*Enum        `json:"enums,omitempty"`
	Implied    []*Implied     `json:"implied,omitempty"`
	Lenient    []*Lenient     `json:"lenient,omitempty"`
	Keep       []*Keep        `json:"keep,omitempty"`
	Interfaces []*Interface   `json:"interfaces,omitempty"`
	Methods    []*Method      `json:"methods,omitempty"`
	Constants  []*Constant    `json:"constants,omitempty"`
	Deprecated []*Deprecation `json:"deprecated,omitempty"`

	Hints bool `json:"-"` // entries may go unused: the revision is not known
}

// Entry is the head of every entry.
type Entry struct {
	From  string `json:"from,omitempty"` // first revision it holds for, "" = the first there is
	To    string `json:"to,omitempty"`   // last revision, "" = no end
	Why   string `json:"why"`            // the reason, in our own words
	Place string `json:"-"`              // file and JSON pointer, for messages
}

func (e *Entry) entry() *Entry { return e }

// EntryError says that an overlay entry is wrong, or does not fit the schema.
type EntryError struct {
	Place string // file and JSON pointer of the entry
	Msg   string
}

// Error gives "place: message".
func (e *EntryError) Error() string { return e.Place + ": " + e.Msg }

func (e *Entry) err(format string, args ...any) error {
	return &EntryError{Place: e.Place, Msg: fmt.Sprintf(format, args...)}
}

// holds says whether the entry holds for a revision; "" is a revision after all known ones.
func (e *Entry) holds(revision string) bool {
	if revision == "" {
		return e.To == ""
	}
	return (e.From == "" || e.From <= revision) && (e.To == "" || revision <= e.To)
}

// Erratum corrects one place of the schema, or by a rule several.
type Erratum struct {
	Entry
	At   string          `json:"at,omitempty"`   // JSON pointer below the definitions: "/Task/properties/ttl"
	Was  json.RawMessage `json:"was,omitempty"`  // what must stand there; absent = nothing may stand there
	Now  json.RawMessage `json:"now,omitempty"`  // what stands there afterwards; references are written "#/$defs/X" for both drafts
	Only Use             `json:"only,omitempty"` // "" = validators and generator

	// Rule "params-meta" adds a "_meta" member to the params of every message
	// that lack one, a copy of what stands at Requests or at Notifications
	// (pointers like At). Count is how many params lack it.
	Rule          string `json:"rule,omitempty"`
	Requests      string `json:"requests,omitempty"`
	Notifications string `json:"notifications,omitempty"`
	Count         int    `json:"count,omitempty"`
}

// Name gives a definition or a member another Go name.
type Name struct {
	Entry
	Definition string `json:"definition,omitempty"`
	At         string `json:"at,omitempty"` // in place of Definition: a member, "Tool.inputSchema"
	Go         string `json:"go"`
}

// Inline names the anonymous object, union or enum at a place. With Values it
// makes an open enum of a plain string: the schema lost that these are known.
type Inline struct {
	Entry
	At     string   `json:"at"`
	Go     string   `json:"go"`
	Values []string `json:"values,omitempty"`
}

// Raw says that the value at a place stays raw JSON: an object, or any value.
type Raw struct {
	Entry
	At  string `json:"at"`
	Any bool   `json:"any,omitempty"`
}

// Union decides how a union is handled where its members alone do not say it.
type Union struct {
	Entry
	Go string `json:"go"` // Go name of the union, or of the struct that is replaced
	// Keyed: the reader knows the type from elsewhere; Arms maps accessor to definition.
	Keyed map[string]string `json:"keyed,omitempty"`
	// Wrap: a params type that newer revisions made a union: the struct gets this
	// name, and the union of one member, told by Key, takes its place.
	Wrap string `json:"wrap,omitempty"`
	Key  string `json:"key,omitempty"`  // Wrap: the discriminator of the newer revisions
	Case string `json:"case,omitempty"` // Wrap: the value that means the struct; absence does so too
}

// Enum gives the values of an enum in the order of their meaning, which the
// schema file lost by sorting them.
type Enum struct {
	Entry
	Go    string   `json:"go"`
	Order []string `json:"order"`
}

// Implied says what an absent optional member stands for.
type Implied struct {
	Entry
	At    string          `json:"at"` // "ToolAnnotations.destructiveHint"
	Value json.RawMessage `json:"value"`
}

// Lenient says what a lenient decoder takes for a required member of results that is missing.
type Lenient struct {
	Entry
	At       string          `json:"at,omitempty"`    // "*.ttlMs"
	Lists    bool            `json:"lists,omitempty"` // in place of At: every required array
	Value    json.RawMessage `json:"value"`
	Negative bool            `json:"negative,omitempty"` // also for a negative number
	Empty    bool            `json:"empty,omitempty"`    // also for ""
	Zero     bool            `json:"zero,omitempty"`     // the encoder writes it for Go's zero value, which is never legal
}

// Keep says that a definition is a type although nothing refers to it, or only
// what is composed of it.
type Keep struct {
	Entry
	Definition string `json:"definition"`
}

// Interface makes a Go interface of a base definition: getters for the members
// that it has more than Result, met by every result that has them all.
type Interface struct {
	Entry
	Definition string `json:"definition"`
}

// Method says what the schema cannot say of a method: the capabilities that it
// needs, and whether the runtime answers it.
type Method struct {
	Entry
	Method    string   `json:"method"`
	Server    []string `json:"server,omitempty"` // paths in ServerCapabilities: "resources.subscribe"
	Client    []string `json:"client,omitempty"` // paths in ClientCapabilities
	Gates     []*Gate  `json:"gates,omitempty"`
	Lifecycle bool     `json:"lifecycle,omitempty"`
}

// Gate is a capability that is needed only for some params.
type Gate struct {
	Server  string   `json:"server,omitempty"` // path; exactly one of Server and Client is set
	Client  string   `json:"client,omitempty"`
	Members []string `json:"members"`           // any of these params members asks for it
	Values  []string `json:"values,omitempty"`  // only with one of these values
	Absent  bool     `json:"absent,omitempty"`  // with Values: the missing member too
	Advice  bool     `json:"advice,omitempty"`  // SHOULD, not MUST
	OrEmpty bool     `json:"orEmpty,omitempty"` // an empty parent capability grants it too
}

// Constant is a named value that only the specification's text or its TypeScript source has.
type Constant struct {
	Entry
	Go   string  `json:"go"`
	Int  *int64  `json:"int,omitempty"`
	Text *string `json:"text,omitempty"`
}

// Deprecation marks definitions and members as deprecated since From.
type Deprecation struct {
	Entry
	Text    string   `json:"text"`              // what to do in place of it, one sentence or two
	Types   []string `json:"types,omitempty"`   // definitions
	Members []string `json:"members,omitempty"` // "ClientCapabilities.roots", Go owner and JSON name
}

// entries calls f with each entry and the name of its list and its index there.
func (o *Overlay) entries(f func(list string, i int, e *Entry)) {
	v := reflect.ValueOf(o).Elem()
	for i := range v.NumField() {
		l := v.Field(i)
		if l.Kind() != reflect.Slice {
			continue
		}
		for j := range l.Len() {
			f(v.Type().Field(i).Tag.Get("json"), j, l.Index(j).Interface().(interface{ entry() *Entry }).entry())
		}
	}
}

// Entries gives the heads of all entries in the order of the lists.
func (o *Overlay) Entries() []*Entry {
	var out []*Entry
	o.entries(func(_ string, _ int, e *Entry) { out = append(out, e) })
	return out
}

// in gives the entries that hold for a revision.
func (o *Overlay) in(revision string) *Overlay {
	out := &Overlay{}
	src, dst := reflect.ValueOf(o).Elem(), reflect.ValueOf(out).Elem()
	for i := range src.NumField() {
		if src.Field(i).Kind() != reflect.Slice {
			continue
		}
		for j := range src.Field(i).Len() {
			e := src.Field(i).Index(j)
			if e.Interface().(interface{ entry() *Entry }).entry().holds(revision) {
				dst.Field(i).Set(reflect.Append(dst.Field(i), e))
			}
		}
	}
	return out
}

// And gives the entries of both.
func (o *Overlay) And(p *Overlay) *Overlay {
	out := &Overlay{}
	a, b, dst := reflect.ValueOf(o).Elem(), reflect.ValueOf(p).Elem(), reflect.ValueOf(out).Elem()
	for i := range a.NumField() {
		if a.Field(i).Kind() == reflect.Slice {
			dst.Field(i).Set(reflect.AppendSlice(reflect.AppendSlice(dst.Field(i), a.Field(i)), b.Field(i)))
		}
	}
	return out
}

// ParseOverlay reads an overlay. Unknown members and entries without a reason are errors.
func ParseOverlay(name string, data []byte) (*Overlay, error) {
	o := &Overlay{}
	if err := strict(data, o); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var err error
	o.entries(func(list string, i int, e *Entry) {
		for k := range len(list) {
			if list[k] == ',' {
				list = list[:k]
				break
			}
		}
		e.Place = fmt.Sprintf("%s#/%s/%d", name, list, i)
		if err != nil {
			return
		}
		switch {
		case e.Why == "":
			err = e.err("the entry has no reason")
		case e.From != "" && e.To != "" && e.From > e.To:
			err = e.err("from %s is after to %s", e.From, e.To)
		}
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("more than one JSON value")
	}
	return nil
}
