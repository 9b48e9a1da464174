package delta_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/delta"
	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/spec/spectest"
)

func all(t testing.TB) []*ir.Package {
	t.Helper()
	pkgs, err := build.All(spectest.Files())
	require.NoError(t, err)
	return pkgs
}

// The facts name types as the official files do, count what several messages
// share once, and know neither the values of open enums nor which errors and
// outcomes are no types here.
var (
	notTypesHere = map[string]string{
		"CallToolOutcome": "an outcome: the result or an error value", "GetPromptOutcome": "the same", "ReadResourceOutcome": "the same",
		"URLElicitationRequiredError": "an error: a constructor and its data", "HeaderMismatchError": "the same", "InternalError": "the same",
		"InvalidParamsError": "the same", "InvalidRequestError": "the same", "MethodNotFoundError": "the same", "ParseError": "the same",
		"MissingRequiredClientCapabilityError": "the same", "UnsupportedProtocolVersionError": "the same",
		"Result":             "no message of the newest revision has it for a result",
		"RequestParams":      "what ping had is gone, and what server/discover has came",
		"NotificationParams": "named after the messages that have them",
	}
	notMembersThere = map[string]string{
		"ElicitFormParams +mode?": "there it only tells the union apart; here it is a member as well, since it may be left out",
	}
	notTypesThere = map[string]string{
		"ListRootsParams": "other params there: those that several messages had, and then its own",
		"StopReason":      "a string there: the file lost that some values are known",
		"ResultType":      "the same",
		"SamplingContent": "spelled out there: one or many blocks",
		"Error":           "a part of messages there; an extension needs it as a type",
		"InputRequest":    "made of messages, which are no types there", "CreateMessageRequest": "a message", "ElicitRequest": "a message", "ListRootsRequest": "a message",
	}
)

// changedFact is a method of the list of those that changed.
var changedFact = regexp.MustCompile("`([^`]*)`:")

// more is how many types the facts count that are none here: in each revision
// four that have a name there and are plain values here, one error in
// 2025-11-25, and the errors, outcomes and general types of 2026-07-28.
var more = map[string]int{"2024-11-05": 4, "2025-03-26": 4, "2025-06-18": 4, "2025-11-25": 5, "2026-07-28": 16}

// official gives the name that the facts have for a type of ours.
func official(p *ir.Package, t *ir.Type) string {
	members := map[string]ir.RefKind{}
	for _, f := range t.Fields {
		members[f.JSON] = f.Type.Kind
	}
	meta, onlyMeta := members["_meta"], len(members) == 1
	for _, m := range p.Methods {
		_, cursor := members["cursor"]
		switch {
		case m.Params != t.Name:
			continue
		case t.Kind == ir.Struct && len(members) == 2 && cursor:
			return "PaginatedRequestParams"
		case t.Kind == ir.Struct && onlyMeta && m.Notification:
			return "NotificationParams"
		case t.Kind == ir.Struct && onlyMeta && meta == ir.Named:
			return "RequestParams"
		}
		return m.Definition + "Params"
	}
	return longName(t.Name)
}

func longName(name string) string {
	switch name {
	case "ElicitFormParams", "ElicitURLParams":
		return strings.Replace(name, "Elicit", "ElicitRequest", 1)
	}
	return name
}

func payload(p *ir.Package) map[string]bool {
	out := map[string]bool{}
	for _, t := range p.Types {
		if t.Kind != ir.Alias && t.Kind != ir.Interface && (notTypesThere[t.Name] == "" || official(p, t) != t.Name) {
			out[official(p, t)] = true
		}
	}
	return out
}

// pair is what the facts say of two revisions.
type pair struct {
	older, newer   string
	numbers        []string // types old, types new, same, changed, added, removed
	totals         [2]string
	added, removed []string
	methodsAdded   []string
	methodsRemoved []string
	methodsChanged []string
	rows           map[string][3]string // type: up, down, own changes
}

