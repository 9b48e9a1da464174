package delta

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// use is what a rule does with a member, an arm or a type.
type use int

const (
	byModel     use = iota // no rule: the models say it
	hand                   // a person writes a function
	mustDefault            // the member is left out, and only its default can be
	rename                 // the member has another name in the older revision
	apart                  // the type means another thing: it is not converted
)

// rule settles what the models do not say, or say wrongly, for one step.
type rule struct {
	typ    string // Go name in the newer revision; * is any that has the member; Server and Client are those structs of funcs
	member string // name on the wire, or Go name of a union's arm in the source; "" is the type itself
	way    string // "up", "down", "both"
	use    use
	older  string // rename: the member's name in the older revision
	why    string
}

// rules are the settled cases, by the newer revision of the step. A rule that
// settles nothing is an error.
var rules = map[string][]rule{
	"2025-11-25": {
		{typ: "Tool", member: "execution", way: "down", use: hand, why: "a tool that has to run as a task is hidden from who knows no tasks"},
		{typ: "ClientCapabilities", member: "elicitation", way: "down", use: hand, why: "elicitation by URL alone is none there"},
		{typ: "Client", way: "down", use: hand, why: "a client that elicits by URL alone does not elicit there"},
		{typ: "PrimitiveSchemaDefinition", member: "LegacyTitledEnumSchema", way: "up", use: hand, why: "without titles it is what the newer revision calls untitled"},
	},
	"2026-07-28": {
		{typ: "*", member: "resultType", way: "down", use: mustDefault, why: "there are only complete results"},
		{typ: "Tool", member: "execution", way: "up", use: hand, why: "a tool that has to run as a task is hidden from who knows no such tasks"},
		{typ: "Tool", member: "outputSchema", way: "down", use: hand, why: "there it has to be the schema of an object"},
		{typ: "RequestMeta", member: "io.modelcontextprotocol/protocolVersion", way: "down", use: hand, why: "belongs to the session"},
		{typ: "RequestMeta", member: "io.modelcontextprotocol/clientCapabilities", way: "down", use: hand, why: "belongs to the session"},
		{typ: "RequestMeta", member: "io.modelcontextprotocol/clientInfo", way: "both", use: hand, why: "belongs to the session"},
		{typ: "RequestMeta", member: "io.modelcontextprotocol/logLevel", way: "both", use: hand, why: "belongs to the session"},
		{typ: "Task", member: "ttlMs", way: "both", use: rename, older: "ttl", why: "the unit came into the name"},
		{typ: "Task", member: "pollIntervalMs", way: "both", use: rename, older: "pollInterval", why: "the unit came into the name"},
		{typ: "CreateTaskResult", way: "both", use: apart, why: "here it is the task itself, there it holds the task"},
		{typ: "GetTaskResult", way: "both", use: apart, why: "here a task that has ended holds its outcome, there tasks/result gives it"},
		{typ: "TaskStatusParams", way: "both", use: apart, why: "the same"},
		{typ: "ResultMeta", way: "down", use: hand, why: "the server's name belongs to the session"},
		{typ: "CancelTaskResult", way: "both", use: apart, why: "here it only acknowledges, there it is the task"},
	},
}

// ruleSet is the rules of one step, and which of them were used.
type ruleSet struct {
	rules []rule
	used  map[int]bool
}

func rulesOf(revision string) *ruleSet { return &ruleSet{rules[revision], map[int]bool{}} }

func (s *ruleSet) find(typ, member string, up bool, uses ...use) *rule {
	for i := range s.rules {
		r := &s.rules[i]
		if (r.typ == typ || r.typ == "*") && r.member == member && (r.way == "both" || (r.way == "up") == up) && slices.Contains(uses, r.use) {
			s.used[i] = true
			return r
		}
	}
	return nil
}

// take is what a rule does with a member or an arm.
func (s *ruleSet) take(typ, member string, up bool) use {
	if r := s.find(typ, member, up, hand, mustDefault); r != nil {
		return r.use
	}
	return byModel
}

// renamed is the name on the side that values come from of a member of the
// target, "" if it has no other.
func (s *ruleSet) renamed(typ, member string, up bool) string {
	for i, r := range s.rules {
		if r.use != rename || r.typ != typ {
			continue
		}
		from, to := r.older, r.member
		if !up {
			from, to = to, from
		}
		if to == member {
			s.used[i] = true
			return from
		}
	}
	return ""
}

// moved says whether a member of the source has another name in the target.
func (s *ruleSet) moved(typ, member string, up bool) bool {
	return s.renamed(typ, member, !up) != ""
}

// apart says whether a type that both have is not converted.
func (s *ruleSet) apart(typ string) bool { return s.find(typ, "", true, apart) != nil }

func (s *ruleSet) unused(revision string) error {
	for i, r := range s.rules {
		if !s.used[i] {
			return fmt.Errorf("the rule for converting %s between %s and the revision before it settles nothing: remove it from gen/delta/rules.go",
				strings.TrimSuffix(r.typ+"."+r.member, "."), revision)
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Apart says whether a rule keeps a type of that revision from being converted
// between it and the one before, though both have it: it means another thing.
func Apart(revision, typ string) bool { return rulesOf(revision).apart(typ) }
