package emit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/goldwire/goldwire/gen/ir"
)

// Step prints the conversions between two revisions. The result maps file names
// (without a folder) to their contents. The code calls functions that a person
// writes beside it, s.Hand; without them it does not build.
func Step(s *ir.StepPackage) (map[string][]byte, error) {
	o, err := newPrinter(s.Older)
	if err != nil {
		return nil, err
	}
	n, err := newPrinter(s.Newer)
	if err != nil {
		return nil, err
	}
	p := &stepPrinter{s: s, o: o, n: n}
	files := []struct {
		name  string
		print func(*jen.File)
	}{
		{"upgrade_gen.go", func(f *jen.File) { p.ways(f, s.Up) }},
		{"downgrade_gen.go", func(f *jen.File) { p.ways(f, s.Down) }},
		{"serve_gen.go", p.serve},
	}
	out := make(map[string][]byte, len(files))
	for _, f := range files {
		file := jen.NewFilePathName(Module+"/generated/"+s.Dir, s.Name)
		file.ImportName(wirePath, "wire")
		file.ImportName(jsonrpcPath, "jsonrpc")
		file.ImportAlias(p.path(o), "older")
		file.ImportAlias(p.path(n), "newer")
		file.HeaderComment(fmt.Sprintf("%s %s (sha256 %s) and", Header, s.Older.Source, s.Older.SourceHash))
		file.HeaderComment(fmt.Sprintf("%s (sha256 %s). DO NOT EDIT.", s.Newer.Source, s.Newer.SourceHash))
		if f.name == "upgrade_gen.go" {
			for _, l := range p.packageDoc() {
				file.PackageComment(comment(l))
			}
		}
		file.Comment("//lint:file-ignore SA1019 what is deprecated is converted all the same")
		file.Line()
		f.print(file)
		for _, err := range []error{o.err, n.err} {
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", s.Name, f.name, err)
			}
		}
		var b bytes.Buffer
		if err := file.Render(&b); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", s.Name, f.name, err)
		}
		out[f.name] = b.Bytes()
	}
	return out, nil
}

// stepPrinter prints one step.
type stepPrinter struct {
	s     *ir.StepPackage
	o, n  *printer
	up    bool
	lists map[string]*ir.Conv // list functions that are called, by name
	loses bool                // members are lost for a reason that is a constant
}

func (p *stepPrinter) packageDoc() []string {
	o, n := p.s.Older.Revision, p.s.Newer.Revision
	return reflow([]string{
		fmt.Sprintf("Package %s converts between the revisions %s (older) and %s (newer): values of every type that both have, and whole servers and clients.", p.s.Name, o, n),
		"",
		"An Upgrade makes a newer value of an older one, a Downgrade the other way round. What they return shares strings, raw values and unchanged parts with what they are " +
			"given. Nil is nil. What the target does not name is left out and noted in the *wire.Env, which may be nil; what it cannot say at all is up to the Env's policy, " +
			"and may be a *wire.ConvertError. Members that neither side names pass as they are, and one that only the source did not know becomes what it is. " +
			"Types that both sides have under one name and with the same values, such as Role, are converted by Go itself.",
	}, width)
}

func (p *stepPrinter) path(g *printer) string { return Module + "/generated/" + g.p.Dir }

// sides are the printers of where values come from and where they go.
func (p *stepPrinter) sides() (from, to *printer) {
	if p.up {
		return p.o, p.n
	}
	return p.n, p.o
}

func (p *stepPrinter) src(name string) *jen.Statement {
	from, _ := p.sides()
	return jen.Qual(p.path(from), name)
}

func (p *stepPrinter) dst(name string) *jen.Statement {
	_, to := p.sides()
	return jen.Qual(p.path(to), name)
}

func (p *stepPrinter) verb() (exported, inner, hand string) {
	if p.up {
		return "Upgrade", "up", "upgrade"
	}
	return "Downgrade", "down", "downgrade"
}

func (p *stepPrinter) exported(w *ir.Way) string { v, _, _ := p.verb(); return v + p.name(w) }
func (p *stepPrinter) inner(w *ir.Way) string    { _, v, _ := p.verb(); return v + p.name(w) }
func (p *stepPrinter) hand(name string) *jen.Statement {
	_, _, v := p.verb()
	return jen.Id(v + name)
}

// name is a type's name in the newer revision.
func (p *stepPrinter) name(w *ir.Way) string {
	if w.Up {
		return w.To.Name
	}
	return w.From.Name
}

