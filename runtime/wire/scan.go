package wire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// code says what a scanner found wrong; 0 is nothing.
type code uint8

const (
	cOK code = iota
	cValue
	cKey
	cKeyOrEnd
	cColon
	cObjNext
	cArrNext
	cCtl
	cEscape
	cUnterminated
	cUTF8
	cDepth
	cNumber
	cNumLen
	cSurrogate
	cTrailing
)

const (
	lo = 0x0101010101010101
	hi = 0x8080808080808080
)

func le64(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

// special returns a word whose high bits mark the bytes of w that end or bend a string: quote, backslash, control. Bits
// above the lowest one set may be wrong (borrow), so only the lowest counts.
func special(w uint64) uint64 {
	return ((w - 0x20*lo) | ((w ^ 0x22*lo) - lo) | ((w ^ 0x5c*lo) - lo)) & ^w & hi
}

func ws(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// scanString reads a string body that starts at i. It returns the index of the closing quote and whether there are
// escapes; with a code other than 0, the index of the problem.
func scanString(b []byte, i int) (end int, esc bool, c code) {
	start := i
	var non uint64
	for {
		for len(b)-i >= 8 {
			w := le64(b, i)
			if m := special(w); m != 0 {
				k := bits.TrailingZeros64(m) &^ 7
				non |= w & hi & (uint64(1)<<k - 1)
				i += k >> 3
				goto found
			}
			non |= w & hi
			i += 8
		}
		for i < len(b) {
			c := b[i]
			if c == '"' || c == '\\' || c < 0x20 {
				goto found
			}
			non |= uint64(c & 0x80)
			i++
		}
		return i, false, cUnterminated
	found:
		switch b[i] {
		case '"':
			if non != 0 {
				if k := invalidUTF8(b[start:i]); k >= 0 {
					return start + k, false, cUTF8
				}
			}
			return i, esc, cOK
		case '\\':
			esc = true
			if i+1 >= len(b) {
				return i + 1, false, cUnterminated
			}
			switch b[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if len(b)-i < 6 {
					return len(b), false, cUnterminated
				}
				if hex4(b[i+2:i+6]) < 0 {
					return i, false, cEscape
				}
				i += 6
			default:
				return i, false, cEscape
			}
		default:
			return i, false, cCtl
		}
	}
}

// invalidUTF8 returns the index of the first byte of s that is not UTF-8, or -1.
func invalidUTF8(s []byte) int {
	if utf8.Valid(s) {
		return -1
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return -1
}

func hexDigit(c byte) rune {
	switch {
	case c-'0' < 10:
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// hex4 returns the value of four hexadecimal digits, or a negative number.
func hex4(b []byte) rune {
	_ = b[3]
	x, y, z, w := hexDigit(b[0]), hexDigit(b[1]), hexDigit(b[2]), hexDigit(b[3])
	return x<<12 | y<<8 | z<<4 | w
}

// appendUnescaped appends the meaning of a string body that scanString accepted. lone is the index in s of the first
// surrogate escape without its partner, or -1; such escapes come out as U+FFFD.
func appendUnescaped(dst, s []byte) (out []byte, lone int) {
	lone = -1
	i := 0
	for {
		j := i
		for len(s)-j >= 8 {
			x := le64(s, j) ^ 0x5c*lo
			if m := (x - lo) & ^x & hi; m != 0 {
				j += bits.TrailingZeros64(m) >> 3
				goto found
			}
			j += 8
		}
		for j < len(s) && s[j] != '\\' {
			j++
		}
	found:
		dst = append(dst, s[i:j]...)
		if j >= len(s) {
			return dst, lone
		}
		switch c := s[j+1]; c {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			r := hex4(s[j+2:])
			at := j
			j += 4
			if utf16.IsSurrogate(r) {
				p := rune(utf8.RuneError)
				if j+8 <= len(s) && s[j+2] == '\\' && s[j+3] == 'u' {
					p = utf16.DecodeRune(r, hex4(s[j+4:]))
				}
				if r = p; r != utf8.RuneError {
					j += 6
				} else if lone < 0 {
					lone = at
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
		i = j + 2
	}
}

// unescaped returns the meaning of a valid string body. The result aliases s if there is no escape.
func unescaped(s []byte) string {
	for i := range s {
		if s[i] == '\\' {
			out, _ := appendUnescaped(make([]byte, 0, len(s)), s)
			return str(out)
		}
	}
	return str(s)
}

func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' < 10 {
		i++
	}
	return i
}

// scanNumber reads a number literal that starts at i and returns the index after it, or the index of the problem. intg
// says that it has neither fraction nor exponent.
func scanNumber(b []byte, i int) (end int, intg bool, c code) {
	start := i
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b):
		return i, false, cNumber
	case b[i] == '0':
		i++
	case b[i]-'1' < 9:
		i = digits(b, i+1)
	case i > start:
		return i, false, cNumber
	default:
		return i, false, cValue
	}
	intg = true
	if i < len(b) && b[i] == '.' {
		intg = false
		j := digits(b, i+1)
		if j == i+1 {
			return j, false, cNumber
		}
		i = j
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		intg = false
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		j := digits(b, i)
		if j == i {
			return j, false, cNumber
		}
		i = j
	}
	if i-start > MaxNumberLen {
		return start, false, cNumLen
	}
	return i, intg, cOK
}

func literal(b []byte, i int, s string) bool {
	return len(b)-i >= len(s) && string(b[i:i+len(s)]) == s
}

// skipValue reads the value that starts at i, white space before it allowed, and returns the index after it, or that of
// the problem. depth containers are open around it and max may be. It keeps no frame per level, so depth costs a bit
// each.
func skipValue(b []byte, i, depth, max int, m *memo) (int, code) {
	var (
		kinds uint64   // lowest bit: the innermost container is an object
		spill []uint64 // further kinds, 64 a word
		open  int      // containers opened here
		c     code
	)
value:
	i = ws(b, i)
	if i >= len(b) {
		return i, cValue
	}
	switch b[i] {
	case '"':
		if i, _, c = scanString(b, i+1); c != cOK {
			return i, c
		}
		i++
	case '{', '[':
		if m != nil {
			if e := m.enter(i); e > 0 {
				i = e
				break
			}
		}
		if depth+open >= max {
			return i, cDepth
		}
		if open&63 == 0 && open > 0 {
			spill = append(spill, kinds)
		}
		open++
		kinds <<= 1
		if b[i] == '[' {
			i = ws(b, i+1)
			if i < len(b) && b[i] == ']' {
				goto closing
			}
			goto value
		}
		kinds |= 1
		i = ws(b, i+1)
		if i < len(b) && b[i] == '}' {
			goto closing
		}
		if i >= len(b) || b[i] != '"' {
			return i, cKeyOrEnd
		}
		goto key
	case 't':
		if !literal(b, i, "true") {
			return i, cValue
		}
		i += 4
	case 'f':
		if !literal(b, i, "false") {
			return i, cValue
		}
		i += 5
	case 'n':
		if !literal(b, i, "null") {
			return i, cValue
		}
		i += 4
	default:
		if i, _, c = scanNumber(b, i); c != cOK {
			return i, c
		}
	}
after:
	if open == 0 {
		return i, cOK
	}
	i = ws(b, i)
	if kinds&1 == 0 {
		if i < len(b) {
			switch b[i] {
			case ',':
				i++
				goto value
			case ']':
				goto closing
			}
		}
		return i, cArrNext
	}
	if i < len(b) {
		switch b[i] {
		case ',':
			if i = ws(b, i+1); i >= len(b) || b[i] != '"' {
				return i, cKey
			}
			goto key
		case '}':
			goto closing
		}
	}
	return i, cObjNext
key:
	if i, _, c = scanString(b, i+1); c != cOK {
		return i, c
	}
	if i = ws(b, i+1); i >= len(b) || b[i] != ':' {
		return i, cColon
	}
	i++
	goto value
closing:
	i++
	open--
	kinds >>= 1
	if open&63 == 0 && open > 0 {
		kinds, spill = spill[len(spill)-1], spill[:len(spill)-1]
	}
	if m != nil {
		m.leave(i)
	}
	goto after
}

// memo remembers where the larger containers seen by look-aheads end, so that looking ahead at every level of a nest
// reads each byte a bounded number of times.
type memo struct {
	covered int      // look-aheads have read up to here
	spans   []span   // sorted by start; complete below covered
	open    []uint32 // spans not yet closed in the current look-ahead
	off     bool     // the buffer is too large for 32-bit offsets
}

type span struct{ start, end uint32 }

// memoMin is the length of the smallest container worth remembering; smaller ones are read again.
const memoMin = 64

func (m *memo) begin(pos, size int) {
	m.open = m.open[:0]
	m.off = uint64(size) > 1<<32-1
	if pos >= m.covered {
		m.spans = m.spans[:0]
		m.covered = pos
	}
}

func (m *memo) finish(pos int) {
	m.covered = max(m.covered, pos)
	for len(m.open) > 0 { // an error left them open
		m.spans = m.spans[:m.open[0]]
		m.open = m.open[:0]
	}
}

// noSpan marks an open container that is not recorded.
const noSpan = 1<<32 - 1

// enter is told that a container starts at i. It returns the index after it if that is known, else 0.
func (m *memo) enter(i int) int {
	if m.off {
		return 0
	}
	if i < m.covered {
		lo, hi := 0, len(m.spans)
		for lo < hi {
			if mid := (lo + hi) / 2; int(m.spans[mid].start) < i {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		if lo < len(m.spans) && int(m.spans[lo].start) == i && m.spans[lo].end > 0 {
			return int(m.spans[lo].end)
		}
		m.open = append(m.open, noSpan)
		return 0
	}
	m.open = append(m.open, uint32(len(m.spans)))
	m.spans = append(m.spans, span{start: uint32(i)})
	return 0
}

// leave is told that the innermost open container ends before i.
func (m *memo) leave(i int) {
	if m.off {
		return
	}
	k := m.open[len(m.open)-1]
	m.open = m.open[:len(m.open)-1]
	if k == noSpan {
		return
	}
	if i-int(m.spans[k].start) < memoMin {
		m.spans = m.spans[:k]
		return
	}
	m.spans[k].end = uint32(i)
}
