package build

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/gen/schema"
	"github.com/goldwire/goldwire/spec"
)

// method is a request or notification on its way to the model.
type method struct {
	ir    *ir.Method
	def   *schema.Schema
	base  string // definition name without Request or Notification
	union string // definition of the union that embeds it, if no message union names it
}

// messageUnions are the definitions that say who sends what. They become the
// method table and are no types.
var messageUnions = []string{"ClientRequest", "ClientNotification", "ClientResult", "ServerRequest", "ServerNotification", "ServerResult"}

func isMessageUnion(def string) bool { return slices.Contains(messageUnions, def) }

// methodOf gives the method name of a message definition, "" of any other.
func methodOf(s *schema.Schema) string {
	if p := s.Properties["method"]; p != nil {
		c, _ := p.Const.(string)
		return c
	}
	return ""
}

// message gives the method that a definition is the message of, nil if it is none.
func (b *builder) message(def string) *method {
	for _, m := range b.methods {
		if m.ir.Definition == def {
			return m
		}
	}
	return nil
}

// findMethods collects the messages and who sends them.
func (b *builder) findMethods() error {
	byMethod := map[string]*method{}
	for _, name := range b.file.Names() {
		s := b.file.Definitions[name]
		m := methodOf(s)
		if m == "" || isMessageUnion(name) {
			continue
		}
		notification := strings.HasPrefix(m, "notifications/")
		end := "Request"
		if notification {
			end = "Notification"
		}
		base, ok := strings.CutSuffix(name, end)
		if !ok || base == "" {
			return b.err(Message, s.Pointer, "the definition of %q must be called …%s", m, end)
		}
		if have := byMethod[m]; have != nil {
			return b.err(Message, s.Pointer, "the method %q is defined by %s too", m, have.ir.Definition)
		}
		byMethod[m] = &method{
			def: s, base: base,
			ir: &ir.Method{
				Name: m, Definition: name, Go: camel(base), Const: methodConst(m), Notification: notification,
				ParamsReq: s.IsRequired("params"), Doc: b.doc(m, "", s.Description),
			},
		}
		b.reached[name] = true
	}
	sends := map[string][2]bool{} // by method: client, server
	for _, u := range messageUnions {
		s := b.file.Definitions[u]
		if s == nil || strings.HasSuffix(u, "Result") {
			continue
		}
		arms := []arm{{u, s}} // a union of one is written as its member
		if s.AnyOf != nil {
			var err error
			if arms, err = b.flattenArms(s, 0); err != nil {
				return err
			}
		}
		for _, a := range arms {
			d, _ := b.def(a.schema)
			m := methodOf(d)
			if byMethod[m] == nil {
				return b.err(Message, s.Pointer, "%s holds %s, which is no message", u, a.def)
			}
			if byMethod[m].ir.Notification != strings.HasSuffix(u, "Notification") {
				return b.err(Message, s.Pointer, "%s holds %q", u, m)
			}
			side := sends[m]
			side[map[bool]int{true: 0, false: 1}[strings.HasPrefix(u, "Client")]] = true
			sends[m] = side
		}
	}
	embedded := map[string]string{} // by definition: the union that holds it
	for _, name := range b.file.Names() {
		s := b.file.Definitions[name]
		if s.AnyOf == nil || isMessageUnion(name) || strings.HasPrefix(name, "JSONRPC") {
			continue
		}
		for _, a := range s.AnyOf {
			if a.Ref != "" && methodOf(b.file.Definitions[a.Ref]) != "" {
				embedded[a.Ref] = name
			}
		}
	}
	for _, m := range byMethod {
		switch sends[m.ir.Name] {
		case [2]bool{true, true}:
			m.ir.Direction = ir.EitherWay
		case [2]bool{true, false}:
			m.ir.Direction = ir.ClientToServer
		case [2]bool{false, true}:
			m.ir.Direction = ir.ServerToClient
		default:
			if m.union = embedded[m.ir.Definition]; m.union == "" {
				return b.err(Message, m.def.Pointer, "no union says who sends %q", m.ir.Name)
			}
			m.ir.Embedded = true // its direction follows from where the union travels
		}
		b.methods = append(b.methods, m)
	}
	slices.SortFunc(b.methods, func(x, y *method) int { return strings.Compare(x.ir.Name, y.ir.Name) })
	return nil
}

