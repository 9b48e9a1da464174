package wire

import (
	"bytes"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Only the quote, the backslash and control characters are escaped; bytes that
// are not UTF-8 become U+FFFD.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	var non uint64
	i, start := 0, 0
	for {
		for len(s)-i >= 8 {
			w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
				uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
			non |= w & hi
			if m := special(w); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				goto found
			}
			i += 8
		}
		for i < len(s) {
			c := s[i]
			if c == '"' || c == '\\' || c < 0x20 {
				goto found
			}
			non |= uint64(c & 0x80)
			i++
		}
		break
	found:
		b = appendText(b, s[start:i], non)
		b = appendEscape(b, s[i])
		i++
		start = i
	}
	b = appendText(b, s[start:], non)
	return append(b, '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// appendText appends text without escapes; non says that it may hold bytes outside ASCII.
func appendText(b []byte, s string, non uint64) []byte {
	if non == 0 || utf8.ValidString(s) {
		return append(b, s...)
	}
	for _, r := range s {
		b = utf8.AppendRune(b, r)
	}
	return b
}

// AppendInt appends v.
func AppendInt(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) }

// AppendBool appends true or false.
func AppendBool(b []byte, v bool) []byte { return strconv.AppendBool(b, v) }

// AppendFloat appends v in the form of ECMAScript, the shortest that reads back as v, but keeps the sign of -0. What JSON
// cannot say (NaN, infinities) is appended as null.
func AppendFloat(b []byte, v float64) []byte {
	if n := int64(v); float64(n) == v && n > -1<<53 && n < 1<<53 && (n != 0 || !math.Signbit(v)) {
		return strconv.AppendInt(b, n, 10)
	}
	abs := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return append(b, "null"...)
	case v == 0:
		return append(b, "-0"...)
	case abs >= 1e-6 && abs < 1e21:
		return strconv.AppendFloat(b, v, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, v, 'e', -1, 64)
	if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-2] == '0' { // e-07 is e-7 in ECMAScript
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}

// AppendRaw appends r, which must be valid; null if it is nil. White space between tokens is dropped when r holds a
// line feed or a carriage return, so that what comes out never breaks a line.
func AppendRaw(b []byte, r Raw) []byte {
	if r == nil {
		return append(b, "null"...)
	}
	if bytes.IndexByte(r, '\n') >= 0 || bytes.IndexByte(r, '\r') >= 0 {
		return appendCompact(b, r)
	}
	return append(b, r...)
}

// AppendRawObject is AppendRaw for a required object: {} if r is nil.
func AppendRawObject(b []byte, r Raw) []byte {
	if r == nil {
		return append(b, '{', '}')
	}
	return AppendRaw(b, r)
}

// AppendStrings appends an array of strings, [] if v is nil.
func AppendStrings(b []byte, v []string) []byte {
	b = append(b, '[')
	for i, s := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, s)
	}
	return append(b, ']')
}

func appendCompact(b []byte, r []byte) []byte {
	for i := 0; i < len(r); {
		switch c := r[i]; c {
		case ' ', '\n', '\r', '\t':
			i++
		case '"':
			e := min(stringEnd(r, i+1, len(r))+1, len(r))
			b = append(b, r[i:e]...)
			i = e
		default:
			b = append(b, c)
			i++
		}
	}
	return b
}

// AppendMembers appends each member as ,"name":value. Names that known reports and names that came before in m are left
// out, so that no name is written twice; known may be nil.
func AppendMembers(b []byte, m Members, known func(string) bool) []byte {
	var seen map[string]struct{}
	for i := range m {
		name := m[i].Name
		if known != nil && known(name) {
			continue
		}
		if len(m) <= indexMin {
			if i > 0 && m[:i].Has(name) {
				continue
			}
		} else {
			if seen == nil {
				seen = make(map[string]struct{}, len(m))
			}
			if _, ok := seen[name]; ok {
				continue
			}
			seen[name] = struct{}{}
		}
		b = append(b, ',')
		b = AppendString(b, name)
		b = append(b, ':')
		b = AppendRaw(b, m[i].Value)
	}
	return b
}

// CloseObject ends an object none of whose members is required. The object starts at start in b, where its first
// member, or nothing, was appended: every member with a comma in front and no opening brace. CloseObject turns the first
// comma into the brace.
//
//	n := len(b)
//	if x.Title != nil {
//		b = wire.AppendString(append(b, `,"title":`...), *x.Title)
//	}
//	b = wire.AppendMembers(b, x.Extra, isToolAnnotationsMember)
//	return wire.CloseObject(b, n)
func CloseObject(b []byte, start int) []byte {
	if len(b) == start {
		return append(b, '{', '}')
	}
	b[start] = '{'
	return append(b, '}')
}
