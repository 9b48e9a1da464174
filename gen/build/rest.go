package build

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/gen/schema"
	"github.com/goldwire/goldwire/spec"
)

// rest accounts for the definitions that no message reaches. Each is envelope,
// error, base, union of emitted members, or scalar; what is none of these is
// kept when the overlay says so, and else an error, so that nothing is lost in
// silence. For a revision that is not known it is kept.
func (b *builder) rest() error {
	for _, k := range b.o.Keep {
		if b.file.Definitions[k.Definition] != nil && (!b.reached[k.Definition] || b.types[b.goName(k.Definition)] == nil) {
			b.use(&k.Entry)
			if _, err := b.definition(k.Definition); err != nil {
				return err
			}
		}
	}
	for _, name := range b.file.Names() {
		s := b.file.Definitions[name]
		if b.reached[name] || b.raw[name] || b.explained(name, s) {
			continue
		}
		if b.strict() {
			return b.err(Unreached, s.Pointer, "nothing refers to %s and no rule explains it: add {\"definition\": %q} to \"keep\" in the overlay, if it is a type", name, name)
		}
		b.decide(&Decision{
			Pointer: s.Pointer, What: fmt.Sprintf("nothing refers to %s, and it is kept as a type: what is it for?", name),
			Entries: spec.Overlay{Keep: []*spec.Keep{{Definition: name}}},
		})
		if _, err := b.definition(name); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) explained(name string, s *schema.Schema) bool {
	switch {
	case isMessageUnion(name) || strings.HasPrefix(name, "JSONRPC") || name == "Error" || name == "Result":
		return true // the method table, what runtime/jsonrpc writes by hand, and what every result is
	case slices.ContainsFunc(b.o.Interfaces, func(i *spec.Interface) bool { return i.Definition == name }):
		return true
	case s.Ref != "":
		return true // another name for a definition
	case s.Properties["method"] != nil:
		return true // what messages share
	case isError(s) != nil:
		return true
	case strings.HasSuffix(name, "ResultResponse") && s.Properties["result"] != nil:
		return true
	case s.AnyOf != nil:
		return b.covered(s)
	case s.Is("object") && len(s.Properties) > 0:
		return b.isBase(name, s)
	}
	return len(s.Properties) == 0 && s.AllOf == nil // scalars and arrays stand in the members themselves
}

// covered says whether every member of a union is emitted anyway: the union is a part of another.
func (b *builder) covered(s *schema.Schema) bool {
	arms, err := b.flattenArms(s, 0)
	return err == nil && !slices.ContainsFunc(arms, func(a arm) bool { return a.def == "" || !b.reached[a.def] })
}

// isBase says whether another object, which is emitted, has all members of this one with the same
// schemas, or with a const in place of a plain string: the file lost "extends".
func (b *builder) isBase(name string, s *schema.Schema) bool {
	for other, o := range b.file.Definitions {
		if other == name || !b.reached[other] || len(o.Properties) < len(s.Properties) {
			continue
		}
		all := true
		for k, p := range s.Properties {
			q := o.Properties[k]
			all = all && q != nil && (canon(p) == canon(q) || p.Is("string") && q.Is("string"))
		}
		if all {
			return true
		}
	}
	return false
}

// errorShape is what a definition of an error says.
type errorShape struct {
	code int64
	data *schema.Schema // nil = free
}

// isError recognises the two forms: an error object with a const code, and a
// message whose error is the general object narrowed by a code.
func isError(s *schema.Schema) *errorShape {
	body := s
	if e := s.Properties["error"]; e != nil && e.AllOf != nil {
		for _, part := range e.AllOf {
			if part.Properties["code"] != nil {
				body = part
			}
		}
	}
	code := body.Properties["code"]
	if code == nil {
		return nil
	}
	n, ok := code.Const.(json.Number)
	if !ok {
		return nil
	}
	c, err := n.Int64()
	if err != nil {
		return nil
	}
	out := &errorShape{code: c}
	if d := body.Properties["data"]; d != nil && !d.Any() {
		out.data = d
	}
	return out
}

// findErrors makes the error types and their data.
func (b *builder) findErrors() error {
	for _, name := range b.file.Names() {
		s := b.file.Definitions[name]
		shape := isError(s)
		if shape == nil {
			continue
		}
		e := &ir.Error{Name: camel(strings.TrimSuffix(name, "Error")), Code: shape.code, Doc: b.doc(name, "", s.Description)}
		if shape.data != nil {
			d, ref := b.def(shape.data)
			if ref != "" {
				b.reached[ref] = true
				r, err := b.named(d, ref, place{e.Name, "data", true})
				if err != nil {
					return err
				}
				if r.Kind != ir.Named || b.types[r.Name].Kind != ir.Struct {
					return b.err(Unsupported, shape.data.Pointer, "the data of an error must be free or an object with members")
				}
				e.Data = r.Name
			} else if d.Is("object") && len(d.Properties) > 0 {
				e.Data = e.Name + "Data"
				if err := b.structType(d, e.Data, d.Pointer); err != nil {
					return err
				}
			} else {
				return b.err(Unsupported, d.Pointer, "the data of an error must be free or an object with members")
			}
		}
		b.errors = append(b.errors, e)
	}
	slices.SortFunc(b.errors, func(x, y *ir.Error) int { return int(y.Code - x.Code) })
	return nil
}

// interfaces makes the getters that results share.
func (b *builder) interfaces() error {
	for _, i := range b.o.Interfaces {
		base, result := b.file.Definitions[i.Definition], b.file.Definitions["Result"]
		if base == nil || result == nil {
			continue // an unused entry
		}
		var members []string
		for _, k := range base.Names() {
			if result.Properties[k] == nil {
				members = append(members, k)
			}
		}
		goName := b.goName(i.Definition)
		t := &ir.Type{Name: goName, Schema: i.Definition, Kind: ir.Interface, Doc: b.doc(goName, "", base.Description)}
		met := map[string][]*ir.Type{} // by the types of the members: a getter has one
		best := ""
		for _, m := range b.methods {
			r := b.types[m.ir.Result]
			if r == nil || r.Kind != ir.Struct || len(members) == 0 {
				continue
			}
			kind, all := "", true
			for _, k := range members {
				f := fieldOf(r, k)
				if all = all && f != nil && f.Required == base.IsRequired(k); all {
					kind += f.Name + " " + spell(&f.Type) + ";"
				}
			}
			if !all || slices.Contains(met[kind], r) {
				continue
			}
			met[kind] = append(met[kind], r)
			if len(met[kind]) > len(met[best]) {
				best = kind
			}
		}
		for _, r := range met[best] {
			t.Arms = append(t.Arms, &ir.Arm{Type: r.Name})
		}
		if t.Arms == nil {
			continue
		}
		for _, k := range members {
			getter := *fieldOf(met[best][0], k)
			getter.Name += "Value" // a method cannot have the name of the field it reads
			t.Fields = append(t.Fields, &getter)
		}
		b.use(&i.Entry)
		slices.SortFunc(t.Arms, func(x, y *ir.Arm) int { return strings.Compare(x.Type, y.Type) })
		if fresh, err := b.claim(goName, "interface "+strings.Join(members, " "), base.Pointer); err != nil {
			return err
		} else if fresh {
			b.types[goName] = t
		}
	}
	return nil
}

// spell writes a reference, so that two can be compared.
func spell(r *ir.Ref) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%d %s(%s)", r.Kind, r.Name, spell(r.Elem))
}

