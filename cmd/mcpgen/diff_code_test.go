package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/delta"
	"github.com/goldwire/goldwire/gen/emit"
	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/spec"
)

// use is one line of Go code that uses one thing of a package.
type use struct {
	what string // "Tool.Name", "const RoleUser", "ContentBlock <- TextContent", "func Server.CallTool"
	code string
}

// uses writes code that uses everything of a package which its types have: with
// the type that it has there, so that the code breaks when that changes.
func uses(p *types.Package) []use {
	name := func(o *types.Package) string {
		if o == p {
			return "mcp"
		}
		return o.Name()
	}
	var out []use
	add := func(what, format string, args ...any) {
		out = append(out, use{what, fmt.Sprintf(format, args...)})
	}
	for _, id := range p.Scope().Names() {
		o := p.Scope().Lookup(id)
		if !o.Exported() {
			continue
		}
		switch o := o.(type) {
		case *types.Const:
			if b, ok := o.Type().(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
				add("const "+id, "var _ = mcp.%s", id)
			} else {
				add("const "+id, "var _ %s = mcp.%s", types.TypeString(o.Type(), name), id)
			}
		case *types.Func:
			if o.Signature().TypeParams() == nil {
				add("func "+id, "var _ %s = mcp.%s", types.TypeString(o.Type(), name), id)
			}
		case *types.TypeName:
			named, ok := types.Unalias(o.Type()).(*types.Named)
			if !ok {
				continue
			}
			add("type "+id, "var _ *mcp.%s", id)
			if o.IsAlias() {
				continue
			}
			if s, ok := named.Underlying().(*types.Struct); ok {
				for i := range s.NumFields() {
					if f := s.Field(i); f.Exported() && !f.Embedded() {
						add(id+"."+f.Name(), "func _(x *mcp.%s) { var _ %s = x.%s }", id, types.TypeString(f.Type(), name), f.Name())
					}
				}
			}
			set := types.NewMethodSet(types.NewPointer(named))
			if i, ok := named.Underlying().(*types.Interface); ok {
				set = types.NewMethodSet(named)
				for _, arm := range p.Scope().Names() {
					a, ok := p.Scope().Lookup(arm).(*types.TypeName)
					if ok && a.Exported() && !types.IsInterface(a.Type()) && types.Implements(types.NewPointer(a.Type()), i) {
						add(id+"<-"+arm, "var _ mcp.%s = (*mcp.%s)(nil)", id, arm)
					}
				}
			}
			for i := range set.Len() {
				m := set.At(i).Obj().(*types.Func)
				if m.Exported() && m.Pkg() == p {
					add(id+"."+m.Name()+"()", "func _(x mcp.%s) { var _ %s = %s.%s }", id, types.TypeString(m.Signature(), name), map[bool]string{true: "x", false: "(&x)"}[types.IsInterface(named)], m.Name())
				}
			}
		}
	}
	return out
}

// broken says which of the uses do not compile against a package.
func (c *checker) broken(t *testing.T, p *types.Package, all []use) map[string]string {
	t.Helper()
	var b strings.Builder
	b.WriteString("package user\nimport (\n\"context\"\n\"iter\"\n\"mcp\"\n\"github.com/goldwire/goldwire/runtime/jsonrpc\"\n\"github.com/goldwire/goldwire/runtime/wire\"\n)\n")
	b.WriteString("var _ context.Context\nvar _ iter.Seq[int]\nvar _ jsonrpc.ID\nvar _ wire.Raw\nvar _ = mcp.Revision\n")
	at := map[int]string{}
	line := strings.Count(b.String(), "\n") + 1
	for i, u := range all {
		at[line+i] = u.what
		b.WriteString(u.code + "\n")
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "user.go", b.String(), parser.SkipObjectResolution)
	require.NoError(t, err)
	out := map[string]string{}
	conf := c.conf
	conf.Importer = oneMore{c.conf.Importer, p}
	conf.Error = func(err error) {
		var e types.Error
		if errors.As(err, &e) {
			what := at[fset.Position(e.Pos).Line]
			require.NotEmpty(t, what, err)
			out[what] = e.Msg
		}
	}
	_, _ = conf.Check("user", fset, []*ast.File{f}, nil)
	return out
}

// oneMore knows one package besides those of another importer.
type oneMore struct {
	types.Importer
	p *types.Package
}

func (o oneMore) Import(path string) (*types.Package, error) {
	if path == "mcp" {
		return o.p, nil
	}
	return o.Importer.Import(path)
}

// side is a model with its package.
type side struct {
	p    *ir.Package
	code *types.Package
	uses []use // code that compiles against it
}

