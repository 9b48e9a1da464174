package schema

import "fmt"

// ErrorKind says what is wrong with a schema file.
type ErrorKind int

// The kinds of errors.
const (
	// Syntax: the file is not one JSON value, or an object names a member twice.
	Syntax ErrorKind = iota
	// Keyword: a keyword this package does not handle.
	Keyword
	// Value: a handled keyword with a value that it cannot have, or that is not handled.
	Value
	// Reference: a $ref that leads to no definition of this file.
	Reference
)

// Error is what every function of this package returns for bad input. It says
// in which file and at which JSON pointer (RFC 6901, "" is the whole file).
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