// consts gives the overlay's constants and one for each prefixed _meta key that is a field.
func (b *builder) consts() ([]*ir.Const, error) {
	byName := map[string]*ir.Const{}
	add := func(name, value, ptr string) error {
		if have := byName[name]; have != nil && have.Value != value {
			return b.err(Collision, ptr, "the constant %s is both %s and %s", name, have.Value, value)
		}
		if byName[name] == nil {
			byName[name] = &ir.Const{Name: name, Value: value, Doc: b.doc(name, "", "")}
		}
		return nil
	}
	for _, c := range b.o.Constants {
		if code, wrong := b.otherCode(c); wrong {
			if b.strict() {
				return nil, b.entryErr(Collision, &c.Entry, "%s is %d, but the file gives that error the code %d", c.Go, *c.Int, code)
			}
			b.decide(&Decision{
				What: fmt.Sprintf("the file gives the error of %s another code, %d", c.Go, code), Sure: true,
				Entries: spec.Overlay{Constants: []*spec.Constant{{Entry: spec.Entry{Why: "The file gives the error of this name the same code."}, Go: c.Go, Int: &code}}},
			})
			if err := add(c.Go, strconv.FormatInt(code, 10), ""); err != nil {
				return nil, err
			}
			continue
		}
		b.use(&c.Entry)
		var value string
		switch {
		case c.Int != nil && c.Text == nil:
			value = strconv.FormatInt(*c.Int, 10)
		case c.Text != nil && c.Int == nil:
			value = strconv.Quote(*c.Text)
		default:
			return nil, b.entryErr(Unsupported, &c.Entry, "a constant is one of int and text")
		}
		if err := add(c.Go, value, ""); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.types)) {
		for _, f := range b.types[name].Fields {
			if strings.HasPrefix(f.JSON, "io.modelcontextprotocol/") {
				if err := add("MetaKey"+f.Name, strconv.Quote(f.JSON), b.where[name]); err != nil {
					return nil, err
				}
			}
		}
	}
	var out []*ir.Const
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, byName[name])
	}
	return out, nil
}