func (c *checker) side(t *testing.T, p *ir.Package) side {
	t.Helper()
	files, err := emit.Package(p)
	require.NoError(t, err)
	code, err := c.check(files)
	require.NoError(t, err)
	all := uses(code)
	require.Greater(t, len(all), 1000)
	require.Empty(t, c.broken(t, code, all), "the code compiles against its own package")
	return side{p, code, all}
}

// blame is what a delta says breaks, in the names of the older package.
type blame struct {
	d     *delta.Delta
	older *ir.Package
	newer *ir.Package
	names map[string]string // uses, by what they use: why they break
	words map[string]string // types and functions: why code that names them breaks
}

func blamed(d *delta.Delta, older, newer *ir.Package) *blame {
	b := &blame{d, older, newer, map[string]string{}, map[string]string{}}
	was := map[string]string{}
	for _, c := range d.Changes {
		if c.Kind == delta.TypeRenamed {
			was[c.Subject] = c.Older
		}
	}
	for _, c := range d.Changes {
		if c.Code != delta.Breaks {
			continue
		}
		why := strings.TrimSpace(string(c.Kind) + " " + c.Subject + " " + c.Member)
		switch c.Group {
		case delta.Types:
			name := c.Subject
			if was[name] != "" {
				name = was[name]
			}
			b.typ(c, name, why)
		case delta.Constants:
			b.names["const "+c.Subject] = why
		case delta.Errors:
			b.words["New"+c.Subject+"Error"], b.words[c.Subject+"DataOf"] = why, why
		case delta.Methods, delta.Notifications:
			b.method(c, why)
		case delta.Capabilities:
			side, path, _ := strings.Cut(c.Subject, " ")
			side = strings.ToUpper(side[:1]) + side[1:]
			if id, ok := strings.CutPrefix(path, "extensions."); ok {
				b.extension(id, side, why)
				continue
			}
			b.names[side+"."+b.flag(side+"Capabilities", strings.Split(path, "."))] = why
		}
	}
	return b
}

// extension blames one that went.
func (b *blame) extension(id, side, why string) {
	for _, e := range b.older.Extensions {
		switch {
		case e.ID != id:
		case side == "Client":
			b.names["Client."+e.Name] = why
		default:
			for _, n := range []string{"RemoteClient.Tasks()", "RemoteClient.TaskStatus()", "Server.AllowTask", "TaskCreated.ClientCapability()", "TaskCreated.Task()"} {
				b.names[n] = why
			}
		}
	}
}

func (b *blame) find(name string) *ir.Type {
	for _, t := range b.older.Types {
		if t.Name == name {
			return t
		}
	}
	return &ir.Type{}
}

// typ blames a change of a type.
func (b *blame) typ(c *delta.Change, name, why string) {
	t := b.find(name)
	switch c.Kind {
	case delta.TypeRemoved, delta.TypeRenamed, delta.KindChanged, delta.TargetChanged, delta.ElemChanged:
		b.words[name], b.words["Unknown"+name] = why, why
		for _, v := range t.Values {
			b.words[v.Name] = why
		}
		for _, r := range []string{"String", "Int", "Float", "Bool", "Strings"} {
			b.words[name+r] = why // constructors
		}
		if t.Kind == ir.Interface {
			for _, a := range t.Arms {
				for _, f := range t.Fields {
					b.names[a.Type+"."+f.Name+"()"] = why
				}
			}
		}
	case delta.GetterAdded: // breaks only types of one's own
	case delta.ImplGone:
		b.names[name+"<-"+c.Member] = why
		for _, f := range t.Fields {
			b.names[c.Member+"."+f.Name+"()"] = why
		}
	case delta.GetterGone:
		for _, a := range t.Arms {
			b.names[a.Type+"."+c.Member+"()"] = why
		}
		b.names[name+"."+c.Member+"()"] = why
	case delta.ValueRemoved, delta.ValueRenamed:
		for _, v := range t.Values {
			if v.Value == c.Member {
				b.words[v.Name] = why
			}
		}
	case delta.RawRemoved:
		method := map[string]string{"string": "String", "integer": "Int", "number": "Float", "boolean": "Bool", "list of strings": "Strings"}[c.Member]
		b.names[name+"."+method+"()"], b.words[name+method] = why, why
	case delta.ArmRemoved:
		arm, accessor, _ := strings.Cut(c.Member, " as ")
		if t.Kind == ir.Union {
			b.names[name+"<-"+arm] = why
			break
		}
		b.names[name+"."+accessor+"()"], b.words[name+accessor] = why, why
		for _, m := range b.older.Types {
			if m.Kind == ir.MapOf && m.Elem == name {
				b.names[m.Name+"."+accessor+"()"] = why
			}
		}
	case delta.AccessorLost:
		b.names[name+"."+c.Member+"()"] = why
	default:
		for _, f := range t.Fields {
			if f.JSON != c.Member {
				continue
			}
			b.names[name+"."+f.Name] = why
			b.names[name+".Cut"+f.Name+"()"] = why
			if side, ok := strings.CutSuffix(name, "Capabilities"); ok {
				b.names[side+"."+f.Name] = why
			}
			if f.JSON == "inputResponses" || f.JSON == "requestState" {
				b.names[name+".SetInputs()"] = why
			}
			if f.JSON == "inputRequests" || f.JSON == "requestState" {
				b.words["InputRequiredError"] = why
			}
			for _, i := range b.older.Types { // its getters
				if i.Kind == ir.Interface {
					b.names[name+"."+f.Name+"Value()"] = why
				}
			}
		}
	}
}

