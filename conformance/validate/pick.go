package validate

import (
	"sort"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Violation is what is wrong with a value.
type Violation struct {
	Pointer string // JSON pointer to the place in the value, "" for the whole
	Message string
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
	return &Violation{Pointer: leaves[0].InstanceLocation, Message: leaves[0].Message}
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
