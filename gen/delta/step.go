package delta

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
)

// Step works out how values are converted between two revisions that follow
// one another. Each change of a type that both have is settled by what the
// models say, by one of [rules], or by a function that a person writes; those
// are listed.
func Step(older, newer *ir.Package) (*ir.StepPackage, error) {
	date := strings.ReplaceAll(newer.Revision, "-", "")
	s := &ir.StepPackage{Older: older, Newer: newer, Name: "step" + date, Dir: path.Join(path.Dir(newer.Dir), "step"+date)}
	names := renames(older, newer)
	p := &planner{older: index(older), newer: index(newer), toNewer: map[string]string{}, toOlder: map[string]string{}, rules: rulesOf(newer.Revision), hand: map[string]*ir.Hand{}}
	for _, t := range newer.Types {
		from := t.Name
		for o, n := range names {
			if n == t.Name {
				from = o
			}
		}
		if isPayload(t) && isPayload(p.older.byName[from]) && !p.rules.apart(t.Name) {
			p.toNewer[from], p.toOlder[t.Name] = t.Name, from
		}
	}
	for _, t := range newer.Types {
		from := p.toOlder[t.Name]
		if from == "" {
			continue
		}
		for _, up := range []bool{true, false} {
			w, err := p.way(up, t.Name)
			if err != nil {
				return nil, err
			}
			if up {
				s.Up = append(s.Up, w)
			} else {
				s.Down = append(s.Down, w)
			}
		}
	}
	p.sure(s)
	p.methods(s)
	for _, side := range []string{"Server", "Client"} {
		for _, up := range []bool{true, false} {
			if p.rules.take(side, "", up) == hand {
				p.needs(&ir.Hand{Func: verb(up) + side, Why: side + " by a rule", Up: up, Side: side})
			}
		}
	}
	if older.Stateless != newer.Stateless {
		for _, up := range []bool{true, false} {
			name := "DowngradeError"
			if up {
				name = "UpgradeError"
			}
			p.needs(&ir.Hand{Func: name, Why: "codes of errors change with the handshake", Up: up, Error: true})
		}
	}
	for _, name := range sortedKeys(p.hand) {
		s.Hand = append(s.Hand, p.hand[name])
	}
	return s, p.rules.unused(newer.Revision)
}

// methods asks for what joins the methods whose params or result are another
// type in the newer revision, and not the same one changed.
func (p *planner) methods(s *ir.StepPackage) {
	for _, n := range s.Newer.Methods {
		i := slices.IndexFunc(s.Older.Methods, func(o *ir.Method) bool { return o.Name == n.Name })
		if i < 0 {
			continue
		}
		o := s.Older.Methods[i]
		if o.Lifecycle || n.Lifecycle || p.same(o.Params, n.Params) && (n.Notification || p.same(o.Result, n.Result)) {
			continue
		}
		for side, sent := range map[string]ir.Direction{"Server": ir.ServerToClient, "Client": ir.ClientToServer} {
			for _, up := range []bool{true, false} {
				if n.Direction != sent {
					p.needs(&ir.Hand{Func: verb(up) + side, Why: n.Name + " has other params or another result", Up: up, Side: side})
				}
			}
		}
	}
}

// same says whether a type of the older revision is converted to one of the
// newer, or a rule keeps them apart.
func (p *planner) same(older, newer string) bool {
	o, n := p.older.typ(older), p.newer.typ(newer)
	if o == nil || n == nil {
		return o == n
	}
	return p.toNewer[o.Name] == n.Name || p.rules.apart(n.Name)
}

// planner works out one step.
type planner struct {
	older, newer     *pkg
	toNewer, toOlder map[string]string // Go names of the types that both have
	ways             [2]map[string]*ir.Way
	rules            *ruleSet
	hand             map[string]*ir.Hand
}

func verb(up bool) string {
	if up {
		return "upgrade"
	}
	return "downgrade"
}