func readFacts(t *testing.T) []*pair {
	t.Helper()
	shared := os.Getenv("GOLDWIRE_SHARED")
	if shared == "" {
		shared = "../../../shared"
	}
	data, err := os.ReadFile(filepath.Join(shared, "spec", "schema-diff.md"))
	if err != nil {
		t.Skip("the table of differences is not at hand (set GOLDWIRE_SHARED)")
	}
	byName := map[string]*pair{}
	var order []*pair
	get := func(name string) *pair {
		if byName[name] == nil {
			older, newer, _ := strings.Cut(name, " -> ")
			byName[name] = &pair{older: older, newer: newer, rows: map[string][3]string{}}
			order = append(order, byName[name])
		}
		return byName[name]
	}
	code := regexp.MustCompile("`([^`]*)`")
	names := func(line string) []string {
		var out []string
		for _, m := range code.FindAllStringSubmatch(line, -1) {
			out = append(out, m[1])
		}
		slices.Sort(out)
		return out
	}
	dated := regexp.MustCompile(`^\d{4}-\d\d-\d\d -> \d{4}-\d\d-\d\d$`)
	var cur *pair
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if head, ok := strings.CutPrefix(line, "## "); ok {
			cur = nil
			if dated.MatchString(head) {
				cur = get(head)
			}
			continue
		}
		for _, l := range []struct {
			head string
			to   func() *[]string
		}{
			{"Methods added: ", func() *[]string { return &cur.methodsAdded }}, {"Methods removed: ", func() *[]string { return &cur.methodsRemoved }},
			{"Types added: ", func() *[]string { return &cur.added }}, {"Types removed: ", func() *[]string { return &cur.removed }},
		} {
			if rest, ok := strings.CutPrefix(line, l.head); ok && cur != nil {
				*l.to() = names(rest)
			}
		}
		if rest, ok := strings.CutPrefix(line, "Methods changed: "); ok && cur != nil {
			for _, m := range changedFact.FindAllStringSubmatch(rest, -1) {
				cur.methodsChanged = append(cur.methodsChanged, m[1])
			}
		}
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|-") {
			continue
		}
		var cells []string
		for _, c := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(c))
		}
		switch {
		case cur != nil && len(cells) == 4 && cells[0] != "type":
			cur.rows[cells[0]] = [3]string{cells[1], cells[2], cells[3]}
		case cur == nil && dated.MatchString(cells[0]) && len(cells) == 6:
			o, n, _ := strings.Cut(cells[1], "/")
			get(cells[0]).numbers = append([]string{o, n}, cells[2:]...)
		case cur == nil && dated.MatchString(cells[0]) && len(cells) == 3:
			get(cells[0]).totals = [2]string{cells[1], cells[2]}
		}
	}
	return order
}

