package validate

import (
	"sort"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Violation is what is wrong with a value: of several faults, the deepest.
type Violation struct {
	Pointer string // JSON pointer to the place in the value, "" for the whole
	Message string

	missing []string // members that are missing there
	rest    []*Violation
}

// All are the faults of the value, this one first. Where it fits no branch of a
// union, they are what each of the branches has against it that may be meant.
func (v *Violation) All() []*Violation { return append([]*Violation{v}, v.rest...) }

// Places are JSON pointers to what is wrong: the place, or the members that are
// missing there.
func (v *Violation) Places() []string {
	if v.missing == nil {
		return []string{v.Pointer}
	}
	out := make([]string, len(v.missing))
	for i, name := range v.missing {
		out[i] = v.Pointer + "/" + name
	}
	return out
}

// Error gives "/content/1: missing properties: 'mimeType'".
func (v *Violation) Error() string {
	if v.Pointer == "" {
		return v.Message
	}
	return v.Pointer + ": " + v.Message
}

// pick chooses one message from a tree of them, the same every time: the
// library visits members in random order and blames the first branch of a
// union, whichever branch was meant.
func pick(err *jsonschema.ValidationError) *Violation {
	leaves := flatten(err)
	sort.SliceStable(leaves, func(i, j int) bool {
		a, b := leaves[i], leaves[j]
		if da, db := strings.Count(a.InstanceLocation, "/"), strings.Count(b.InstanceLocation, "/"); da != db {
			return da > db
		}
		if a.InstanceLocation != b.InstanceLocation {
			return a.InstanceLocation < b.InstanceLocation
		}
		return a.KeywordLocation < b.KeywordLocation
	})
	out := make([]*Violation, len(leaves))
	for i, l := range leaves {
		out[i] = &Violation{Pointer: l.InstanceLocation, Message: l.Message}
		if names, ok := strings.CutPrefix(l.Message, "missing properties: "); ok && strings.HasSuffix(l.KeywordLocation, "/required") {
			for name := range strings.SplitSeq(names, ", ") {
				out[i].missing = append(out[i].missing, strings.Trim(name, "'"))
			}
		}
	}
	out[0].rest = out[1:]
	return out[0]
}

// flatten collects the leaves that matter.
func flatten(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	causes := e.Causes
	if strings.HasSuffix(e.KeywordLocation, "/anyOf") || strings.HasSuffix(e.KeywordLocation, "/oneOf") {
		// A branch whose constant member says that another one was meant is
		// no help, unless every branch is like that.
		var left []*jsonschema.ValidationError
		for _, c := range causes {
			if !otherVariant(c, e.InstanceLocation) {
				left = append(left, c)
			}
		}
		if len(left) > 0 {
			causes = left
		}
	}
	var out []*jsonschema.ValidationError
	for _, c := range causes {
		out = append(out, flatten(c)...)
	}
	return out
}

// otherVariant reports whether a branch failed at a constant, or at the type,
// of the value at base or of a member directly in it.
func otherVariant(e *jsonschema.ValidationError, base string) bool {
	if len(e.Causes) == 0 {
		rest, inside := strings.CutPrefix(e.InstanceLocation, base)
		if !inside || strings.Count(rest, "/") > 1 {
			return false
		}
		return strings.HasSuffix(e.KeywordLocation, "/const") && rest != "" ||
			strings.HasSuffix(e.KeywordLocation, "/type") && rest == ""
	}
	for _, c := range e.Causes {
		if otherVariant(c, base) {
			return true
		}
	}
	return false
}