// otherCode says whether the file has an error type of a constant's name with
// another code.
func (b *builder) otherCode(c *spec.Constant) (int64, bool) {
	name, ok := strings.CutPrefix(c.Go, "Code")
	if !ok || c.Int == nil {
		return 0, false
	}
	for _, e := range b.errors {
		if e.Name == strings.TrimSuffix(name, "Error") && e.Code != *c.Int {
			return e.Code, true
		}
	}
	return 0, false
}

// refs gives the names of the types that a type holds.
func refs(t *ir.Type) []string {
	var out []string
	var add func(r *ir.Ref)
	add = func(r *ir.Ref) {
		if r == nil {
			return
		}
		if r.Kind == ir.Named {
			out = append(out, r.Name)
		}
		add(r.Elem)
	}
	for _, f := range t.Fields {
		add(&f.Type)
	}
	if t.Kind != ir.Interface {
		for _, a := range t.Arms {
			out = append(out, a.Type)
		}
	}
	for _, n := range []string{t.Elem, t.Target} {
		if n != "" {
			out = append(out, n)
		}
	}
	return out
}

// reach gives all types that the named ones hold, themselves included.
func (b *builder) reach(names ...string) map[string]bool {
	seen := map[string]bool{}
	for len(names) > 0 {
		n := names[0]
		names = names[1:]
		if t := b.types[n]; t != nil && !seen[n] {
			seen[n] = true
			names = append(names, refs(t)...)
		}
	}
	return seen
}

// results gives the types that answer a method.
func (b *builder) results(m *ir.Method) []string {
	out := []string{m.Result}
	for _, o := range m.Outcomes {
		switch o {
		case ir.InputRequired:
			out = append(out, b.goName(inputRequired))
		case ir.TaskCreated, ir.TaskByType:
			out = append(out, b.goName(taskCreated))
		}
	}
	return out
}

// roles says of each type which way it travels, of embedded methods who sends
// them, and of each type whether Validate has something to look at.
func (b *builder) roles(pkg *ir.Package) error {
	client, server := map[string]bool{}, map[string]bool{} // who writes values of the type
	mark := func(to map[string]bool, names ...string) {
		maps.Copy(to, b.reach(names...))
	}
	for _, m := range b.methods {
		for _, r := range b.results(m.ir) {
			if t := b.types[r]; t != nil {
				t.Result = true
				if t.Kind == ir.Alias {
					b.types[t.Target].Result = true
				}
			}
		}
		if m.ir.Embedded {
			continue
		}
		if m.ir.Direction != ir.ServerToClient {
			mark(client, m.ir.Params)
			mark(server, b.results(m.ir)...)
		}
		if m.ir.Direction != ir.ClientToServer {
			mark(server, m.ir.Params)
			mark(client, b.results(m.ir)...)
		}
	}
	for _, m := range b.methods {
		if !m.ir.Embedded {
			continue
		}
		u := b.goName(m.union)
		switch {
		case client[u] && server[u]:
			m.ir.Direction = ir.EitherWay
		case client[u]:
			m.ir.Direction = ir.ClientToServer
		case server[u]:
			m.ir.Direction = ir.ServerToClient
		default:
			return b.err(Message, m.def.Pointer, "nothing that travels holds %s, so nobody sends %q", m.union, m.ir.Name)
		}
	}
	for _, t := range pkg.Types {
		switch {
		case client[t.Name] && !server[t.Name]:
			t.Role = ir.FromClient
		case server[t.Name] && !client[t.Name]:
			t.Role = ir.FromServer
		}
		for n := range b.reach(t.Name) {
			for _, f := range b.types[n].Fields {
				t.Bounded = t.Bounded || f.Min != nil || f.Max != nil || f.MaxItems != nil || b.holdsUnion(&f.Type)
			}
			t.Bounded = t.Bounded || b.types[n].Kind == ir.OneOrMany
		}
	}
	return nil
}