func env() *jen.Statement            { return jen.Id("e") }
func in(name string) *jen.Statement  { return jen.Id("in").Dot(name) }
func out(name string) *jen.Statement { return jen.Id("out").Dot(name) }
func envParam() jen.Code             { return env().Op("*").Add(wire("Env")) }

// typ is a Go type of one of the two packages.
func (p *stepPrinter) typ(g *printer, r *ir.Ref) *jen.Statement {
	switch r.Kind {
	case ir.Named:
		return jen.Qual(p.path(g), r.Name)
	case ir.Slice:
		return jen.Index().Add(p.typ(g, r.Elem))
	case ir.Map:
		return jen.Map(jen.String()).Add(p.typ(g, r.Elem))
	}
	return g.goType(r)
}

// ways prints all conversions in one direction.
func (p *stepPrinter) ways(f *jen.File, ways []*ir.Way) {
	if len(ways) == 0 {
		return
	}
	p.up = ways[0].Up
	p.lists = map[string]*ir.Conv{}
	from, to := p.sides()
	p.loses = false
	for _, w := range ways {
		switch w.Kind {
		case ir.CastEnum:
		case ir.ByArm:
			p.union(f, w)
		case ir.EachElem:
			p.namedMap(f, w)
		default:
			p.entry(f, w)
			switch w.Kind {
			case ir.ByMember:
				p.members(f, w)
			case ir.Items:
				p.items(f, w)
			case ir.CheckRaw:
				p.checkRaw(f, w)
			}
		}
	}
	if p.loses {
		doc(f, fmt.Sprintf("%s is why a member of %s is lost.", p.gone(), from.p.Revision))
		f.Const().Id(p.gone()).Op("=").Lit("no member of revision " + to.p.Revision)
	}
	for done := map[string]bool{}; len(done) < len(p.lists); {
		for _, name := range sorted(p.lists) {
			if !done[name] {
				done[name] = true
				p.list(f, name, p.lists[name])
			}
		}
	}
}

func (p *stepPrinter) gone() string {
	if p.up {
		return "goneUp"
	}
	return "goneDown"
}

// wayDoc is the comment of a conversion.
func (p *stepPrinter) wayDoc(w *ir.Way) string {
	from, to := p.sides()
	text := fmt.Sprintf("%s makes the %s of %s from that of %s.", p.exported(w), w.To.Name, to.p.Revision, from.p.Revision)
	if w.From.Name != w.To.Name {
		text = fmt.Sprintf("%s makes the %s of %s from the %s of %s.", p.exported(w), w.To.Name, to.p.Revision, w.From.Name, from.p.Revision)
	}
	if w.Kind == ir.Share {
		return text + " Both are the same, and the result is in itself."
	}
	var lost []string
	for _, m := range w.Moves {
		if m.Kind == ir.DropMember {
			lost = append(lost, m.From.JSON)
		}
	}
	if lost != nil {
		text += " It has no " + enumerate(lost, "or") + "."
	}
	var arms []string
	for _, a := range w.ArmMoves {
		if a.Way == nil {
			arms = append(arms, "*"+a.From)
		}
	}
	if arms != nil && !p.up {
		text += " It knows no " + enumerate(arms, "or") + "."
	}
	return text
}