// lowerMethods makes the params and results of all messages, and with them
// every type that travels.
func (b *builder) lowerMethods() error {
	for _, m := range b.methods {
		if err := b.params(m); err != nil {
			return err
		}
		if !m.ir.Notification {
			if err := b.result(m); err != nil {
				return err
			}
		}
		if err := b.facts(m); err != nil {
			return err
		}
	}
	return nil
}

// params makes the params type of one method: XParams in every revision,
// whether the file spells it out, defines it, or shares it between methods.
func (b *builder) params(m *method) error {
	p := m.def.Properties["params"]
	if p == nil { // nothing is said of them, so they may hold anything
		p = &schema.Schema{Pointer: m.def.Pointer, Types: []string{"object"}}
	}
	goName := camel(m.base) + "Params"
	m.ir.Params = goName
	d, name := b.def(p)
	label := p.Pointer
	if name != "" {
		label = name
		b.reached[name] = true
	}
	for _, u := range b.o.Unions {
		if u.Go == goName && u.Wrap != "" && d.AnyOf == nil {
			b.use(&u.Entry)
			if err := b.structType(d, u.Wrap, label); err != nil {
				return err
			}
			fresh, err := b.claim(goName, "wrap "+u.Wrap, d.Pointer)
			if err == nil && fresh {
				b.types[goName] = &ir.Type{
					Name: goName, Schema: label, Kind: ir.Union, Params: true, Doc: b.doc(goName, "", d.Description),
					Arms: []*ir.Arm{{Type: u.Wrap}},
					Plan: &ir.Plan{Kind: ir.ByTag, Key: u.Key, Absent: u.Wrap, Cases: []*ir.Case{{Value: u.Case, Type: u.Wrap}}},
				}
				b.types[u.Wrap].Params = true
			}
			return err
		}
	}
	switch {
	case d.AnyOf != nil:
		if _, err := b.union(d, goName, label, place{goName, "", true}); err != nil {
			return err
		}
		for _, a := range b.types[goName].Arms {
			b.types[a.Type].Params = true
		}
	case d.Is("object") || d.AllOf != nil:
		if err := b.structType(d, goName, label); err != nil {
			return err
		}
	default:
		return b.err(Message, d.Pointer, "the params of %q are no object", m.ir.Name)
	}
	b.types[goName].Params = true
	return nil
}

// result finds what a request gives: XResultResponse.result where it is
// defined, else XResult, else EmptyResult.
func (b *builder) result(m *method) error {
	base := m.base
	def := base + "Result"
	var outcomes []ir.Outcome
	if response := b.file.Definitions[base+"ResultResponse"]; response != nil {
		b.reached[base+"ResultResponse"] = true
		r := response.Properties["result"]
		if r == nil {
			return b.err(Message, response.Pointer, "a response without result")
		}
		var defs []string
		for _, a := range append([]*schema.Schema{r}, r.AnyOf...) {
			if a.Ref != "" {
				defs = append(defs, a.Ref)
			}
		}
		if i := slices.Index(defs, inputRequired); i >= 0 {
			outcomes = append(outcomes, ir.InputRequired)
			defs = slices.Delete(defs, i, i+1)
			if _, err := b.definition(inputRequired); err != nil {
				return err
			}
		}
		if i := slices.Index(defs, taskCreated); i >= 0 && len(defs) > 1 {
			outcomes = append(outcomes, ir.TaskByType)
			defs = slices.Delete(defs, i, i+1)
			if _, err := b.definition(taskCreated); err != nil {
				return err
			}
		}
		if len(defs) != 1 {
			return b.err(Unclassified, r.Pointer, "a result that is one of %v: resultType tells only %s, %s and one other apart", defs, inputRequired, taskCreated)
		}
		def = defs[0]
	} else if b.file.Definitions[def] == nil {
		def = "EmptyResult"
	}
	if b.file.Definitions[def] == nil {
		return b.err(Message, m.def.Pointer, "there is neither %sResult nor EmptyResult for the result of %q", base, m.ir.Name)
	}
	if err := b.answered(m, def); err != nil {
		return err
	}
	goName, err := b.definition(def)
	if err != nil {
		return err
	}
	m.ir.Result = goName
	if p := b.types[m.ir.Params]; p != nil && b.augmented(p) {
		outcomes = append(outcomes, ir.TaskCreated)
		if _, err := b.definition(taskCreated); err != nil {
			return err
		}
	}
	m.ir.Outcomes = outcomes
	b.paginated(m)
	return nil
}