// sides gives where values come from and where they go.
func (p *planner) sides(up bool) (from, to *pkg) {
	if up {
		return p.older, p.newer
	}
	return p.newer, p.older
}

// pair is the name of a type on the other side, "" if it has none there.
func (p *planner) pair(up bool, name string) string {
	from, _ := p.sides(up)
	if t := from.typ(name); t != nil {
		name = t.Name
	}
	if up {
		return p.toNewer[name]
	}
	return p.toOlder[name]
}

func (p *planner) needs(h *ir.Hand) { p.hand[h.Func] = h }

// way is the conversion of the type that has a name in the newer revision.
func (p *planner) way(up bool, name string) (*ir.Way, error) {
	i := 0
	if up {
		i = 1
	}
	if p.ways[i] == nil {
		p.ways[i] = map[string]*ir.Way{}
	}
	if w := p.ways[i][name]; w != nil {
		return w, nil
	}
	o, n := p.older.byName[p.toOlder[name]], p.newer.byName[name]
	w := &ir.Way{Up: up, From: o, To: n}
	if !up {
		w.From, w.To = n, o
	}
	p.ways[i][name] = w
	return w, p.fill(w, name)
}

func (p *planner) fill(w *ir.Way, name string) error {
	if w.From.Kind != w.To.Kind || w.From.Closed != w.To.Closed {
		w.Kind = ir.WholeHand
		p.needs(&ir.Hand{Func: verb(w.Up) + name, Why: fmt.Sprintf("%s is a %s there and a %s here", name, kindNames[w.From.Kind], kindNames[w.To.Kind]), Up: w.Up, Type: w.From, To: w.To})
		return nil
	}
	switch w.From.Kind {
	case ir.Struct:
		return p.members(w, name)
	case ir.Enum:
		w.Kind = ir.CastEnum
	case ir.Union:
		w.Kind = ir.ByArm
		for _, a := range w.From.Arms {
			to := p.pair(w.Up, a.Type)
			use := p.rules.take(name, a.Type, w.Up)
			if use == 0 && slices.ContainsFunc(w.To.Arms, func(b *ir.Arm) bool { return b.Type == to }) {
				n := to
				if !w.Up {
					n = a.Type
				}
				way, err := p.way(w.Up, n)
				if err != nil {
					return err
				}
				w.ArmMoves = append(w.ArmMoves, &ir.ArmMove{From: a.Type, Way: way})
				continue
			}
			w.ArmMoves = append(w.ArmMoves, &ir.ArmMove{From: a.Type})
			from, target := p.sides(w.Up)
			why := fmt.Sprintf("a %s of %s cannot be %s", w.To.Name, target.Revision, a.Type)
			if use == hand {
				why = fmt.Sprintf("%s of %s by a rule", a.Type, w.To.Name)
			}
			p.needs(&ir.Hand{
				Func: verb(w.Up) + name + a.Type, Why: why,
				Up: w.Up, Type: w.From, Arm: from.byName[a.Type], Union: w.To,
			})
		}
	case ir.RawUnion:
		w.Kind = ir.Share
		for _, k := range w.From.Raws {
			if !slices.Contains(w.To.Raws, k) && !(k == ir.RawInt && slices.Contains(w.To.Raws, ir.RawFloat)) {
				w.Kind = ir.CheckRaw
			}
		}
	case ir.KeyedRaw:
		w.Kind = ir.Share
		for _, a := range w.From.Arms {
			to := p.pair(w.Up, a.Type)
			why := fmt.Sprintf("%s may be a %s, which is none there", name, a.Type)
			if slices.ContainsFunc(w.To.Arms, func(b *ir.Arm) bool { return b.Type == to }) {
				n := to
				if !w.Up {
					n = a.Type
				}
				way, err := p.way(w.Up, n)
				if err != nil {
					return err
				}
				if asItIs(way) {
					continue
				}
				why = fmt.Sprintf("%s may be a %s, which is another one there", name, a.Type)
			}
			w.Kind = ir.WholeHand
			p.needs(&ir.Hand{Func: verb(w.Up) + name, Why: why, Up: w.Up, Type: w.From, To: w.To})
			break
		}
	case ir.OneOrMany, ir.MapOf:
		w.Kind = ir.Items
		if w.From.Kind == ir.MapOf {
			w.Kind = ir.EachElem
		}
		c, err := p.conv(w.Up, &ir.Ref{Kind: ir.Named, Name: w.From.Elem}, &ir.Ref{Kind: ir.Named, Name: w.To.Elem})
		if err != nil {
			return err
		}
		if c == nil {
			w.Kind = ir.WholeHand
			p.needs(&ir.Hand{Func: verb(w.Up) + name, Why: fmt.Sprintf("%s holds %s there and %s here", name, w.From.Elem, w.To.Elem), Up: w.Up, Type: w.From, To: w.To})
		}
		w.Elem = c
	default:
		return fmt.Errorf("%s: no way to convert a type of kind %s", name, kindNames[w.From.Kind])
	}
	return nil
}

