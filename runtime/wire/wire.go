// Package wire is what generated codecs call: a one-pass JSON decoder over a message buffer, an appending encoder, raw
// values, unknown members, and errors that say where.
//
// A generated DecodeJSON asks a [Dec] for one token after another (ObjBegin, Key, Str, …) and returns any error
// untouched: errors carry an offset, and the path ("tools[3].name") is worked out from the buffer and that offset only
// when an error is made. A generated AppendJSON appends literal runs, the Append functions of this package and other
// AppendJSON methods.
//
// # What is accepted
//
// The text is RFC 8259 JSON, checked in full on the one pass, raw values included: grammar, escapes, control characters,
// UTF-8. On top of that: nesting is bounded (256 levels unless set otherwise, 10,000 at most), a number literal has at
// most 1,024 bytes, member names match exactly and by their unescaped form, and a name that comes twice in a typed object
// is an error, where RFC 8259 section 4 leaves it open. A lone surrogate escape as in \ud800 (section 8.2) is an error in a
// typed string when decoding strictly, becomes U+FFFD and is reported when decoding leniently, and is kept as written
// inside a raw value.
//
// # Ownership
//
// A [Raw] aliases the message buffer, so a buffer belongs to its message and must not be reused while values decoded
// from it live. Strings are copies unless [Options].Alias is set. Copies of short strings share blocks of at most 1 KiB.
//
// # Strict and lenient
//
// Strict decoding stops at the first problem. Lenient decoding ([Options].Lenient) lets generated code default a missing
// member (Forgive) and pass over a bad list element (Skip); what was forgiven is kept, bounded, in [Dec.Skipped]. Text
// that is not JSON, or that breaks a limit, is an error in both modes.
package wire

import "sync"

const (
	// DefaultMaxDepth is the number of nested arrays and objects allowed when Options.MaxDepth is 0.
	DefaultMaxDepth = 256
	// HardMaxDepth is the highest depth that can be asked for; a larger Options.MaxDepth means this one.
	HardMaxDepth = 10_000
	// MaxNumberLen is the longest number literal accepted, in bytes.
	MaxNumberLen = 1024
	// DefaultMaxSkipped is the number of problems kept when Options.MaxSkipped is 0.
	DefaultMaxSkipped = 64
	// MaxProblems is the number of bad list elements that lenient decoding passes over in one message; one more is an
	// error.
	MaxProblems = 1 << 16
)

// Options say how a message is decoded. The zero value decodes strictly and copies strings.
type Options struct {
	// Lenient makes Skip, Forgive and lone surrogates record a Problem where strict decoding returns an error.
	Lenient bool
	// Alias makes decoded strings point into the message buffer when they hold no escape. Such strings are good only as
	// long as nobody writes to the buffer, and each keeps the whole buffer alive.
	Alias bool
	// MaxDepth is the number of nested arrays and objects allowed, raw values included; 0 means DefaultMaxDepth, and
	// values above HardMaxDepth mean HardMaxDepth.
	MaxDepth int
	// MaxSkipped bounds how many problems Skipped keeps; 0 means DefaultMaxSkipped. All are counted.
	MaxSkipped int
}

// Decoder is a value that reads itself from the next value of d. Generated types implement it on their pointers.
type Decoder interface {
	DecodeJSON(d *Dec) error
}

// Appender is a value that appends its compact JSON text to b. Generated types implement it on their pointers.
type Appender interface {
	AppendJSON(b []byte) []byte
}

var decs = sync.Pool{New: func() any { return new(Dec) }}

// Decode reads the one JSON value in b into v. White space may surround it; anything else after it is an error. After an
// error v may be partly filled. Values decoded into v may alias b.
func Decode(b []byte, o Options, v Decoder) error {
	d := decs.Get().(*Dec)
	d.Reset(b, o)
	err := v.DecodeJSON(d)
	if err == nil {
		err = d.End()
	}
	d.Reset(nil, Options{})
	decs.Put(d)
	return err
}
