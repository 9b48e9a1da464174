package delta

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// legend says how to read what Text writes.
const legend = `code    whether Go code written for the older package compiles with the newer: ok, or breaks where it uses this
old     whether peers of the older revision understand messages of the newer
new     whether peers of the newer revision understand messages of the older
        yes, ignores (they take them and pass over the change), some (not all of them), no
up      converting values of the older revision to the newer
down    converting values of the newer revision to the older; behind a type's name with all that it holds
        = lossless, D a value has to be invented, L something is dropped, X some values cannot be said
`

// Text writes the delta for a person.
func (d *Delta) Text() string {
	var b strings.Builder
	n := d.Counts
	fmt.Fprintf(&b, "%s -> %s\n\n", title(d.Older), title(d.Newer))
	if len(d.Changes) == 0 {
		b.WriteString("nothing changed\n")
		return b.String()
	}
	fmt.Fprintf(&b, "types     %d before, %d after: %d the same, %d changed, %d came, %d went\n", n.TypesOlder, n.TypesNewer, n.Same, n.Changed, n.Added, n.Removed)
	fmt.Fprintf(&b, "messages  %d before, %d after\n", n.MethodsOlder, n.MethodsNewer)
	fmt.Fprintf(&b, "changes   %d: %d break old code, old peers do not understand all of %d, new peers not all of what %d changed\n", len(d.Changes), n.Breaking, n.OldRefuse, n.NewRefuse)
	for _, g := range groups {
		var in []*Change
		for _, c := range d.Changes {
			if c.Group == g {
				in = append(in, c)
			}
		}
		if len(in) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", strings.ToUpper(string(g)))
		if g == Types {
			d.typesText(&b, in)
			continue
		}
		b.WriteString(head)
		for _, c := range in {
			writeLine(&b, c, c.Subject)
		}
	}
	b.WriteString("\n" + legend)
	return b.String()
}

func title(s Side) string {
	if strings.Contains(s.Schema, s.Revision) && s.Revision != "" {
		return s.Revision
	}
	if s.Revision == "" {
		return s.Schema
	}
	return s.Revision + " (" + s.Schema + ")"
}

const head = "  code    old      new      up  down\n"

// writeLine writes one change. what is its subject, as far as the lines above do not say it.
func writeLine(b *strings.Builder, c *Change, what string) {
	code := map[Code]string{Compiles: "ok", Breaks: "breaks"}[c.Code]
	line := fmt.Sprintf("  %-6s  %-7s  %-7s  %-2s  %-4s  %s", code, c.OldReadsNew, c.NewReadsOld, c.Up, c.Down, sentence(c, what))
	b.WriteString(strings.TrimRight(line, " "))
	if c.Note != "" {
		b.WriteString("  (" + c.Note + ")")
	}
	b.WriteByte('\n')
}

// marks are the signs of what came and what went.
var marks = map[Kind]string{
	MethodAdded: "+", MethodRemoved: "-", CapabilityAdded: "+", CapabilityRemoved: "-", TypeAdded: "+", TypeRemoved: "-", MemberAdded: "+", MemberRemoved: "-",
	ValueAdded: "+", ValueRemoved: "-", ArmAdded: "+", ArmRemoved: "-", RawAdded: "+", RawRemoved: "-", AccessorLost: "-", GetterAdded: "+", GetterGone: "-",
	ImplAdded: "+", ImplGone: "-", ErrorAdded: "+", ErrorRemoved: "-", ConstantAdded: "+", ConstantRemoved: "-", OutcomeAdded: "+", OutcomeRemoved: "-",
	FlagAdded: "+", FlagRemoved: "-", NeedAdded: "+", NeedRemoved: "-", GateAdded: "+", GateRemoved: "-",
}

