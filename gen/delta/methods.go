package delta

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
)

var directions = map[ir.Direction]string{ir.ClientToServer: "client", ir.ServerToClient: "server", ir.EitherWay: "either"}

var outcomes = map[ir.Outcome]string{ir.InputRequired: "input required", ir.TaskCreated: "task created", ir.TaskByType: "task"}

// methods compares requests and notifications.
func (c *comparer) methods() error {
	return both(c.older.Methods, c.newer.Methods, func(m *ir.Method) string { return m.Name }, func(name string, o, n *ir.Method) error {
		m := cmp.Or(n, o)
		group := Methods
		if m.Notification {
			group = Notifications
		}
		f := c.subject(group, name, directions[m.Direction])
		switch {
		case o == nil:
			ch := Change{Kind: MethodAdded, Newer: way(n), Code: Compiles, OldReadsNew: ReadsNone, NewReadsOld: ReadsAll, Note: "an old peer answers that there is no such method"}
			switch {
			case n.Notification:
				ch.OldReadsNew, ch.Note = ReadsPart, ""
			case n.Embedded:
				ch.Note = "an old peer does not know what is asked"
			}
			f.add(ch)
			return nil
		case n == nil:
			ch := Change{Kind: MethodRemoved, Older: way(o), Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsNone, Note: "a new peer answers that there is no such method"}
			switch {
			case o.Notification:
				ch.NewReadsOld, ch.Note = ReadsPart, ""
			case o.Embedded:
				ch.Note = "a new peer does not know what is asked"
			}
			f.add(ch)
			return nil
		}
		c.message(f, o, n)
		if !n.Notification {
			c.answer(f, o, n)
		}
		c.needs(f, o, n)
		f.deprecation("", o.Deprec, n.Deprec)
		return f.explain("", o, n)
	})
}

func way(m *ir.Method) string {
	out := map[ir.Direction]string{ir.ClientToServer: "client to server", ir.ServerToClient: "server to client", ir.EitherWay: "either way"}[m.Direction]
	if m.Embedded {
		out += ", inside another message"
	}
	return out
}

// message compares what goes out.
func (c *comparer) message(f *found, o, n *ir.Method) {
	if o.Notification != n.Notification {
		kind := map[bool]string{false: "request", true: "notification"}
		f.add(Change{Kind: MethodKindChanged, Older: kind[o.Notification], Newer: kind[n.Notification], Code: Breaks, OldReadsNew: ReadsNone, NewReadsOld: ReadsNone})
	}
	if o.Go != n.Go || o.Const != n.Const {
		f.add(Change{Kind: GoNameChanged, Older: o.Go, Newer: n.Go, Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll})
	}
	if o.Direction != n.Direction {
		ch := Change{Kind: DirectionChanged, Older: directions[o.Direction], Newer: directions[n.Direction], Code: Breaks, OldReadsNew: ReadsSome, NewReadsOld: ReadsSome}
		switch {
		case o.Direction == ir.EitherWay:
			ch.OldReadsNew = ReadsAll
		case n.Direction == ir.EitherWay:
			ch.NewReadsOld, ch.Code = ReadsAll, Compiles
		}
		if o.Lifecycle && n.Lifecycle { // the runtime sends and answers it: there is neither func nor stub
			ch.Code = Compiles
		}
		f.add(ch)
	}
	if o.Embedded != n.Embedded {
		how := map[bool]string{false: "message", true: "embedded"}
		ch := Change{
			Kind: EmbeddedChanged, Older: how[o.Embedded], Newer: how[n.Embedded], Code: Breaks, OldReadsNew: ReadsNone, NewReadsOld: ReadsNone,
			Note: "the func that answers it stays; who asks does so by other means",
		}
		if o.Embedded {
			ch.Code = Compiles // the stub that sends it comes
		}
		f.add(ch)
	}
	if o.Lifecycle != n.Lifecycle {
		who := map[bool]string{false: "func", true: "runtime"}
		ch := Change{Kind: LifecycleChanged, Older: who[o.Lifecycle], Newer: who[n.Lifecycle], Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll}
		if o.Lifecycle {
			ch.Code = Compiles
		}
		f.add(ch)
	}
	if o.Params != n.Params {
		f.add(Change{Kind: ParamsChanged, Older: o.Params, Newer: n.Params, Code: Breaks, OldReadsNew: ReadsSome, NewReadsOld: ReadsSome})
	}
	if o.ParamsReq != n.ParamsReq {
		ch := Change{Kind: ParamsMadeReq, Code: Compiles, OldReadsNew: ReadsAll, NewReadsOld: ReadsSome}
		if !n.ParamsReq {
			ch = Change{Kind: ParamsMadeOpt, Code: Compiles, OldReadsNew: ReadsSome, NewReadsOld: ReadsAll}
		}
		f.add(ch)
	}
}