// asItIs says whether the text of each value is one of a value of the target, so
// that a raw value need not be read. Members that the target does not name do no
// harm there.
func asItIs(w *ir.Way) bool {
	switch w.Kind {
	case ir.Share, ir.CastEnum:
		return true
	case ir.ByMember:
		return !slices.ContainsFunc(w.Moves, func(m *ir.Move) bool {
			return m.Kind != ir.DropMember && (m.Kind != ir.Convert || m.From.JSON != m.To.JSON || !convAsItIs(m.Conv))
		})
	case ir.ByArm:
		return !slices.ContainsFunc(w.ArmMoves, func(a *ir.ArmMove) bool { return a.Way == nil || !asItIs(a.Way) })
	case ir.EachElem, ir.Items:
		return convAsItIs(w.Elem)
	}
	return false
}

func convAsItIs(c *ir.Conv) bool {
	switch c.Kind {
	case ir.Assign, ir.Cast, ir.ToRaw:
		return c.Way == nil || asItIs(c.Way)
	case ir.Call:
		return asItIs(c.Way)
	case ir.EachOf, ir.AsOne:
		return convAsItIs(c.Elem)
	}
	return false
}

// members works out what becomes of the members of a struct.
func (p *planner) members(w *ir.Way, name string) error {
	w.Kind = ir.ByMember
	byHand := func(from, to *ir.Field, why string) {
		f := to
		if f == nil {
			f = from
		}
		w.Moves = append(w.Moves, &ir.Move{Kind: ir.HandMember, From: from, To: to})
		p.needs(&ir.Hand{Func: verb(w.Up) + name + f.Name, Why: why, Up: w.Up, Type: w.From, To: w.To})
	}
	for _, t := range w.To.Fields {
		if t.Const != "" {
			if f := memberOf(w.From, t.JSON); f != nil && f.Const == "" {
				byHand(f, nil, fmt.Sprintf("%s.%s has to be %q", name, t.JSON, t.Const))
			}
			continue
		}
		json := t.JSON
		if r := p.rules.renamed(name, t.JSON, w.Up); r != "" {
			json = r
		}
		f := memberOf(w.From, json)
		use := p.rules.take(name, t.JSON, w.Up)
		switch {
		case use == hand:
			if f == nil {
				w.Takes = append(w.Takes, t)
			}
			byHand(f, t, fmt.Sprintf("%s.%s by a rule", name, t.JSON))
		case f != nil && f.Const != "":
			byHand(nil, t, fmt.Sprintf("%s.%s is %q there", name, t.JSON, f.Const))
		case f == nil:
			w.Takes = append(w.Takes, t)
			switch {
			case t.Required && t.Default != nil:
				w.Moves = append(w.Moves, &ir.Move{Kind: ir.SetDefault, To: t})
			case t.Required:
				byHand(nil, t, fmt.Sprintf("%s.%s is required and has to be invented", name, t.JSON))
			}
		case t.Required && !f.Required && !p.fillable(w.Up, f, t):
			byHand(f, t, fmt.Sprintf("%s.%s is required here and may be absent there", name, t.JSON))
		default:
			c, err := p.conv(w.Up, &f.Type, &t.Type)
			if err != nil {
				return err
			}
			if c == nil || t.Required && (c.Kind == ir.FromRaw || c.Kind == ir.ObjectOnly) {
				byHand(f, t, fmt.Sprintf("%s.%s is %s there and %s here", name, t.JSON, show(&f.Type), show(&t.Type)))
				continue
			}
			w.Moves = append(w.Moves, &ir.Move{Kind: ir.Convert, From: f, To: t, Conv: c})
		}
	}
	for _, f := range w.From.Fields {
		if f.Const != "" || memberOf(w.To, f.JSON) != nil || p.rules.moved(name, f.JSON, w.Up) {
			continue
		}
		switch p.rules.take(name, f.JSON, w.Up) {
		case hand:
			byHand(f, nil, fmt.Sprintf("%s.%s by a rule", name, f.JSON))
		case mustDefault:
			w.Moves = append(w.Moves, &ir.Move{Kind: ir.MustDefault, From: f})
		default:
			w.Moves = append(w.Moves, &ir.Move{Kind: ir.DropMember, From: f})
		}
	}
	if p.shared(w) {
		w.Kind = ir.Share
	}
	return nil
}