func enumerate(list []string, last string) string {
	if len(list) == 1 {
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " " + last + " " + list[len(list)-1]
}

// entry prints the exported function of a type that is a struct in Go.
func (p *stepPrinter) entry(f *jen.File, w *ir.Way) {
	docf(f, "%s", p.wayDoc(w))
	param := envParam()
	if w.Sure {
		param = jen.Id("_").Op("*").Add(wire("Env"))
	}
	f.Func().Id(p.exported(w)).Params(jen.Id("in").Op("*").Add(p.src(w.From.Name)), param).Params(jen.Op("*").Add(p.dst(w.To.Name)), jen.Error()).BlockFunc(func(b *jen.Group) {
		if w.Kind == ir.Share {
			b.Return(jen.Parens(jen.Op("*").Add(p.dst(w.To.Name))).Call(jen.Id("in")), jen.Nil())
			return
		}
		b.If(jen.Id("in").Op("==").Nil()).Block(jen.Return(jen.Nil(), jen.Nil()))
		b.Id("out").Op(":=").New(p.dst(w.To.Name))
		switch {
		case w.Sure:
			b.Id(p.inner(w)).Call(jen.Id("out"), jen.Id("in"))
		case w.Kind == ir.WholeHand:
			b.Add(try(p.hand(p.name(w)).Call(jen.Id("in"), jen.Id("out"), env()), jen.Nil()))
		default:
			b.Add(try(jen.Id(p.inner(w)).Call(jen.Id("out"), jen.Id("in"), env()), jen.Nil()))
		}
		b.Return(jen.Id("out"), jen.Nil())
	})
}

// block collects the statements of a function, and which variables they use.
type block struct {
	code []jen.Code
	vars *vars
	zero []jen.Code // what is returned before an error
}

type vars struct{ mark, err bool }

func (b *block) add(code ...jen.Code) { b.code = append(b.code, code...) }

// nested collects the statements of a block inside.
func (b *block) nested(fill func(*block)) []jen.Code {
	n := &block{vars: b.vars, zero: b.zero}
	fill(n)
	return n.code
}

// mark is: m = e.Mark().
func (b *block) mark() {
	b.vars.mark = true
	b.add(jen.Id("m").Op("=").Add(env()).Dot("Mark").Call())
}

// fail is: return zero, err.
func (b *block) fail(err jen.Code) jen.Code {
	return jen.Return(append(b.zero[:len(b.zero):len(b.zero)], err)...)
}

// body is a function's body. The function returns zero before an error.
func body(zero []jen.Code, fill func(*block)) []jen.Code {
	b := &block{vars: new(vars), zero: zero}
	fill(b)
	var decl []jen.Code
	switch v := b.vars; {
	case v.mark && v.err:
		decl = []jen.Code{jen.Var().Defs(jen.Id("m").Int(), jen.Err().Error())}
	case v.mark:
		decl = []jen.Code{jen.Var().Id("m").Int()}
	case v.err:
		decl = []jen.Code{jen.Var().Err().Error()}
	}
	return append(decl, b.code...)
}

// inner prints the function that fills out from in.
func (p *stepPrinter) innerFunc(f *jen.File, w *ir.Way, fill func(*block)) {
	f.Line()
	fn := f.Func().Id(p.inner(w))
	o, i := jen.Id("out").Op("*").Add(p.dst(w.To.Name)), jen.Id("in").Op("*").Add(p.src(w.From.Name))
	if w.Sure {
		fn.Params(o, i).Block(body(nil, fill)...)
		return
	}
	fn.Params(o, i, envParam()).Error().Block(append(body(nil, fill), jen.Return(jen.Nil()))...)
}

// members prints the conversion of a struct.
func (p *stepPrinter) members(f *jen.File, w *ir.Way) {
	_, to := p.sides()
	p.innerFunc(f, w, func(b *block) {
		for _, m := range w.Moves {
			if m.Kind == ir.SetDefault {
				b.add(out(m.To.Name).Op("=").Add(p.literal(to, m.To)))
			}
		}
		if !w.To.Closed {
			b.add(out("Extra").Op("=").Add(in("Extra")))
			if len(w.Takes) > 0 {
				names := []jen.Code{env(), jen.Op("&").Add(out("Extra"))}
				for _, t := range w.Takes {
					names = append(names, jen.Lit(t.JSON))
				}
				b.add(jen.If(jen.Len(in("Extra")).Op(">").Lit(0)).BlockFunc(func(g *jen.Group) {
					g.List(jen.Id("t"), jen.Err()).Op(":=").Add(wire("Take")).Index(p.dst(w.To.Name)).Call(names...)
					g.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err()))
					g.If(jen.Id("t").Op("!=").Nil()).BlockFunc(func(g *jen.Group) {
						for _, t := range w.Takes {
							g.Add(out(t.Name).Op("=").Id("t").Dot(t.Name))
						}
					})
				}))
			}
		}
		for _, m := range w.Moves {
			switch m.Kind {
			case ir.Convert:
				p.move(b, m)
			case ir.DropMember, ir.MustDefault:
				p.drop(b, w, m)
			}
		}
		for _, m := range w.Moves {
			if m.Kind == ir.HandMember {
				fl := m.To
				if fl == nil {
					fl = m.From
				}
				b.add(try(p.hand(p.name(w)+fl.Name).Call(jen.Id("in"), jen.Id("out"), env())))
			}
		}
	})
}

// literal is the Go value of the default of a member.
func (p *stepPrinter) literal(g *printer, fl *ir.Field) jen.Code {
	if fl.Type.Kind == ir.Named {
		t := g.typ(fl.Type.Name)
		var v string
		if t.Kind == ir.Enum && json.Unmarshal([]byte(fl.Default.JSON), &v) == nil {
			for _, e := range t.Values {
				if e.Value == v {
					return jen.Qual(p.path(g), e.Name)
				}
			}
			return jen.Lit(v)
		}
		if t.Kind == ir.Struct && fl.Default.JSON == "{}" {
			return jen.Qual(p.path(g), t.Name).Values()
		}
	}
	if fl.Type.Kind == ir.Slice || fl.Type.Kind == ir.Map {
		return p.typ(g, &fl.Type).Values()
	}
	return g.literal(fl)
}