func (b *builder) holdsUnion(r *ir.Ref) bool {
	for ; r != nil; r = r.Elem {
		if r.Kind == ir.Named && b.types[r.Name].Kind == ir.Union {
			return true
		}
	}
	return false
}

// values fills in what lenient decoders take and what absent members stand for.
func (b *builder) values(*ir.Package) error {
	var roots []string
	for _, m := range b.methods {
		if !m.ir.Notification {
			roots = append(roots, b.results(m.ir)...)
		}
	}
	received := b.reach(roots...)
	for _, name := range slices.Sorted(maps.Keys(b.types)) {
		t := b.types[name]
		if t.Kind != ir.Struct {
			continue
		}
		for _, f := range t.Fields {
			if f.Required && f.Const == "" && received[name] {
				own := slices.ContainsFunc(b.o.Lenient, func(l *spec.Lenient) bool { return l.At == name+"."+f.JSON })
				for _, l := range b.o.Lenient {
					if own && l.At != name+"."+f.JSON {
						continue // what is said of this very member goes before what is said of many
					}
					if l.Lists && f.Type.Kind == ir.Slice || l.At != "" && matches(l.At, name, f.JSON) {
						if !b.suits(l, &f.Type) {
							if b.strict() {
								return b.entryErr(Unsupported, &l.Entry, "%s.%s is no place for the value %s", name, f.JSON, compact(l.Value))
							}
							continue
						}
						b.use(&l.Entry)
						f.Default = &ir.Lenient{JSON: compact(l.Value), Negative: l.Negative, Empty: l.Empty, Zero: l.Zero}
					}
				}
			}
			if !f.Required {
				for _, i := range b.o.Implied {
					if matches(i.At, name, f.JSON) {
						b.use(&i.Entry)
						f.Implied = compact(i.Value)
					}
				}
			}
		}
	}
	return nil
}

// suits says whether a lenient value is one of a type.
func (b *builder) suits(l *spec.Lenient, r *ir.Ref) bool {
	if len(l.Value) == 0 {
		return false
	}
	number := r.Kind == ir.Int || r.Kind == ir.Float
	str := r.Kind == ir.String || r.Kind == ir.Base64 || r.Kind == ir.Named && b.types[r.Name].Kind == ir.Enum
	raw := r.Kind == ir.RawObject || r.Kind == ir.RawAny
	if l.Negative && !number || l.Empty && !str || l.Zero && !str && !raw {
		return false
	}
	switch l.Value[0] {
	case '"':
		return str
	case '[':
		return r.Kind == ir.Slice
	case '{':
		return raw || r.Kind == ir.Named && b.types[r.Name].Kind == ir.Struct
	case 't', 'f':
		return r.Kind == ir.Bool
	case 'n':
		return r.Kind == ir.RawAny || r.Kind == ir.NullInt
	}
	return number
}

// compact gives a JSON value as it stands on the wire.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return string(raw) // the overlay was parsed, so this does not happen
	}
	return b.String()
}