// fillable says whether a member that is absent has a value all the same: its
// default, or a struct of facts that are known from elsewhere.
func (p *planner) fillable(up bool, f, t *ir.Field) bool {
	if t.Default != nil {
		return true
	}
	from, _ := p.sides(up)
	ft := named(from, &f.Type)
	return ft != nil && ft.Kind == ir.Struct && !slices.ContainsFunc(ft.Fields, func(m *ir.Field) bool { return m.Required })
}

// shared says whether Go can convert one struct to the other as it is.
func (p *planner) shared(w *ir.Way) bool {
	type pair struct{ name, typ string }
	list := func(t *ir.Type) []pair {
		var out []pair
		for _, f := range t.Fields {
			if f.Const == "" {
				out = append(out, pair{f.Name, goField(p.older, f)}) // the older one has no say: no field may name a type
			}
		}
		return out
	}
	for _, m := range w.Moves {
		if m.Kind != ir.Convert || m.Conv.Kind != ir.Assign {
			return false
		}
	}
	return slices.Equal(list(w.From), list(w.To))
}

func memberOf(t *ir.Type, json string) *ir.Field {
	for _, f := range t.Fields {
		if f.JSON == json {
			return f
		}
	}
	return nil
}

// conv works out how a value is converted; nil when the models do not say.
func (p *planner) conv(up bool, f, t *ir.Ref) (*ir.Conv, error) {
	from, to := p.sides(up)
	ft, tt := named(from, f), named(to, t)
	c := &ir.Conv{From: f, To: t}
	as := func(k ir.ConvKind) (*ir.Conv, error) {
		c.Kind = k
		return c, nil
	}
	elem := func(k ir.ConvKind, f, t *ir.Ref) (*ir.Conv, error) {
		e, err := p.conv(up, f, t)
		if err != nil || e == nil || e.Kind == ir.FromRaw || e.Kind == ir.ObjectOnly { // those need a member to leave out
			return nil, err
		}
		c.Kind, c.Elem = k, e
		return c, nil
	}
	switch {
	case ft != nil && tt != nil && p.pair(up, ft.Name) == tt.Name:
		n := tt.Name
		if !up {
			n = ft.Name
		}
		w, err := p.way(up, n)
		c.Kind, c.Way = ir.Call, w
		if err == nil && (w.Kind == ir.Share || w.Kind == ir.CastEnum) {
			c.Kind = ir.Cast
		}
		return c, err
	case plainRef(f) && sameRef(f, t):
		return as(ir.Assign)
	case (f.Kind == ir.Slice || f.Kind == ir.Map) && f.Kind == t.Kind:
		return elem(ir.EachOf, f.Elem, t.Elem)
	case f.Kind == ir.RawAny && t.Kind == ir.RawObject:
		return as(ir.ObjectOnly)
	case f.Kind == ir.RawObject && t.Kind == ir.RawAny, f.Kind == ir.Base64 && t.Kind == ir.String, f.Kind == ir.String && t.Kind == ir.Base64:
		return as(ir.Assign)
	case (t.Kind == ir.RawAny || t.Kind == ir.RawObject) && ft != nil && ft.Kind == ir.Struct:
		if p.rules.take(ft.Name, "", up) == hand {
			c.Func = verb(up) + ft.Name
			p.needs(&ir.Hand{Func: c.Func, Why: ft.Name + " by a rule", Up: up, Type: ft, Raw: true})
			return as(ir.ByHand)
		}
		return as(ir.ToRaw)
	case f.Kind == ir.RawObject && tt != nil && tt.Kind == ir.Struct:
		return as(ir.FromRaw)
	case ft != nil && ft.Kind == ir.OneOrMany && t.Kind == ir.Named:
		return elem(ir.OnlyOne, &ir.Ref{Kind: ir.Named, Name: ft.Elem}, t)
	case tt != nil && tt.Kind == ir.OneOrMany && f.Kind == ir.Named:
		return elem(ir.AsOne, f, &ir.Ref{Kind: ir.Named, Name: tt.Elem})
	case ft != nil && ft.Kind == ir.Enum && t.Kind == ir.String, f.Kind == ir.String && tt != nil && tt.Kind == ir.Enum && tt.Open, f.Kind == ir.Int && t.Kind == ir.Float:
		return as(ir.Cast)
	}
	return nil, nil
}