// drop prints what becomes of a member that the target does not name.
func (p *stepPrinter) drop(b *block, w *ir.Way, m *ir.Move) {
	from, to := p.sides()
	fl := m.From
	v := in(fl.Name)
	var cond *jen.Statement
	if fl.Required {
		said := fl.Default
		switch {
		case said != nil && (fl.Type.Kind == ir.Slice || fl.Type.Kind == ir.Map || fl.Type.Kind == ir.RawAny || fl.Type.Kind == ir.RawObject):
			cond = jen.Len(v).Op(">").Lit(0)
		case said != nil && !(fl.Type.Kind == ir.Named && from.typ(fl.Type.Name).Kind == ir.Struct):
			cond = v.Clone().Op("!=").Add(p.literal(from, fl))
			if said.Zero {
				cond.Op("&&").Add(v).Op("!=").Lit("")
			}
		}
	} else {
		cond = v.Clone().Op("!=").Nil()
		if fl.Type.Kind == ir.ID {
			cond = jen.Op("!").Add(v).Dot("IsZero").Call()
		}
		var implied any
		if fl.Implied != "" && from.pointer(fl) && json.Unmarshal([]byte(fl.Implied), &implied) == nil {
			switch implied.(type) {
			case string, bool:
				cond.Op("&&").Op("*").Add(v).Op("!=").Lit(implied)
			}
		}
	}
	var lose jen.Code
	switch {
	case m.Kind == ir.MustDefault:
		lose = jen.Return(env().Dot("Cannot").Call(jen.Lit(fl.JSON), jen.Lit("revision "+to.p.Revision+" has only what "+fl.Default.JSON+" is here")))
	case w.To.Closed:
		p.loses = true
		lose = env().Dot("Lose").Call(jen.Lit(fl.JSON), jen.Id(p.gone()))
	default:
		p.loses = true
		lose = env().Dot("Member").Call(jen.Op("&").Add(out("Extra")), jen.Lit(fl.JSON), jen.Id(p.gone()), jen.Id("in"))
	}
	if cond == nil {
		b.add(lose)
		return
	}
	b.add(jen.If(cond).Block(lose))
}

// move prints the conversion of a member that both have.
func (p *stepPrinter) move(b *block, m *ir.Move) {
	from, to := p.sides()
	fp, tp := from.pointer(m.From), to.pointer(m.To)
	src, dst := in(m.From.Name), out(m.To.Name)
	c := m.Conv
	name := m.From.JSON
	present := src.Clone().Op("!=").Nil()
	if m.From.Type.Kind == ir.ID {
		present = jen.Op("!").Add(src).Dot("IsZero").Call()
	}
	switch c.Kind {
	case ir.Assign, ir.Cast:
		to := jen.Code(p.typ(to, c.To))
		cast := func(v jen.Code) jen.Code {
			if c.Kind == ir.Assign {
				return v
			}
			return jen.Add(to).Call(v)
		}
		widened := c.From.Kind == ir.Int && c.Kind == ir.Cast // a pointer to one is none to the other
		switch {
		case fp && tp && widened:
			b.add(jen.If(present).Block(dst.Op("=").New(cast(jen.Op("*").Add(src)))))
		case fp && tp && c.Kind == ir.Cast:
			b.add(dst.Op("=").Parens(jen.Op("*").Add(to)).Call(src))
		case fp == tp:
			b.add(dst.Op("=").Add(cast(src)))
		case tp:
			b.add(dst.Op("=").New(cast(src)))
		default:
			b.add(jen.If(present).Block(dst.Op("=").Add(cast(jen.Op("*").Add(src)))).Add(p.fill(m)))
		}
		return
	case ir.ObjectOnly, ir.FromRaw:
		b.vars.err = true
		call := wire("Object").Call(env(), jen.Lit(name), src)
		if c.Kind == ir.FromRaw {
			call = wire("Read").Index(p.typ(to, c.To)).Call(env(), jen.Lit(name), src)
		}
		b.add(jen.If(jen.List(dst, jen.Err()).Op("=").Add(call), jen.Err().Op("!=").Nil()).Block(b.fail(jen.Err())))
		return
	case ir.ByHand:
		call := func(b *block) {
			b.mark()
			b.vars.err = true
			b.add(jen.List(dst, jen.Err()).Op("=").Id(c.Func).Call(place{src, fp}.addr(), env()))
			b.add(jen.If(jen.Err().Op("=").Add(env()).Dot("At").Call(jen.Id("m"), jen.Lit(name), jen.Err()), jen.Err().Op("!=").Nil()).Block(b.fail(jen.Err())))
		}
		if !fp {
			call(b)
			return
		}
		b.add(jen.If(present).Block(b.nested(call)...))
		return
	case ir.ToRaw:
		set := dst.Clone().Op("=").Add(src).Dot("AppendJSON").Call(jen.Nil())
		if fp {
			b.add(jen.If(present).Block(set))
		} else {
			b.add(set)
		}
		return
	}
	optional := !m.To.Required
	one := func(b *block) {
		if tp {
			b.add(dst.Clone().Op("=").New(p.typ(to, c.To)))
		}
		p.value(b, c, place{dst, tp}, place{src, fp}, func(err jen.Code) jen.Code {
			return env().Dot("At").Call(jen.Id("m"), jen.Lit(name), err)
		}, name, func() []jen.Code {
			if !optional {
				return nil
			}
			return []jen.Code{dst.Clone().Op("=").Nil()}
		})
	}
	if !fp {
		one(b)
		return
	}
	cond := jen.If(present).Block(b.nested(one)...)
	if !tp {
		cond.Add(p.fill(m))
	}
	b.add(cond)
}

