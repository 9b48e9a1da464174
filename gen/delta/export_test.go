package delta

import "github.com/goldwire/goldwire/gen/ir"

// GoField is the Go type of a member's field, as the comparison knows it.
func GoField(p *ir.Package, f *ir.Field) string { return goField(index(p), f) }

// UnusedRule is the error for a rule of a revision's step that settles nothing.
func UnusedRule(older, newer *ir.Package) error {
	was := rules[newer.Revision]
	defer func() { rules[newer.Revision] = was }()
	rules[newer.Revision] = append(was[:len(was):len(was)], rule{typ: "Tool", member: "wings", way: "down", use: hand})
	_, err := Step(older, newer)
	return err
}

// Renamed is the step with a rule that a member has another name in the older
// revision.
func Renamed(older, newer *ir.Package, typ, member, was string) (*ir.StepPackage, error) {
	had := rules[newer.Revision]
	defer func() { rules[newer.Revision] = had }()
	rules[newer.Revision] = append(had[:len(had):len(had)], rule{typ: typ, member: member, way: "both", use: rename, older: was})
	return Step(older, newer)
}