// plainRef says whether a reference is the same Go type in all revisions.
func plainRef(r *ir.Ref) bool {
	for ; r != nil; r = r.Elem {
		if r.Kind == ir.Named {
			return false
		}
	}
	return true
}

// sure marks the ways that can neither fail nor lose anything, and those whose
// value may have to be left out.
func (p *planner) sure(s *ir.StepPackage) {
	all := append(slices.Clone(s.Up), s.Down...)
	for _, w := range all {
		w.Sure = len(w.Takes) == 0
		for _, m := range w.Moves {
			w.Sure = w.Sure && (m.Kind == ir.SetDefault || m.Kind == ir.Convert)
			w.Omits = w.Omits || m.Kind == ir.HandMember || m.Kind == ir.MustDefault
		}
		if w.Kind == ir.ByArm || w.Kind == ir.CheckRaw || w.Kind == ir.WholeHand {
			w.Sure, w.Omits = false, true
		}
	}
	var look func(c *ir.Conv) (sure, omits bool)
	look = func(c *ir.Conv) (sure, omits bool) {
		switch c.Kind {
		case ir.Assign, ir.Cast, ir.ToRaw:
			return true, false
		case ir.ByHand:
			return false, false
		case ir.Call:
			return c.Way.Sure, c.Way.Omits
		case ir.EachOf:
			sure, _ := look(c.Elem)
			return sure, false // it leaves out the element
		case ir.AsOne:
			return look(c.Elem)
		case ir.OnlyOne:
			return false, true
		}
		return false, false
	}
	for again := true; again; {
		again = false
		for _, w := range all {
			sure, omits := w.Sure, w.Omits
			see := func(c *ir.Conv, optional bool) {
				s, o := look(c)
				sure, omits = sure && s, omits || o && !optional
			}
			if w.Elem != nil {
				see(w.Elem, w.Kind == ir.EachElem || w.Kind == ir.Items)
			}
			for _, m := range w.Moves {
				if m.Kind == ir.Convert {
					see(m.Conv, !m.To.Required)
				}
			}
			if sure != w.Sure || omits != w.Omits {
				w.Sure, w.Omits, again = sure, omits, true
			}
		}
	}
}