// fill is what stands for a member that is absent and is required in the
// target: its default, or what an empty one becomes.
func (p *stepPrinter) fill(m *ir.Move) jen.Code {
	_, to := p.sides()
	switch {
	case !m.To.Required:
		return jen.Null()
	case m.To.Default != nil:
		return jen.Else().Block(out(m.To.Name).Op("=").Add(p.literal(to, m.To)))
	case m.Conv.Kind == ir.Call:
		v := jen.Op("&").Add(p.src(m.Conv.From.Name)).Values()
		call := jen.Id(p.inner(m.Conv.Way)).Call(jen.Op("&").Add(out(m.To.Name)), v, env())
		if m.Conv.Way.Sure {
			return jen.Else().Block(jen.Id(p.inner(m.Conv.Way)).Call(jen.Op("&").Add(out(m.To.Name)), v))
		}
		return jen.Else().Block(jen.If(
			jen.Err().Op(":=").Add(env()).Dot("At").Call(env().Dot("Mark").Call(), jen.Lit(m.From.JSON), call), jen.Err().Op("!=").Nil(),
		).Block(jen.Return(jen.Err())))
	}
	return jen.Null()
}

// place is a variable, or a pointer to one.
type place struct {
	expr *jen.Statement
	ptr  bool
}

func (p place) value() *jen.Statement {
	if p.ptr {
		return jen.Parens(jen.Op("*").Add(p.expr))
	}
	return p.expr.Clone()
}

func (p place) addr() jen.Code {
	if p.ptr {
		return p.expr.Clone()
	}
	return jen.Op("&").Add(p.expr)
}

