package delta

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
)

// Summary says in a few sentences what came and went from older to newer, for
// the comment of the newer package: a paragraph, and items that begin with
// "- ", none of them wrapped. It gives nothing when nothing changed, and when
// the two cannot be compared.
func Summary(older, newer *ir.Package) []string {
	d, err := Compare(older, newer)
	if err != nil {
		return nil
	}
	return d.Summary()
}

// Summary is the summary of a delta, see [Summary].
func (d *Delta) Summary() []string {
	s := &summary{d: d}
	s.item("Sent no more", MethodRemoved, func(c *Change) string { return c.Subject })
	s.item("New messages", MethodAdded, func(c *Change) string { return c.Subject })
	s.messages()
	s.item("New capabilities", CapabilityAdded, s.top)
	s.item("Capabilities that are gone", CapabilityRemoved, s.top)
	s.item("New types", TypeAdded, func(c *Change) string { return "[" + c.Subject + "]" })
	s.item("Types that are gone", TypeRemoved, func(c *Change) string { return c.Subject })
	s.item("Renamed types", TypeRenamed, func(c *Change) string { return "[" + c.Subject + "] (was " + c.Older + ")" })
	s.members("New members", MemberAdded)
	s.members("Members that are gone", MemberRemoved)
	s.members("Members that are required now", MadeRequired)
	s.members("Members that are optional now", MadeOptional)
	s.members("Members of another type", TypeChanged)
	s.members("New values", ValueAdded, RawAdded, ArmAdded)
	s.members("Values that are gone", ValueRemoved, RawRemoved, ArmRemoved)
	s.item("New errors", ErrorAdded, func(c *Change) string { return c.Subject + " (" + c.Newer + ")" })
	s.item("Errors that are gone", ErrorRemoved, func(c *Change) string { return c.Subject + " (" + c.Older + ")" })
	s.members("Deprecated", Deprecated)
	if len(s.lines) == 0 {
		return nil
	}
	lead := fmt.Sprintf("What changed since revision %s:", d.Older.Revision)
	for _, c := range d.Changes {
		if c.Kind == HandshakeChanged {
			how := "There is no handshake and no session any more: every request stands alone."
			if c.Newer != "stateless" {
				how = "A connection begins with a handshake again."
			}
			lead = fmt.Sprintf("%s What changed since revision %s:", how, d.Older.Revision)
		}
	}
	return append([]string{lead}, s.lines...)
}

// summary collects lines.
type summary struct {
	d     *Delta
	lines []string
}

func (s *summary) list(title string, parts []string) {
	if len(parts) > 0 {
		s.lines = append(s.lines, "- "+title+": "+strings.Join(parts, ", ")+".")
	}
}

// top is a capability, unless the one that it is a part of is of the same kind.
func (s *summary) top(c *Change) string {
	for _, o := range s.d.Changes {
		if o.Kind == c.Kind && strings.HasPrefix(c.Subject, o.Subject+".") {
			return ""
		}
	}
	return c.Subject
}

// messages lists the messages of both revisions that changed, and how.
func (s *summary) messages() {
	how := map[string][]string{}
	var order []string
	for _, c := range s.d.Changes {
		if c.Group != Methods && c.Group != Notifications {
			continue
		}
		what := ""
		switch c.Kind {
		case ParamsMadeReq:
			what = "params are required"
		case ParamsMadeOpt:
			what = "params are optional"
		case OutcomeAdded:
			what = map[string]string{outcomes[ir.InputRequired]: "may ask for input first", outcomes[ir.TaskCreated]: "may give a task", outcomes[ir.TaskByType]: "may give a task"}[c.Member]
		case OutcomeRemoved:
			what = map[string]string{outcomes[ir.InputRequired]: "asks for no input", outcomes[ir.TaskCreated]: "gives no task when asked", outcomes[ir.TaskByType]: "gives no task"}[c.Member]
		case NeedAdded:
			what = "needs " + c.Member
		case NeedRemoved:
			what = "does not need " + c.Member
		case DirectionChanged:
			what = map[string]string{"client": "only the client sends it", "server": "only the server sends it", "either": "either side sends it"}[c.Newer]
		case EmbeddedChanged:
			what = map[string]string{"embedded": "travels inside of another message", "message": "travels by itself"}[c.Newer]
		case ParamsChanged:
			what = "params are [" + c.Newer + "]"
		case ResultChanged:
			what = "gives [" + c.Newer + "]"
		case GoNameChanged:
			what = "called " + c.Newer + " in Go"
		case LifecycleChanged:
			what = map[string]string{"runtime": "the runtime answers it", "func": "a func answers it"}[c.Newer]
		case PagesChanged:
			what = "pages of " + cmp.Or(c.Newer, "nothing")
		default:
			continue
		}
		if how[c.Subject] == nil {
			order = append(order, c.Subject)
		}
		how[c.Subject] = append(how[c.Subject], what)
	}
	var parts []string
	for _, m := range order {
		parts = append(parts, m+" ("+strings.Join(how[m], ", ")+")")
	}
	s.list("Changed messages", parts)
}

// item lists the changes of one kind.
func (s *summary) item(title string, kind Kind, show func(*Change) string) {
	var parts []string
	for _, c := range s.d.Changes {
		if c.Kind != kind {
			continue
		}
		if p := show(c); p != "" {
			parts = append(parts, p)
		}
	}
	s.list(title, parts)
}

// members lists what changed inside of types, each type once. What changed in
// many types alike is said of the member.
func (s *summary) members(title string, kinds ...Kind) {
	types := map[string][]string{} // by member
	var order []string
	var whole []string
	for _, c := range s.d.Changes {
		if c.Group != Types && c.Kind != Deprecated || !slices.Contains(kinds, c.Kind) {
			continue
		}
		name := c.Subject
		if c.Group == Types {
			name = "[" + name + "]"
		}
		if c.Member == "" {
			whole = append(whole, name)
			continue
		}
		if types[c.Member] == nil {
			order = append(order, c.Member)
		}
		types[c.Member] = append(types[c.Member], name)
	}
	parts := whole
	slices.SortStableFunc(order, func(x, y string) int { return cmp.Compare(len(types[y]), len(types[x])) })
	done := map[string]bool{}
	for _, m := range order {
		if len(types[m]) > 2 {
			parts = append(parts, fmt.Sprintf("%s of %s", m, and(types[m])))
			done[m] = true
		}
	}
	by := map[string][]string{}
	var owners []string
	for _, m := range order {
		if done[m] {
			continue
		}
		for _, t := range types[m] {
			if by[t] == nil {
				owners = append(owners, t)
			}
			by[t] = append(by[t], m)
		}
	}
	slices.Sort(owners)
	for _, t := range owners {
		slices.Sort(by[t])
		parts = append(parts, fmt.Sprintf("%s of %s", and(by[t]), t))
	}
	if len(parts) > 0 {
		s.lines = append(s.lines, "- "+title+": "+strings.Join(parts, "; ")+".")
	}
}

func and(l []string) string {
	if len(l) == 1 {
		return l[0]
	}
	return strings.Join(l[:len(l)-1], ", ") + " and " + l[len(l)-1]
}
