package build

import "fmt"

// ErrorKind says what a schema, or an overlay, does not say well enough.
type ErrorKind int

// The kinds of errors.
const (
	Unnamed      ErrorKind = iota // an anonymous object, union or enum without a name for it
	Collision                     // two things want one Go name
	Unclassified                  // a union whose members nothing tells apart
	Unused                        // an overlay entry that matches nothing
	Unreached                     // a definition that nothing refers to and no rule explains
	Message                       // a request or notification whose direction, params or result cannot be derived
	Unsupported                   // a construct that has no Go shape
)

// Error is what this package returns when it cannot lower a schema. Pointer is
// the JSON pointer in File: the schema file, or the overlay with the entry at fault.
type Error struct {
	Kind    ErrorKind
	File    string
	Pointer string
	Msg     string
}

// Error gives "file#pointer: message".
func (e *Error) Error() string {
	return fmt.Sprintf("%s#%s: %s", e.File, e.Pointer, e.Msg)
}