// words are what a kind of change is about, where the change itself does not say it.
var words = map[Kind]string{
	ParamsMadeReq: "params: optional -> required", ParamsMadeOpt: "params: required -> optional", MadeRequired: "optional -> required", MadeOptional: "required -> optional",
	OutcomeAdded: "outcome", OutcomeRemoved: "outcome", NeedAdded: "needs", NeedRemoved: "needs", GateAdded: "needs", GateRemoved: "needs",
	FlagAdded: "as a flag in Go", FlagRemoved: "as a flag in Go", ParamsChanged: "params", ResultChanged: "result", DirectionChanged: "sent by", PagesChanged: "pages", LifecycleChanged: "answered by", EmbeddedChanged: "travels as",
	DefaultChanged: "default of lenient readers", ImpliedChanged: "absent means", BoundsChanged: "bounds", FormatChanged: "format", ConstChanged: "constant",
	GoNameChanged: "Go name", ValueAdded: "value", ValueRemoved: "value", ValueRenamed: "Go name of the value", OrderChanged: "order", OpenChanged: "values", ArmAdded: "may be",
	ArmRemoved: "may be", PlanChanged: "told apart", RawAdded: "may be a", RawRemoved: "may be a", AccessorLost: "method", GetterAdded: "getter", GetterGone: "getter",
	ImplAdded: "met by", ImplGone: "met by", Deprecated: "deprecated", Undeprecated: "deprecated no more", TypeRenamed: "was called", KindChanged: "kind",
	ClosedChanged: "members", TargetChanged: "is", ElemChanged: "of", CodeChanged: "code", DataChanged: "data", MethodKindChanged: "is a",
}

// sentence writes what changed.
func sentence(c *Change, what string) string {
	out := []string{cmp.Or(marks[c.Kind], "~")}
	for _, s := range []string{what, words[c.Kind], c.Member} {
		if s != "" {
			out = append(out, s)
		}
	}
	member := c.Member
	switch c.Kind { // of a member: its name comes first
	case MadeRequired, MadeOptional, DefaultChanged, ImpliedChanged, BoundsChanged, FormatChanged, ConstChanged, TypeChanged, Deprecated, Undeprecated, GoNameChanged:
		out = []string{"~"}
		for _, s := range []string{what, member, words[c.Kind]} {
			if s != "" {
				out = append(out, s)
			}
		}
	}
	switch c.Kind {
	case Deprecated, Undeprecated:
	case TypeRenamed:
		out = append(out, c.Older)
	default:
		none := func(s string) string { return cmp.Or(s, "nothing") }
		switch {
		case c.Older != "" && c.Newer != "" || marks[c.Kind] == "" && c.Older+c.Newer != "":
			out = append(out, none(c.Older)+" -> "+none(c.Newer))
		case c.Older+c.Newer != "":
			out = append(out, c.Older+c.Newer)
		}
	}
	return strings.Join(out, " ")
}

// typesText writes the types: which came and went, then each that changed, then those
// that only hold what changed.
func (d *Delta) typesText(b *strings.Builder, changes []*Change) {
	var came, went []string
	var changed []string
	by := map[string][]*Change{}
	for _, c := range changes {
		switch c.Kind {
		case TypeAdded:
			came = append(came, c.Subject)
			continue
		case TypeRemoved:
			went = append(went, c.Subject)
			continue
		}
		if by[c.Subject] == nil {
			changed = append(changed, c.Subject)
		}
		by[c.Subject] = append(by[c.Subject], c)
	}
	list := func(what string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(b, "  %s: %s\n", what, strings.Join(names, ", "))
		}
	}
	list("came", came)
	list("went (code that uses one breaks)", went)
	conversions := map[string]*Conversion{}
	var inside []string
	for _, c := range d.Conversions {
		conversions[c.Type] = c
		if by[c.Type] == nil {
			inside = append(inside, fmt.Sprintf("%s (up %s, down %s)", c.Type, c.Up, c.Down))
		}
	}
	if len(changed) > 0 {
		b.WriteString(head)
	}
	for _, name := range changed {
		fmt.Fprintf(b, "  %s", name)
		if s := by[name][0].Sender; s != "" {
			fmt.Fprintf(b, ", from %s", map[string]string{"client": "the client", "server": "the server", "either": "either side"}[s])
		}
		if c := conversions[name]; c != nil {
			fmt.Fprintf(b, ": up %s, down %s", c.Up, c.Down)
		}
		b.WriteByte('\n')
		for _, c := range by[name] {
			writeLine(b, c, "")
		}
	}
	slices.Sort(inside)
	list("only what they hold changed", inside)
}
