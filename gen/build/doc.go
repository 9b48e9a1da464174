package build

import (
	"regexp"
	"slices"
	"strings"
)

// doc gives the lines of a type's, member's or message's documentation.
func (b *builder) doc(name, member, description string) []string {
	if b.in.Docs != nil {
		if l := b.in.Docs(name, member); l != nil {
			return l
		}
	}
	if description == "" {
		return nil
	}
	return strings.Split(b.links(strings.TrimSpace(description)), "\n")
}

var link = regexp.MustCompile(`\{@link ([^}]*)\}`)

// links turns the links of official descriptions into Go's. The tool that made
// those files dropped what stood between target and text, so "{@link X | y}"
// became "{@link Xy}": the longest definition name that it starts with is the target.
func (b *builder) links(s string) string {
	return link.ReplaceAllStringFunc(s, func(m string) string {
		body := link.FindStringSubmatch(m)[1]
		names := b.file.Names()
		slices.SortFunc(names, func(x, y string) int { return len(y) - len(x) })
		for _, n := range names {
			rest, ok := strings.CutPrefix(body, n)
			if !ok {
				continue
			}
			if strings.HasPrefix(rest, ".") { // a member of the definition
				member := strings.FieldsFunc(rest, func(r rune) bool { return r == '.' || r == ' ' || r == '|' })
				if len(member) > 0 {
					return "[" + b.linkName(n) + "." + fieldName(member[0]) + "]"
				}
			}
			return "[" + b.linkName(n) + "]"
		}
		return body
	})
}

// linkName is like goName but counts as no use of an overlay entry.
func (b *builder) linkName(def string) string {
	for _, n := range b.o.Names {
		if n.Definition == def && n.At == "" {
			return n.Go
		}
	}
	return definitionName(def)
}