// The results that stand beside the complete one.
const (
	inputRequired = "InputRequiredResult"
	taskCreated   = "CreateTaskResult"
)

// augmented says whether params can ask for a task in place of the result.
func (b *builder) augmented(p *ir.Type) bool {
	for _, a := range p.Arms {
		if b.augmented(b.types[a.Type]) {
			return true
		}
	}
	return b.file.Definitions[taskCreated] != nil && slices.ContainsFunc(p.Fields, func(f *ir.Field) bool { return f.JSON == "task" && !f.Required })
}

// answered checks a result against the union of what the other side answers.
func (b *builder) answered(m *method, def string) error {
	if !b.strict() {
		return nil
	}
	_, want := b.def(&schema.Schema{Ref: def})
	unions := map[ir.Direction][]string{ir.ClientToServer: {"ServerResult"}, ir.ServerToClient: {"ClientResult"}, ir.EitherWay: {"ServerResult", "ClientResult"}}[m.ir.Direction]
	if m.ir.Embedded {
		unions = []string{strings.Replace(m.union, "Request", "Response", 1)}
	}
	for _, u := range unions {
		s := b.file.Definitions[u]
		if s == nil {
			return b.err(Message, m.def.Pointer, "%s must hold the result of %q, but is not defined", u, m.ir.Name)
		}
		arms, err := b.flattenArms(s, 0)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(arms, func(a arm) bool { return a.def == want }) {
			return b.err(Message, s.Pointer, "%s does not hold %s, the result of %q", u, want, m.ir.Name)
		}
	}
	return nil
}

// definition lowers a definition that a message names and gives its Go name.
func (b *builder) definition(def string) (string, error) {
	s := b.file.Definitions[def]
	if s == nil {
		return "", b.err(Message, "", "there is no definition %s", def)
	}
	b.reached[def] = true
	goName := b.goName(def)
	for _, u := range b.o.Unions {
		if u.Go == goName && u.Keyed != nil && s.AnyOf == nil {
			b.use(&u.Entry)
			return goName, b.keyed(s, goName, def, u.Keyed)
		}
	}
	if s.Ref != "" { // an alias keeps its name beside that of its target
		target, err := b.definition(s.Ref)
		if err != nil {
			return "", err
		}
		fresh, err := b.claim(goName, "alias "+target, s.Pointer)
		if err == nil && fresh {
			b.types[goName] = &ir.Type{Name: goName, Schema: def, Kind: ir.Alias, Target: target, Doc: b.doc(goName, "", s.Description)}
		}
		return goName, err
	}
	ref, err := b.named(s, def, place{goName, "", true})
	if err != nil {
		return "", err
	}
	if ref.Kind != ir.Named {
		if s.Is("object") { // an object without members of its own
			return goName, b.structType(s, goName, def)
		}
		return "", b.err(Unsupported, s.Pointer, "%s is no object", def)
	}
	return ref.Name, nil
}