// method blames a change of a method.
func (b *blame) method(c *delta.Change, why string) {
	for _, m := range b.older.Methods {
		if m.Name != c.Subject {
			continue
		}
		if c.Kind == delta.OutcomeRemoved {
			b.names[m.Go+"Response.Task"], b.names[m.Go+"Response.InputRequired"] = why, why
			tasks := c.Member != "input required" // in one way or the other
			left := slices.ContainsFunc(b.newer.Methods, func(n *ir.Method) bool {
				return slices.ContainsFunc(n.Outcomes, func(o ir.Outcome) bool { return (o != ir.InputRequired) == tasks })
			})
			if !left {
				for _, n := range map[bool][]string{true: {"TaskCreated", "NewTaskCreated"}, false: {"InputRequiredError", "NewInputRequiredError"}}[tasks] {
					b.words[n] = why
				}
			}
			return
		}
		for _, s := range []string{"Server.", "Client.", "RemoteServer.", "RemoteClient."} {
			b.names[s+m.Go], b.names[s+m.Go+"()"], b.names[s+m.Items+"()"] = why, why, why
		}
		switch m.Name {
		case "subscriptions/listen":
			b.names["Server.AllowURI"], b.names["RemoteServer.Listen()"] = why, why
		case "notifications/message":
			b.names["RemoteClient.Log()"] = why
		}
		b.names["const "+m.Const] = why
		for _, e := range []string{"Request", "Response", "Notification"} {
			b.words[m.Go+e] = why
		}
	}
}

// flag is the Go name of a capability's flag.
func (b *blame) flag(typ string, path []string) string {
	for _, f := range b.find(typ).Fields {
		if f.JSON == path[0] {
			if len(path) > 1 {
				return f.Name + b.flag(f.Type.Name, path[1:])
			}
			return f.Name
		}
	}
	return "?"
}

// why says which change breaks a use, "" when none does.
func (b *blame) why(u use) string {
	if why := b.names[u.what]; why != "" {
		return why
	}
	if b.d.Older.Stateless != b.d.Newer.Stateless && (strings.HasSuffix(u.what, ".HasMeta()") || u.what == "RemoteClient.Client()") {
		return "handshake-changed"
	}
	for _, w := range strings.FieldsFunc(u.code, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		if why := b.words[w]; why != "" {
			return why
		}
	}
	return ""
}

// asSaid holds that code of the older package breaks where the delta says so,
// and nowhere else.
func (c *checker) asSaid(t *testing.T, older, newer side, how ...string) {
	t.Helper()
	d, err := delta.Compare(older.p, newer.p)
	require.NoError(t, err)
	b := blamed(d, older.p, newer.p)
	all := older.uses
	broken := c.broken(t, newer.code, all)
	said := map[string]bool{} // what is said to break, and whether anything does
	for _, u := range all {
		why := b.why(u)
		msg, is := broken[u.what]
		if is && why == "" {
			t.Errorf("%s breaks (%s), and no change says so %v", u.what, msg, how)
		}
		if why != "" {
			said[why] = said[why] || is
		}
	}
	for why, is := range said {
		if !is {
			t.Errorf("%s breaks nothing %v", why, how)
		}
	}
}

// TestOldCodeCompilesAsSaid holds what a delta says of old code against the
// compiler: each thing that the older package declares is used by a line of
// code, and that line breaks against the newer package exactly when a change
// says so. TestNextRevisions does the same for revisions that are made up.
func TestOldCodeCompilesAsSaid(t *testing.T) {
	c := newChecker(t)
	pkgs, err := build.All(spec.Files())
	require.NoError(t, err)
	var sides []side
	for _, p := range pkgs {
		sides = append(sides, c.side(t, p))
	}
	for i := 1; i < len(sides); i++ {
		t.Run(sides[i].p.Revision, func(t *testing.T) { c.asSaid(t, sides[i-1], sides[i]) })
		t.Run(sides[i].p.Revision+" back", func(t *testing.T) { c.asSaid(t, sides[i], sides[i-1]) })
	}
}