// answer compares what comes back.
func (c *comparer) answer(f *found, o, n *ir.Method) {
	if o.Result != n.Result {
		f.add(Change{Kind: ResultChanged, Older: o.Result, Newer: n.Result, Code: Breaks, OldReadsNew: ReadsSome, NewReadsOld: ReadsSome})
	}
	for _, x := range n.Outcomes {
		if slices.Contains(o.Outcomes, x) {
			continue
		}
		ch := Change{Kind: OutcomeAdded, Member: outcomes[x], Code: Compiles, OldReadsNew: ReadsSome, NewReadsOld: ReadsAll}
		if x == ir.TaskCreated {
			ch.OldReadsNew, ch.Note = ReadsAll, "only who asks for a task gets one"
		}
		if x == ir.TaskByType {
			ch.OldReadsNew, ch.Note = ReadsAll, "only who declares tasks gets one"
		}
		f.add(ch)
	}
	for _, x := range o.Outcomes {
		if !slices.Contains(n.Outcomes, x) {
			ch := Change{Kind: OutcomeRemoved, Member: outcomes[x], Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsSome}
			tasks := func(m *ir.Method) bool {
				return slices.Contains(m.Outcomes, ir.TaskCreated) || slices.Contains(m.Outcomes, ir.TaskByType)
			}
			if x == ir.TaskCreated || x == ir.TaskByType {
				ch.NewReadsOld, ch.Note = ReadsAll, "new clients do not ask for a task"
				if tasks(n) { // in the other way
					ch.Code = Compiles
				}
			}
			f.add(ch)
		}
	}
	pages := func(m *ir.Method) string {
		if !m.Paginated {
			return ""
		}
		return m.Items + " of " + m.Item
	}
	if x, y := pages(o), pages(n); x != y {
		ch := Change{Kind: PagesChanged, Older: x, Newer: y, Code: Breaks, OldReadsNew: ReadsSome, NewReadsOld: ReadsSome, Note: "the iterator over all pages"}
		if x == "" {
			ch.Code, ch.NewReadsOld = Compiles, ReadsAll
		}
		f.add(ch)
	}
}

// needs compares the capabilities that a method asks for.
func (c *comparer) needs(f *found, o, n *ir.Method) {
	list := func(m *ir.Method) []string {
		var out []string
		for _, s := range m.Server {
			out = append(out, "server "+s)
		}
		for _, s := range m.Client {
			out = append(out, "client "+s)
		}
		return out
	}
	gates := func(m *ir.Method) []string {
		var out []string
		for _, g := range m.Gates {
			out = append(out, showGate(g))
		}
		return out
	}
	diff := func(o, n []string, added, removed Kind) {
		for _, s := range n {
			if !slices.Contains(o, s) {
				f.add(Change{Kind: added, Member: s, Code: Compiles, OldReadsNew: ReadsAll, NewReadsOld: ReadsSome, Note: "old peers may not advertise it"})
			}
		}
		for _, s := range o {
			if !slices.Contains(n, s) {
				f.add(Change{Kind: removed, Member: s, Code: Compiles, OldReadsNew: ReadsSome, NewReadsOld: ReadsAll, Note: "new peers may not advertise it"})
			}
		}
	}
	diff(list(o), list(n), NeedAdded, NeedRemoved)
	diff(gates(o), gates(n), GateAdded, GateRemoved)
}

func showGate(g *ir.Gate) string {
	side := "client"
	if g.Server {
		side = "server"
	}
	out := fmt.Sprintf("%s %s for params with %s", side, g.Path, strings.Join(g.Members, " or "))
	if len(g.Values) > 0 {
		out += " " + strings.Join(g.Values, " or ")
	}
	for _, w := range []struct {
		set  bool
		text string
	}{{g.Absent, " or without it"}, {g.OrEmpty, ", granted by an empty parent"}, {g.Advice, ", as advice"}} {
		if w.set {
			out += w.text
		}
	}
	return out
}

// capabilities compares what the sides can advertise, by path, and which of it
// a flag of Go stands for.
func (c *comparer) capabilities() error {
	for _, side := range []string{"client", "server"} {
		o, n := capPaths(c.older, side), capPaths(c.newer, side)
		for _, p := range slices.Sorted(maps.Keys(n)) {
			f := c.subject(Capabilities, side+" "+p, side)
			was, there := o[p]
			switch {
			case !there:
				f.add(Change{Kind: CapabilityAdded, Code: Compiles, OldReadsNew: ReadsPart, NewReadsOld: ReadsAll})
			case n[p] && !was:
				f.add(Change{Kind: FlagAdded, Code: Compiles, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll, Note: "no func stands for it any more"})
			}
		}
		for _, p := range slices.Sorted(maps.Keys(o)) {
			f := c.subject(Capabilities, side+" "+p, side)
			is, there := n[p]
			switch {
			case !there:
				f.add(Change{Kind: CapabilityRemoved, Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsPart})
			case o[p] && !is:
				f.add(Change{Kind: FlagRemoved, Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll, Note: "a func stands for it, or its members"})
			}
		}
	}
	return nil
}

// capPaths gives the paths of all capabilities of a side, and whether a flag
// says that they are offered: what is no object of others and what no func of
// a request stands for.
func capPaths(p *pkg, side string) map[string]bool {
	root, answers := "ServerCapabilities", ir.ServerToClient
	if side == "client" {
		root, answers = "ClientCapabilities", ir.ClientToServer
	}
	funcs := map[string]bool{}
	for _, m := range p.Methods {
		if m.Notification || m.Lifecycle || m.Direction == answers { // what a side sends it does not answer
			continue
		}
		needs := m.Server
		if side == "client" {
			needs = m.Client
		}
		for _, path := range needs {
			funcs[path] = true
		}
	}
	out := map[string]bool{}
	var walk func(t *ir.Type, prefix string, depth int)
	walk = func(t *ir.Type, prefix string, depth int) {
		if t == nil || t.Kind != ir.Struct || depth > 8 {
			return
		}
		for _, m := range t.Fields {
			path := prefix + m.JSON
			out[path] = (m.Type.Kind == ir.Bool || m.Type.Kind == ir.RawObject) && !funcs[path]
			if m.Type.Kind == ir.Named {
				walk(p.typ(m.Type.Name), path+".", depth+1)
			}
		}
	}
	walk(p.typ(root), "", 0)
	for _, e := range p.Extensions {
		out["extensions."+e.ID] = side == "client" // a server's funcs stand for it
	}
	return out
}