// deprecations marks types, members and methods.
func (b *builder) deprecations(pkg *ir.Package) error {
	for _, d := range b.o.Deprecated {
		rest := &spec.Deprecation{Entry: spec.Entry{Why: d.Why}, Text: d.Text}
		for _, def := range d.Types {
			found := false
			for _, t := range pkg.Types {
				if t.Schema == def {
					t.Deprec, found = d.Text, true
				}
			}
			for _, m := range pkg.Methods {
				if m.Definition == def {
					m.Deprec, found = d.Text, true
				}
			}
			if !found && b.strict() {
				return b.entryErr(Unused, &d.Entry, "there is no definition %s", def)
			}
			if found {
				rest.Types = append(rest.Types, def)
			}
		}
		for _, member := range d.Members {
			found := false
			for _, t := range pkg.Types {
				for _, f := range t.Fields {
					if matches(member, t.Name, f.JSON) {
						f.Deprec, found = d.Text, true
					}
				}
			}
			if !found && b.strict() {
				return b.entryErr(Unused, &d.Entry, "there is no member %s", member)
			}
			if found {
				rest.Members = append(rest.Members, member)
			}
		}
		if len(rest.Types)+len(rest.Members) == len(d.Types)+len(d.Members) {
			b.use(&d.Entry)
		} else if len(rest.Types)+len(rest.Members) > 0 {
			b.decide(&Decision{
				What: "a part of what is deprecated is gone, the rest stays deprecated", Sure: true,
				Entries: spec.Overlay{Deprecated: []*spec.Deprecation{rest}},
			})
		}
	}
	return nil
}

// reserved are the names that every generated package declares besides its types.
var reserved = []string{
	"Answer", "Client", "Connect", "Decode", "InputRequiredError", "Join", "Message", "Methods", "NewInputRequiredError", "NewTaskCreated", "Notification", "Peer",
	"RemoteClient", "RemoteServer", "Request", "Response", "Revision", "Server", "TaskCreated", "UnknownNotification", "UnknownRequest",
}

// collisions looks at all names that the package will declare.
func (b *builder) collisions(pkg *ir.Package) error {
	names := map[string]string{}
	hints := map[string]string{} // how a name can be given up
	claim := func(name, what, ptr, hint string) error {
		if have, dup := names[name]; dup {
			if hint == "" {
				hint = hints[name]
			}
			if hint != "" {
				hint = ": add " + hint + " in the overlay"
			}
			return b.err(Collision, ptr, "the name %s is wanted by %s and by %s%s", name, have, what, hint)
		}
		names[name], hints[name] = what, hint
		return nil
	}
	rename := func(t *ir.Type) string {
		if b.file.Definitions[t.Schema] != nil {
			return fmt.Sprintf("{\"definition\": %q, \"go\": …} to \"names\"", t.Schema)
		}
		return fmt.Sprintf("an entry with the place of %s to \"inline\"", t.Name)
	}
	for _, n := range reserved {
		names[n] = "the package itself"
	}
	for _, t := range pkg.Types {
		if err := claim(t.Name, "the type of "+t.Schema, b.where[t.Name], rename(t)); err != nil {
			return err
		}
	}
	for _, t := range pkg.Types {
		if t.Kind == ir.Union {
			if err := claim("Unknown"+t.Name, "the unknown member of "+t.Name, b.where[t.Name], rename(t)); err != nil {
				return err
			}
		}
		for _, v := range t.Values {
			if err := claim(v.Name, "a value of "+t.Name, b.where[t.Name], rename(t)); err != nil {
				return err
			}
		}
	}
	for _, m := range b.methods {
		if err := claim(m.ir.Const, "the method "+m.ir.Name, m.def.Pointer, ""); err != nil {
			return err
		}
		if m.ir.Embedded {
			continue
		}
		envelopes := []string{m.ir.Go + "Request", m.ir.Go + "Response"}
		if m.ir.Notification {
			envelopes = []string{m.ir.Go + "Notification"}
		}
		for _, e := range envelopes {
			if err := claim(e, "an envelope of "+m.ir.Name, m.def.Pointer, ""); err != nil {
				return err
			}
		}
	}
	for _, c := range pkg.Consts {
		if err := claim(c.Name, "a constant", "", ""); err != nil {
			return err
		}
	}
	return nil
}

// checkCycles refuses a struct that would hold itself by value.
func (b *builder) checkCycles() error {
	state := map[string]int{} // 1 = open, 2 = done
	var visit func(name string) error
	visit = func(name string) error {
		t := b.types[name]
		if t == nil || t.Kind != ir.Struct || state[name] == 2 {
			return nil
		}
		if state[name] == 1 {
			return b.err(Unsupported, b.where[name], "%s holds itself by required members: no finite value of it exists", name)
		}
		state[name] = 1
		for _, f := range t.Fields {
			if f.Required && f.Type.Kind == ir.Named {
				if err := visit(f.Type.Name); err != nil {
					return err
				}
			}
		}
		state[name] = 2
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(b.types)) {
		if err := visit(name); err != nil {
			return err
		}
	}
	return nil
}