// value prints the conversion of source into target, both of which are as
// required members and list elements are. at puts the value's place before an error and
// the losses since the mark; leave is what is done when the value cannot be
// said and may be left out, nil if it may not.
func (p *stepPrinter) value(b *block, c *ir.Conv, target, source place, at func(jen.Code) jen.Code, name string, leave func() []jen.Code) {
	dst, src := target.value(), source.value()
	_, to := p.sides()
	check := func(omits bool, err jen.Code) {
		gone := leave()
		if gone == nil || !omits {
			b.add(jen.If(err, jen.Err().Op("!=").Nil()).Block(b.fail(jen.Err())))
			return
		}
		b.add(err)
		b.add(jen.If(env().Dot("Omit").Call(jen.Id("m"), jen.Err())).Block(gone...).Else().If(jen.Err().Op("!=").Nil()).Block(b.fail(jen.Err())))
	}
	call := func(lhs []jen.Code, call jen.Code, omits bool) {
		b.mark()
		b.vars.err = true
		if lhs != nil {
			b.add(jen.List(append(lhs, jen.Err())...).Op("=").Add(call))
			call = jen.Err()
		}
		check(omits, jen.Err().Op("=").Add(at(call)))
	}
	switch c.Kind {
	case ir.Assign:
		b.add(dst.Clone().Op("=").Add(src))
	case ir.Cast:
		b.add(dst.Clone().Op("=").Add(p.typ(to, c.To)).Call(src))
	case ir.ToRaw:
		b.add(dst.Clone().Op("=").Add(src).Dot("AppendJSON").Call(jen.Nil()))
	case ir.Call:
		w := c.Way
		switch {
		case w.Kind == ir.EachElem && w.Sure:
			b.add(jen.List(dst, jen.Id("_")).Op("=").Id(p.exported(w)).Call(src, jen.Nil()).Comment("// it cannot fail"))
		case w.Kind == ir.ByArm, w.Kind == ir.EachElem:
			call([]jen.Code{dst}, jen.Id(p.exported(w)).Call(src, env()), w.Omits)
		case w.Sure:
			b.add(jen.Id(p.inner(w)).Call(target.addr(), source.addr()))
		case w.Kind == ir.WholeHand:
			call(nil, p.hand(p.name(w)).Call(source.addr(), target.addr(), env()), true)
		default:
			call(nil, jen.Id(p.inner(w)).Call(target.addr(), source.addr(), env()), w.Omits)
		}
	case ir.EachOf:
		fn := p.listOf(c)
		if p.sure(c) {
			b.add(dst.Clone().Op("=").Id(fn).Call(src))
		} else {
			call([]jen.Code{dst}, jen.Id(fn).Call(src, env()), false)
		}
	case ir.OnlyOne:
		cannot := env().Dot("Cannot").Call(jen.Lit(name), jen.Lit("has to be one there, not several"))
		items := src.Clone().Dot("Items")
		b.add(jen.If(jen.Len(items).Op("!=").Lit(1)).Block(b.fail(cannot)))
		p.value(b, c.Elem, target, place{items.Clone().Index(jen.Lit(0)), false}, at, name, func() []jen.Code { return nil })
	case ir.AsOne:
		items := dst.Clone().Dot("Items")
		b.add(items.Clone().Op("=").Make(jen.Index().Add(p.typ(to, c.Elem.To)), jen.Lit(1)))
		p.value(b, c.Elem, place{items.Clone().Index(jen.Lit(0)), false}, source, at, name, func() []jen.Code { return nil })
	default:
		to.fail("%s: no rule to convert it (kind %d)", name, c.Kind)
	}
}

// sure says whether a conversion can neither fail nor lose anything.
func (p *stepPrinter) sure(c *ir.Conv) bool {
	switch c.Kind {
	case ir.Assign, ir.Cast, ir.ToRaw:
		return true
	case ir.Call:
		return c.Way.Sure
	case ir.EachOf, ir.AsOne:
		return p.sure(c.Elem)
	}
	return false
}

// omits says whether an element may be one that the target cannot say.
func (p *stepPrinter) omits(c *ir.Conv) bool {
	switch c.Kind {
	case ir.Call:
		return c.Way.Omits
	case ir.OnlyOne:
		return true
	case ir.AsOne:
		return p.omits(c.Elem)
	}
	return false
}

// listOf names the function that converts a list or map; it is printed when it
// is used.
func (p *stepPrinter) listOf(c *ir.Conv) string {
	from, to := p.sides()
	_, inner, _ := p.verb()
	g, r := to, c.To
	if !p.up {
		g, r = from, c.From
	}
	name := inner + capital(g.listName(r))
	p.lists[name] = c
	return name
}

// list prints the conversion of a list or map.
func (p *stepPrinter) list(f *jen.File, name string, c *ir.Conv) {
	from, to := p.sides()
	sure := p.sure(c)
	f.Line()
	fn := f.Func().Id(name)
	params := []jen.Code{jen.Id("in").Add(p.typ(from, c.From))}
	result := p.typ(to, c.To)
	if sure {
		fn.Params(params...).Add(result)
	} else {
		fn.Params(append(params, envParam())...).Params(result, jen.Error())
	}
	ret := func(v jen.Code) jen.Code {
		if sure {
			return jen.Return(v)
		}
		return jen.Return(v, jen.Nil())
	}
	zero := []jen.Code{jen.Nil()}
	if c.From.Kind == ir.Map {
		fn.Block(body(zero, func(b *block) {
			b.add(jen.If(jen.Id("in").Op("==").Nil()).Block(ret(jen.Nil())))
			p.eachKey(b, c.Elem, result, p.typ(to, c.Elem.To), sure)
			b.add(ret(jen.Id("out")))
		})...)
		return
	}
	fn.Block(body(zero, func(b *block) {
		b.add(jen.If(jen.Id("in").Op("==").Nil()).Block(ret(jen.Nil())))
		b.add(ret(p.each(b, c.Elem, jen.Id("in"), jen.Id("out"), result, jen.Op(":="), func(i, err jen.Code) jen.Code {
			return env().Dot("AtIndex").Call(jen.Id("m"), i, err)
		})))
	})...)
}

