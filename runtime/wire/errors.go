package wire

import "strconv"

// ErrorKind is the class of an [Error]. It is itself an error, so errors.Is(err, wire.ErrMissing) asks for a class.
type ErrorKind uint8

const (
	// ErrSyntax: the text is not JSON.
	ErrSyntax ErrorKind = iota + 1
	// ErrType: a value of another JSON type was wanted, an integer was wanted and a fraction came, or null came for a
	// required member.
	ErrType
	// ErrMissing: a required member is absent.
	ErrMissing
	// ErrDuplicate: a member name comes twice in one object.
	ErrDuplicate
	// ErrValue: the type is right and the value is not, as with a constant that differs or a lone surrogate.
	ErrValue
	// ErrRange: a number does not fit the Go type.
	ErrRange
	// ErrDepth: arrays and objects are nested too deeply.
	ErrDepth
	// ErrLimit: another limit was passed, as by a number literal longer than MaxNumberLen.
	ErrLimit
	// ErrUTF8: a string holds bytes that are not UTF-8, so the text is not JSON.
	ErrUTF8
)

var kindNames = [...]string{"unknown error", "syntax error", "wrong type", "missing member", "duplicate member",
	"wrong value", "number out of range", "nested too deeply", "limit exceeded", "invalid UTF-8"}

// Error names the class.
func (k ErrorKind) Error() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[0]
}

// fatal says that the text itself is not acceptable, so that no lenient reading can go on behind it.
func (k ErrorKind) fatal() bool {
	return k == ErrSyntax || k == ErrUTF8 || k == ErrDepth || k == ErrLimit
}

// Error is a decoding error: what is wrong, and where.
type Error struct {
	// Kind is the class of the error.
	Kind ErrorKind
	// Path names the value in JavaScript notation from the root of the text, as in tools[3].name or
	// _meta["example.com/x"]; it is empty for the root itself. Long names and paths are cut.
	Path string
	// Msg says what is wrong, as in "want a string, got a number".
	Msg string
	// Offset is the position in the text, in bytes, where the problem was seen.
	Offset int64
}

// Error begins with the path, if there is one; syntax errors end with the offset.
func (e *Error) Error() string {
	s := e.Msg
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	if e.Kind.fatal() {
		s += " (offset " + strconv.FormatInt(e.Offset, 10) + ")"
	}
	return s
}

// Is reports whether target is the error's kind.
func (e *Error) Is(target error) bool {
	k, ok := target.(ErrorKind)
	return ok && k == e.Kind
}

// Under returns err with prefix put before its path, for a raw value that is decoded on its own later: the prefix is the
// path of that value. Errors that are neither an *Error nor a *ConvertError come back as they are.
func Under(prefix string, err error) error {
	if prefix == "" {
		return err
	}
	switch e := err.(type) {
	case *Error:
		c := *e
		c.Path = under(prefix, c.Path)
		return &c
	case *ConvertError:
		c := *e
		c.Path = under(prefix, c.Path)
		return &c
	}
	return err
}

// Problem is something that lenient decoding passed over.
type Problem struct {
	// Kind is the class of the error that strict decoding would have returned.
	Kind ErrorKind
	// Path, Msg and Offset are as in Error.
	Path, Msg string
	Offset    int64
}

// String begins with the path, if there is one.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Msg
	}
	return p.Path + ": " + p.Msg
}
