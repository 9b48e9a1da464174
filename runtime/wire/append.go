package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Only the quote, the backslash and control characters are escaped; bytes that
// are not UTF-8 become U+FFFD.
func AppendString(b []byte, s string) []byte {
	// p is only read.
	p := unsafe.Slice(unsafe.StringData(s), len(s))
	n := len(b)
	if cap(b)-n < len(p)+10 {
		b = slices.Grow(b, len(p)+len(p)/16+10) // text has some escapes
	}
	b = b[:cap(b)]
	b[n] = '"'
	n++
	if k := len(p); k >= 4 && k <= 16 {
		// Most strings are short and plain: two words that overlap hold them.
		if k >= 8 {
			if v, w := le64(p), le64(p[k-8:]); special(v)|special(w) == 0 {
				q := b[n : n+k+1]
				binary.LittleEndian.PutUint64(q, v)
				binary.LittleEndian.PutUint64(q[k-8:], w)
				q[k] = '"'
				return b[:n+k+1]
			}
		} else {
			v, w := binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[k-4:])
			if special(uint64(v)|uint64(w)<<32) == 0 {
				q := b[n : n+k+1]
				binary.LittleEndian.PutUint32(q, v)
				binary.LittleEndian.PutUint32(q[k-4:], w)
				q[k] = '"'
				return b[:n+k+1]
			}
		}
	}
	i, run := 0, 0 // run: where what is copied as it is began
	for {
		// Words are written before they are looked at; what does not belong is written over. There is always room for
		// what is left of p and a word more.
		for len(p)-i >= 16 && len(b)-n >= 16 {
			p, q := p[i:i+16:i+16], b[n:n+16:n+16]
			v, w := le64(p), le64(p[8:])
			binary.LittleEndian.PutUint64(q, v)
			binary.LittleEndian.PutUint64(q[8:], w)
			m, k := special(v), 0
			if m == 0 {
				m, k = special(w), 8
			}
			if m != 0 {
				k += bits.TrailingZeros64(m) >> 3
				i += k
				n += k
				goto found
			}
			i += 16
			n += 16
		}
		for len(p)-i >= 8 && len(b)-n >= 8 {
			w := le64(p[i:])
			binary.LittleEndian.PutUint64(b[n:], w)
			if m := special(w); m != 0 {
				k := bits.TrailingZeros64(m) >> 3
				i += k
				n += k
				goto found
			}
			i += 8
			n += 8
		}
		if r := len(p) - i; r > 0 && r < 8 && len(p)-run >= 8 {
			if w := le64(p[len(p)-8:]); special(w) == 0 { // the first bytes of w are there already
				n += r
				binary.LittleEndian.PutUint64(b[n-8:], w)
				i = len(p)
			}
		}
		for ; i < len(p); i++ {
			if c := p[i]; c < ' ' || c >= 0x80 || c == '"' || c == '\\' {
				goto found
			}
			b[n] = p[i]
			n++
		}
		b[n] = '"'
		return b[:n+1]
	found:
		if c := p[i]; c < 0x80 {
			if e := escaped[c]; e != 'u' {
				b[n], b[n+1] = '\\', e
				n += 2
			} else {
				b = append(b[:n], '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
				n += 6
			}
			i++
		} else {
			e, ok := scanRunes(p, i)
			if len(b)-n >= e-i {
				n += copy(b[n:], p[i:e])
			} else {
				b = append(b[:n], p[i:e]...)
				n = len(b)
			}
			if i = e; !ok {
				b = append(b[:n], "\uFFFD"...)
				n = len(b)
				i++
			}
		}
		run = i
		if cap(b)-n < len(p)-i+10 {
			b = slices.Grow(b[:n], len(p)-i+10)
		}
		b = b[:cap(b)]
	}
}

// escaped has the byte to write after a backslash; u stands for a numeric escape.
var escaped = func() (t [128]byte) {
	for c := range byte(' ') {
		t[c] = 'u'
	}
	for c, e := range map[byte]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'} {
		t[c] = e
	}
	return t
}()

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

// AppendRaw appends r, which must be valid; null if it is nil or empty. White space between tokens is dropped when r holds a
// line feed or a carriage return, so that what comes out never breaks a line.
func AppendRaw(b []byte, r Raw) []byte {
	if len(r) == 0 {
		return append(b, "null"...)
	}
	if breaksLine(r) {
		return appendCompact(b, r)
	}
	return append(b, r...)
}

// breaksLine reports whether there is a line feed or a carriage return in r; a tab in a short r may count as one.
func breaksLine(r []byte) bool {
	if len(r) > 64 {
		return bytes.IndexByte(r, '\n') >= 0 || bytes.IndexByte(r, '\r') >= 0
	}
	i := 0
	for ; len(r)-i >= 16; i += 16 {
		v, w := le64(r[i:]), le64(r[i+8:])
		if ((v-0x20*lo)&^v|(w-0x20*lo)&^w)&hi != 0 {
			return true
		}
	}
	for ; i < len(r); i++ {
		if r[i] < ' ' {
			return true
		}
	}
	return false
}

// AppendRawObject is AppendRaw for a required object: {} if r is nil or empty.
func AppendRawObject(b []byte, r Raw) []byte {
	if len(r) == 0 {
		return append(b, '{', '}')
	}
	return AppendRaw(b, r)
}

// Base64 returns p in the standard base64 (RFC 4648 section 4), with padding. It makes the string in its place, where
// encoding/base64 makes it twice.
func Base64(p []byte) string {
	b := make([]byte, base64.StdEncoding.EncodedLen(len(p)))
	base64.StdEncoding.Encode(b, p)
	return str(b)
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

// appendCompact appends r without the white space between its tokens.
func appendCompact(b []byte, r []byte) []byte {
	n := len(b)
	b = slices.Grow(b, len(r))[:n+len(r)]
	for i := 0; i < len(r); {
		c := r[i]
		if c <= ' ' {
			if e := ws(r, i); e > i {
				i = e
				continue
			}
		}
		if c != '"' {
			b[n] = c
			n++
			i++
			continue
		}
		e := min(stringEnd(r, i+1, len(r))+1, len(r))
		n += copy(b[n:], r[i:e])
		i = e
	}
	return b[:n]
}

// AppendMembers appends each member as ,"name":value. Names that known reports and names that came before in m are left
// out, so that no name is written twice; known may be nil.
func AppendMembers(b []byte, m Members, known func(string) bool) []byte {
	m = m.writable()
	var seen nameSet
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
			if seen.slot == nil {
				seen.fill(m[:i])
			}
			if !seen.add(m[:i], name) {
				continue
			}
		}
		b = append(b, ',')
		b = AppendString(b, name)
		b = append(b, ':')
		b = AppendRaw(b, m[i].Value)
	}
	return b
}

// writable gives the members the names that AppendString writes for them: two names that differ only in bytes which
// are not UTF-8 are one name on the wire.
func (m Members) writable() Members {
	for i := range m {
		if utf8.ValidString(m[i].Name) {
			continue
		}
		m = slices.Clone(m)
		for j := i; j < len(m); j++ {
			m[j].Name, _ = Raw(AppendString(nil, m[j].Name)).Str()
		}
		break
	}
	return m
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