// each prints the loop that converts a list, and gives the expression of the
// result.
func (p *stepPrinter) each(b *block, c *ir.Conv, in, out, typ, set *jen.Statement, at func(i, err jen.Code) jen.Code) jen.Code {
	omits := p.omits(c)
	i, n := jen.Id("i"), jen.Id("i")
	if omits {
		n = jen.Id("n")
	}
	b.add(out.Clone().Add(set).Make(typ, jen.Len(in)))
	if omits {
		b.add(n.Clone().Op(":=").Lit(0))
	}
	b.add(jen.For(i.Clone().Op(":=").Range().Add(in)).Block(b.nested(func(b *block) {
		p.value(b, c, place{out.Clone().Index(n), false}, place{in.Clone().Index(i), false}, func(err jen.Code) jen.Code { return at(i, err) }, "", func() []jen.Code {
			return []jen.Code{jen.Clear(out.Clone().Index(n.Clone().Op(":").Add(n).Op("+").Lit(1))), jen.Continue()}
		})
		if omits {
			b.add(n.Clone().Op("++"))
		}
	})...))
	if omits {
		return out.Clone().Index(jen.Op(":").Id("n"))
	}
	return out
}

// eachKey prints the loop that converts the map in.
func (p *stepPrinter) eachKey(b *block, c *ir.Conv, typ, elem *jen.Statement, sure bool) {
	b.add(jen.Id("out").Op(":=").Make(typ, jen.Len(jen.Id("in"))))
	fill := func(b *block) {
		at := func(err jen.Code) jen.Code { return env().Dot("At").Call(jen.Id("m"), jen.Id("k"), err) }
		if c.Kind == ir.Assign || c.Kind == ir.Cast || c.Kind == ir.ToRaw {
			p.value(b, c, place{jen.Id("out").Index(jen.Id("k")), false}, place{jen.Id("x"), false}, at, "", func() []jen.Code { return nil })
			return
		}
		b.add(jen.Var().Id("v").Add(elem))
		p.value(b, c, place{jen.Id("v"), false}, place{jen.Id("x"), false}, at, "", func() []jen.Code { return []jen.Code{jen.Continue()} })
		b.add(jen.Id("out").Index(jen.Id("k")).Op("=").Id("v"))
	}
	if sure {
		b.add(jen.For(jen.List(jen.Id("k"), jen.Id("x")).Op(":=").Range().Id("in")).Block(b.nested(fill)...))
		return
	}
	b.add(jen.For(jen.List(jen.Id("_"), jen.Id("k")).Op(":=").Range().Add(wire("Keys")).Call(jen.Id("in"))).Block(
		append([]jen.Code{jen.Id("x").Op(":=").Id("in").Index(jen.Id("k"))}, b.nested(fill)...)...,
	))
}

// namedMap prints the conversion of a named map.
func (p *stepPrinter) namedMap(f *jen.File, w *ir.Way) {
	_, to := p.sides()
	docf(f, "%s", p.wayDoc(w))
	f.Func().Id(p.exported(w)).Params(jen.Id("in").Add(p.src(w.From.Name)), envParam()).Params(p.dst(w.To.Name), jen.Error()).Block(body([]jen.Code{jen.Nil()}, func(b *block) {
		b.add(jen.If(jen.Id("in").Op("==").Nil()).Block(jen.Return(jen.Nil(), jen.Nil())))
		p.eachKey(b, w.Elem, p.dst(w.To.Name), p.typ(to, w.Elem.To), p.sure(w.Elem))
		b.add(jen.Return(jen.Id("out"), jen.Nil()))
	})...)
}

// items prints the conversion of one or many.
func (p *stepPrinter) items(f *jen.File, w *ir.Way) {
	_, to := p.sides()
	p.innerFunc(f, w, func(b *block) {
		b.add(out("Array").Op("=").Add(in("Array")))
		b.add(jen.If(in("Items").Op("==").Nil()).Block(func() jen.Code {
			if w.Sure {
				return jen.Return()
			}
			return jen.Return(jen.Nil())
		}()))
		res := p.each(b, w.Elem, in("Items"), out("Items"), jen.Index().Add(p.typ(to, w.Elem.To)), jen.Op("="), func(i, err jen.Code) jen.Code {
			return env().Dot("AtItem").Call(jen.Id("m"), i, in("Array").Op("||").Len(in("Items")).Op("!=").Lit(1), err)
		})
		b.add(out("Items").Op("=").Add(res))
	})
}