// paginated notes the list of a result that comes in pages: nextCursor beside one required array.
func (b *builder) paginated(m *method) {
	r, p := b.types[m.ir.Result], b.types[m.ir.Params]
	if r == nil || p == nil {
		return
	}
	has := func(t *ir.Type, json string) bool {
		return slices.ContainsFunc(t.Fields, func(f *ir.Field) bool { return f.JSON == json })
	}
	var lists []*ir.Field
	for _, f := range r.Fields {
		if f.Required && f.Type.Kind == ir.Slice && f.Type.Elem.Kind == ir.Named {
			lists = append(lists, f)
		}
	}
	if has(r, "nextCursor") && has(p, "cursor") && len(lists) == 1 {
		m.ir.Paginated, m.ir.Items, m.ir.Item = true, lists[0].Name, lists[0].Type.Elem.Name
	}
}

// facts adds what only the overlay knows of a method.
func (b *builder) facts(m *method) error {
	found := false
	for _, f := range b.o.Methods {
		if f.Method != m.ir.Name {
			continue
		}
		if found {
			return b.entryErr(Collision, &f.Entry, "%q has another entry", m.ir.Name)
		}
		found = true
		rest, misfit, err := b.fit(m, f)
		if err != nil {
			return err
		}
		if misfit == "" {
			b.use(&f.Entry)
		} else {
			if b.strict() {
				return b.entryErr(Unused, &f.Entry, "%s", misfit)
			}
			b.decide(&Decision{
				Pointer: m.def.Pointer, What: fmt.Sprintf("what %q needs is less than before, as %s: is that so?", m.ir.Name, misfit),
				Entries: spec.Overlay{Methods: []*spec.Method{rest}},
			})
		}
		m.ir.Server, m.ir.Client, m.ir.Lifecycle = rest.Server, rest.Client, rest.Lifecycle
		for _, g := range rest.Gates {
			m.ir.Gates = append(m.ir.Gates, &ir.Gate{Server: g.Server != "", Path: g.Server + g.Client, Members: g.Members, Values: g.Values, Absent: g.Absent, Advice: g.Advice, OrEmpty: g.OrEmpty})
		}
	}
	if found {
		return nil
	}
	if b.strict() {
		return b.err(Message, m.def.Pointer, "the capabilities of %q are not known: add {\"method\": %q} to \"methods\" in the overlay", m.ir.Name, m.ir.Name)
	}
	m.ir.Server, m.ir.Client = b.likely(m.ir)
	needs := "no capability"
	if len(m.ir.Server)+len(m.ir.Client) > 0 {
		needs = "the capability " + strings.Join(slices.Compact(append(slices.Clone(m.ir.Server), m.ir.Client...)), ", ")
	}
	b.decide(&Decision{
		Pointer: m.def.Pointer, What: fmt.Sprintf("%q is taken to need %s, by its name: what does the text of the specification say?", m.ir.Name, needs),
		Entries: spec.Overlay{Methods: []*spec.Method{{Method: m.ir.Name, Server: m.ir.Server, Client: m.ir.Client}}},
	})
	return nil
}

// fit gives the part of an entry that the file has a place for, and why it is
// not all of it.
func (b *builder) fit(m *method, f *spec.Method) (rest *spec.Method, misfit string, err error) {
	rest = &spec.Method{Method: f.Method, Lifecycle: f.Lifecycle}
	for _, side := range []struct {
		name string
		have []string
		to   *[]string
	}{{"Server", f.Server, &rest.Server}, {"Client", f.Client, &rest.Client}} {
		for _, path := range side.have {
			if b.capability(side.name, path) {
				*side.to = append(*side.to, path)
			} else {
				misfit = fmt.Sprintf("%sCapabilities has no %s", side.name, path)
			}
		}
	}
	for _, g := range f.Gates {
		if (g.Server == "") == (g.Client == "") {
			return nil, "", b.entryErr(Unsupported, &f.Entry, "a gate names one side's capability")
		}
		if why := b.fits(g, b.types[m.ir.Params]); why != "" {
			misfit = why
			continue
		}
		rest.Gates = append(rest.Gates, g)
	}
	return rest, misfit, nil
}