// own writes the changes of a type as the facts do, each as what it is about.
func own(d *delta.Delta, name string) []string {
	set := map[string]bool{}
	req := func(s string) string {
		if strings.HasSuffix(s, "!") {
			return "!"
		}
		return "?"
	}
	for _, c := range d.Changes {
		if c.Group != delta.Types || c.Subject != name {
			continue
		}
		switch c.Kind {
		case delta.MemberAdded:
			if what := "+" + c.Member + req(c.Newer); notMembersThere[name+" "+what] == "" {
				set[what] = true
			}
		case delta.MemberRemoved:
			set["-"+c.Member+req(c.Older)] = true
		case delta.MadeOptional:
			set[c.Member+": req->opt"] = true
		case delta.MadeRequired:
			set[c.Member+": opt->req"] = true
		case delta.TypeChanged:
			set[c.Member+": type"] = true
		case delta.ArmAdded, delta.RawAdded:
			set["+"+longName(c.Member)] = true
		case delta.ArmRemoved, delta.RawRemoved:
			set["-"+longName(c.Member)] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

var (
	memberFact = regexp.MustCompile(`^([+-])(\S+)([?!]):\S+$`)
	needFact   = regexp.MustCompile(`^(\S+): (req->opt|opt->req)$`)
	typeFact   = regexp.MustCompile(`^(\S+): .+ -> .+$`)
)

// ownFacts brings the facts' words into the same form.
func ownFacts(t *testing.T, text string) []string {
	if strings.HasPrefix(text, "(") {
		return nil
	}
	var out []string
	for _, part := range strings.Split(text, "; ") {
		if rest, ok := strings.CutPrefix(part, "members "); ok {
			for _, m := range strings.Fields(rest) {
				out = append(out, strings.ReplaceAll(m, "[]string", "list of strings"))
			}
			continue
		}
		switch {
		case memberFact.MatchString(part):
			out = append(out, memberFact.ReplaceAllString(part, "$1$2$3"))
		case needFact.MatchString(part):
			out = append(out, needFact.ReplaceAllString(part, "$1: $2"))
		case typeFact.MatchString(part):
			out = append(out, typeFact.ReplaceAllString(part, "$1: type"))
		default:
			t.Errorf("the fact %q is not understood", part)
		}
	}
	slices.Sort(out)
	return out
}

// TestFacts holds every class, every change and every number against the table
// of differences that was computed from the official files by other means.
func TestFacts(t *testing.T) {
	pairs := readFacts(t)
	require.Len(t, pairs, 4)
	pkgs := map[string]*ir.Package{}
	for _, p := range all(t) { // the facts are of the specification itself, without extensions
		core := *p
		core.Types = slices.DeleteFunc(slices.Clone(p.Types), func(t *ir.Type) bool { return t.Extension != "" })
		core.Methods = slices.DeleteFunc(slices.Clone(p.Methods), func(m *ir.Method) bool { return m.Extension != "" })
		pkgs[p.Revision] = &core
	}
	for _, f := range pairs {
		t.Run(f.older+" "+f.newer, func(t *testing.T) {
			older, newer := pkgs[f.older], pkgs[f.newer]
			d, err := delta.Compare(older, newer)
			require.NoError(t, err)

			var added, removed []string
			for _, c := range d.Changes {
				switch {
				case c.Kind == delta.MethodAdded:
					added = append(added, c.Subject)
				case c.Kind == delta.MethodRemoved:
					removed = append(removed, c.Subject)
				}
			}
			require.ElementsMatch(t, f.methodsAdded, added)
			require.ElementsMatch(t, f.methodsRemoved, removed)

			o, n := payload(older), payload(newer)
			less := func(l []string) (out []string) { // the types of the facts that are types here
				for _, x := range l {
					if notTypesHere[x] == "" {
						out = append(out, x)
					}
				}
				return out
			}
			sub := func(a, b map[string]bool) (out []string) {
				for k := range a {
					if !b[k] && notTypesHere[k] == "" {
						out = append(out, k)
					}
				}
				return out
			}
			require.ElementsMatch(t, less(f.added), sub(n, o), "types that came")
			require.ElementsMatch(t, less(f.removed), sub(o, n), "types that went")

			names := map[string][]string{} // by the facts' name, ours
			for _, typ := range newer.Types {
				names[official(newer, typ)] = append(names[official(newer, typ)], typ.Name)
			}
			conversions := map[string]*delta.Conversion{}
			for _, c := range d.Conversions {
				conversions[c.Type] = c
			}
			seen := map[string]bool{}
			var totals [2]map[string]int
			totals[0], totals[1] = map[string]int{}, map[string]int{}
			for name, row := range f.rows {
				ours := names[name]
				if notTypesHere[name] != "" && len(ours) == 0 {
					continue
				}
				require.NotEmpty(t, ours, name)
				for _, typ := range ours {
					c := conversions[typ]
					if c == nil && notTypesHere[name] != "" {
						continue // it came with its message
					}
					require.NotNil(t, c, "%s, which the facts call %s", typ, name)
					seen[typ] = true
					mark := func(class delta.Class, nested bool) string {
						if nested {
							return string(class) + " (nested)"
						}
						return string(class)
					}
					got := [2]string{mark(c.Up, c.NestedUp), mark(c.Down, c.NestedDown)}
					require.Equal(t, [2]string{row[0], row[1]}, got, typ)
					require.Equal(t, ownFacts(t, row[2]), own(d, typ), typ)
				}
			}
			for name := range conversions {
				require.True(t, seen[name] || notTypesThere[name] != "", "the facts do not have %s", name)
			}
			for _, row := range f.rows {
				for i := range 2 {
					class, _, _ := strings.Cut(row[i], " ")
					totals[i][class]++
				}
			}
			for i := range 2 {
				for _, m := range regexp.MustCompile(`'([=DLX]+)': (\d+)`).FindAllStringSubmatch(f.totals[i], -1) {
					require.Equal(t, m[2], strconv.Itoa(totals[i][m[1]]), m[1])
				}
			}
			number := func(i int) int {
				n, err := strconv.Atoi(f.numbers[i])
				require.NoError(t, err)
				return n
			}
			require.Equal(t, number(3), len(f.rows))
			require.Equal(t, number(4), len(f.added))
			require.Equal(t, number(5), len(f.removed))
			require.Equal(t, number(2), number(0)-number(3)-number(5))
			require.Equal(t, number(0), len(o)+more[f.older], "types before")
			require.Equal(t, number(1), len(n)+more[f.newer], "types after")

			var changed []string
			for _, c := range d.Changes {
				switch c.Kind {
				case delta.ParamsMadeReq, delta.ParamsMadeOpt, delta.OutcomeAdded, delta.OutcomeRemoved, delta.DirectionChanged, delta.EmbeddedChanged, delta.ParamsChanged, delta.ResultChanged:
					if !slices.Contains(changed, c.Subject) {
						changed = append(changed, c.Subject)
					}
				}
			}
			require.ElementsMatch(t, f.methodsChanged, changed)
		})
	}
}