// checkRaw prints the conversion of a raw union that may hold less.
func (p *stepPrinter) checkRaw(f *jen.File, w *ir.Way) {
	p.innerFunc(f, w, func(b *block) {
		kinds := map[string]bool{}
		for _, k := range w.To.Raws {
			kinds[map[ir.RawKind]string{
				ir.RawString: "KindString", ir.RawInt: "KindNumber", ir.RawFloat: "KindNumber", ir.RawBool: "KindBool", ir.RawStrings: "KindArray",
			}[k]] = true
		}
		cases := []jen.Code{wire("KindNone")}
		for _, k := range sorted(kinds) {
			cases = append(cases, wire(k))
		}
		b.add(jen.Switch(in("Raw").Dot("Kind").Call()).Block(
			jen.Case(cases...),
			jen.Default().Block(jen.Return(env().Dot("Cannot").Call(jen.Lit(""), jen.Lit("a value of this kind is not known there")))),
		))
		b.add(out("Raw").Op("=").Add(in("Raw")))
	})
}

// union prints the conversion of a union.
func (p *stepPrinter) union(f *jen.File, w *ir.Way) {
	docf(f, "%s", p.wayDoc(w))
	f.Func().Id(p.exported(w)).Params(jen.Id("in").Add(p.src(w.From.Name)), envParam()).Params(p.dst(w.To.Name), jen.Error()).Block(
		jen.Switch(jen.Id("in").Op(":=").Id("in").Assert(jen.Type())).BlockFunc(func(g *jen.Group) {
			g.Case(jen.Nil()).Block(jen.Return(jen.Nil(), jen.Nil()))
			isNil := jen.If(jen.Id("in").Op("==").Nil()).Block(jen.Return(jen.Nil(), jen.Nil()))
			for _, a := range w.ArmMoves {
				g.Case(jen.Op("*").Add(p.src(a.From))).BlockFunc(func(g *jen.Group) {
					g.Add(isNil)
					switch {
					case a.Way == nil:
						g.Return(p.hand(p.name(w)+a.From).Call(jen.Id("in"), env()))
					case a.Way.Kind == ir.Share:
						g.Return(jen.Parens(jen.Op("*").Add(p.dst(a.Way.To.Name))).Call(jen.Id("in")), jen.Nil())
					case a.Way.Sure:
						g.Id("out").Op(":=").New(p.dst(a.Way.To.Name))
						g.Id(p.inner(a.Way)).Call(jen.Id("out"), jen.Id("in"))
						g.Return(jen.Id("out"), jen.Nil())
					default:
						g.Id("out").Op(":=").New(p.dst(a.Way.To.Name))
						g.Add(try(jen.Id(p.inner(a.Way)).Call(jen.Id("out"), jen.Id("in"), env()), jen.Nil()))
						g.Return(jen.Id("out"), jen.Nil())
					}
				})
			}
			g.Case(jen.Op("*").Add(p.src(unknownName(w.From)))).Block(
				isNil,
				jen.List(jen.Id("out"), jen.Err()).Op(":=").Add(wire("Again")).Call(jen.Id("in").Dot("Raw"), p.dst(decodeName(w.To))),
				jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), env().Dot("Foreign").Call(jen.Err()))),
				jen.Return(jen.Id("out"), jen.Nil()),
			)
		}),
		jen.Return(jen.Nil(), env().Dot("Cannot").Call(jen.Lit(""), jen.Lit("no such value"))),
	)
}

// HandStub is the declaration, without a body, of a function that a person
// writes beside the printed conversions.
func HandStub(h *ir.Hand) string {
	from, to := "newer", "older"
	if h.Up {
		from, to = to, from
	}
	const env = "e *wire.Env"
	switch {
	case h.Error:
		return fmt.Sprintf("func %s(method string, err error) error", h.Func)
	case h.Side != "":
		return fmt.Sprintf("func %s(in *%s.%s, out *%s.%s)", h.Func, from, h.Side, to, h.Side)
	case h.Arm != nil:
		return fmt.Sprintf("func %s(in *%s.%s, %s) (%s.%s, error)", h.Func, from, h.Arm.Name, env, to, h.Union.Name)
	case h.Raw:
		return fmt.Sprintf("func %s(in *%s.%s, %s) (wire.Raw, error)", h.Func, from, h.Type.Name, env)
	}
	return fmt.Sprintf("func %s(in *%s.%s, out *%s.%s, %s) error", h.Func, from, h.Type.Name, to, h.To.Name, env)
}
