package wire

import (
	"bytes"
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

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// special returns a word whose high bits mark the bytes of w that a plain string body cannot hold: quote, backslash,
// controls and what is not ASCII. Only the lowest mark counts: a borrow may set others above it.
func special(w uint64) uint64 {
	return (w | (w - 0x20*lo) | ((w ^ 0x22*lo) - lo) | ((w ^ 0x5c*lo) - lo)) & hi
}

// ws returns the index of the first byte from i on that is not white space, or len(b).
func ws(b []byte, i int) int {
	if i < len(b) && b[i] > ' ' {
		return i
	}
	return space(b, i)
}

func space(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ':
			// Indented text has long runs.
			for len(b)-i >= 8 && le64(b[i:]) == 0x20*lo {
				i += 8
			}
			if i < len(b) && b[i] == ' ' {
				i++
			}
		case '\n', '\r', '\t':
			i++
		default:
			return i
		}
	}
	return i
}

// plain returns the index of the first byte from i on that special marks, or len(b).
func plain(b []byte, i int) int {
	for len(b)-i >= 32 {
		p := b[i : i+32 : i+32]
		w0, w1, w2, w3 := le64(p), le64(p[8:]), le64(p[16:]), le64(p[24:])
		m0, m1, m2, m3 := special(w0), special(w1), special(w2), special(w3)
		if m0|m1|m2|m3 != 0 {
			switch {
			case m0 != 0:
				return i + bits.TrailingZeros64(m0)>>3
			case m1 != 0:
				return i + 8 + bits.TrailingZeros64(m1)>>3
			case m2 != 0:
				return i + 16 + bits.TrailingZeros64(m2)>>3
			}
			return i + 24 + bits.TrailingZeros64(m3)>>3
		}
		i += 32
	}
	for len(b)-i >= 8 {
		if m := special(le64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(b) && b[i]-0x20 < 0x60 && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// escapes has the meaning of the byte after a backslash: 0 for none, 'u' for \u.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'u': 'u'}

// scanString reads a string body that starts at i. It returns the index of the closing quote and whether there are
// escapes; with a code other than 0, the index of the problem.
func scanString(b []byte, i int) (end int, esc bool, c code) {
	for {
		if len(b)-i >= 8 {
			m := special(le64(b[i:]))
			if m == 0 {
				i = plain(b, i+8)
			} else {
				i += bits.TrailingZeros64(m) >> 3
			}
		} else {
			i = plain(b, i)
		}
		if i >= len(b) {
			return i, false, cUnterminated
		}
		switch x := b[i]; {
		case x == '"':
			return i, esc, cOK
		case x == '\\':
			esc = true
			if i+1 >= len(b) {
				return i + 1, false, cUnterminated
			}
			switch escapes[b[i+1]] {
			case 0:
				return i, false, cEscape
			case 'u':
				if len(b)-i < 6 {
					return len(b), false, cUnterminated
				}
				if hex4(b[i+2:]) < 0 {
					return i, false, cEscape
				}
				i += 6
			default:
				i += 2
			}
		case x < 0x20:
			return i, false, cCtl
		default:
			var ok bool
			if i, ok = scanRunes(b, i); !ok {
				i, c = badRune(b, i)
				return i, false, c
			}
		}
	}
}

// scanRunes goes over the characters at i that are not ASCII. The usual ones are checked by words: two characters of three
// bytes at a time, or one of two. It stops at what is not UTF-8, with ok false, or is not whole.
func scanRunes(b []byte, i int) (end int, ok bool) {
	for len(b)-i >= 8 {
		w := le64(b[i:])
		switch {
		case three(w):
			i += 3
			if three(w >> 24) {
				i += 3
			}
		case w&0xc0e0 == 0x80c0 && w&0x1e != 0:
			i += 2
		case w&0x80 == 0:
			return i, true
		default:
			n := runeLen(b[i:])
			if n == 0 {
				return i, false
			}
			i += n
		}
	}
	for i < len(b) && b[i] >= 0x80 {
		n := runeLen(b[i:])
		if n == 0 {
			return i, false
		}
		i += n
	}
	return i, true
}

// badRune is the problem at i, where scanRunes stopped.
func badRune(b []byte, i int) (int, code) {
	if !utf8.FullRune(b[i:]) {
		return len(b), cUnterminated
	}
	return i, cUTF8
}

// three reports whether a character of three bytes starts w: not an overlong one (E0 80..9F), not a surrogate (ED A0..BF).
func three(w uint64) bool {
	y := w & 0x200f
	return w&0xc0c0f0 == 0x8080e0 && y != 0 && y != 0x200d
}

// runeLen returns the length of the character with which s starts, 0 if it is ASCII or not UTF-8.
func runeLen(s []byte) int {
	switch c := s[0]; {
	case c < 0xc2:
	case c < 0xe0:
		if len(s) >= 2 && s[1]&0xc0 == 0x80 {
			return 2
		}
	case c < 0xf0:
		if len(s) >= 3 && s[1]&0xc0 == 0x80 && s[2]&0xc0 == 0x80 &&
			(c != 0xe0 || s[1] >= 0xa0) && (c != 0xed || s[1] < 0xa0) {
			return 3
		}
	case c < 0xf5:
		if len(s) >= 4 && s[1]&0xc0 == 0x80 && s[2]&0xc0 == 0x80 && s[3]&0xc0 == 0x80 &&
			(c != 0xf0 || s[1] >= 0x90) && (c != 0xf4 || s[1] < 0x90) {
			return 4
		}
	}
	return 0
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

// unescape reads a string body that starts at i and appends its meaning to dst. It returns the index of the closing
// quote and that of the first surrogate escape without its partner, or -1; such escapes come out as U+FFFD. With a code
// other than 0, end is the index of the problem.
func unescape(dst, b []byte, i int) (out []byte, end, lone int, c code) {
	lone = -1
	n := len(dst)
	dst = dst[:cap(dst)]
	for {
		// Words are written before they are looked at; what does not belong is written over.
		for len(b)-i >= 16 && len(dst)-n >= 16 {
			p, q := b[i:i+16:i+16], dst[n:n+16:n+16]
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
		for len(b)-i >= 8 {
			if len(dst)-n < 16 {
				if len(dst) < maxScratch {
					dst = growBuf(dst)
				} else {
					// A long string: ask once how long, so that it is not copied again and again.
					l := make([]byte, n+closingQuote(b, i)-i+32)
					copy(l, dst[:n])
					dst = l
				}
			}
			w := le64(b[i:])
			binary.LittleEndian.PutUint64(dst[n:], w)
			if m := special(w); m != 0 {
				k := bits.TrailingZeros64(m) >> 3
				i += k
				n += k
				break
			}
			i += 8
			n += 8
		}
	found:
		if len(dst)-n < 16 {
			dst = growBuf(dst)
		}
		if i >= len(b) {
			return nil, i, lone, cUnterminated
		}
		switch x := b[i]; {
		case x == '"':
			return dst[:n], i, lone, cOK
		case x == '\\':
			if i+1 >= len(b) {
				return nil, i + 1, lone, cUnterminated
			}
			e := escapes[b[i+1]]
			if e == 0 {
				return nil, i, lone, cEscape
			}
			if e != 'u' {
				dst[n] = e
				n++
				i += 2
				continue
			}
			if len(b)-i < 6 {
				return nil, len(b), lone, cUnterminated
			}
			r := hex4(b[i+2:])
			if r < 0 {
				return nil, i, lone, cEscape
			}
			at := i
			i += 6
			if utf16.IsSurrogate(r) {
				p := rune(utf8.RuneError)
				if len(b)-i >= 6 && b[i] == '\\' && b[i+1] == 'u' {
					p = utf16.DecodeRune(r, hex4(b[i+2:]))
				}
				if r = p; r != utf8.RuneError {
					i += 6
				} else if lone < 0 {
					lone = at
				}
			}
			n = len(utf8.AppendRune(dst[:n], r))
		case x < 0x20:
			return nil, i, lone, cCtl
		case x < 0x80: // fewer than eight bytes are left
			dst[n] = x
			n++
			i++
		default:
			e, ok := scanRunes(b, i)
			if !ok {
				e, c = badRune(b, e)
				return nil, e, lone, c
			}
			if len(dst)-n < e-i {
				dst = append(dst[:n], b[i:e]...)
				dst = dst[:cap(dst)]
			} else {
				copy(dst[n:], b[i:e])
			}
			n += e - i
			i = e
		}
	}
}

// closingQuote returns the index of the quote that ends the string body of which b[i:] is the rest, or len(b). i is not
// behind a backslash that belongs to it.
func closingQuote(b []byte, i int) int {
	for q := i; ; q++ {
		n := bytes.IndexByte(b[q:], '"')
		if n < 0 {
			return len(b)
		}
		q += n
		k := q
		for k > i && b[k-1] == '\\' {
			k--
		}
		if (q-k)&1 == 0 {
			return q
		}
	}
}

// growBuf returns a longer copy of b, all of whose capacity is in use.
func growBuf(b []byte) []byte {
	b = append(b, make([]byte, max(256, len(b)))...)
	return b[:cap(b)]
}

// unescaped returns the meaning of a valid string body. The result aliases s if there is no escape.
func unescaped(s []byte) string {
	if bytes.IndexByte(s, '\\') < 0 {
		return str(s)
	}
	q := append(append(make([]byte, 0, len(s)+1), s...), '"')
	out, _, _, _ := unescape(make([]byte, 0, len(s)+16), q, 0)
	return str(out)
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
		x     byte
	)
value:
	if i >= len(b) {
		return i, cValue
	}
	x = b[i]
	if x <= ' ' {
		if i = ws(b, i); i >= len(b) {
			return i, cValue
		}
		x = b[i]
	}
	if x == '"' {
		if m != nil {
			if i, c = m.string(b, i); c != cOK {
				return i, c
			}
			goto after
		}
		i++
		for len(b)-i >= 8 {
			s := special(le64(b[i:]))
			if s == 0 {
				i += 8
				continue
			}
			if i += bits.TrailingZeros64(s) >> 3; i < len(b) && b[i] == '"' {
				i++
				goto after
			}
			break
		}
		if i, _, c = scanString(b, i); c != cOK {
			return i, c
		}
		i++
		goto after
	}
	switch x {
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
		i++
		if i < len(b) && b[i] <= ' ' {
			i = ws(b, i)
		}
		if x == '[' {
			if i < len(b) && b[i] == ']' {
				goto closing
			}
			goto value
		}
		kinds |= 1
		if i < len(b) && b[i] == '"' {
			goto key
		}
		if i < len(b) && b[i] == '}' {
			goto closing
		}
		return i, cKeyOrEnd
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
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		s := i
		if i = digits(b, i+1); i-s < 20 && (i >= len(b) || b[i] != '.' && b[i]|0x20 != 'e') {
			break
		}
		i = s
		fallthrough
	default:
		if i, _, c = scanNumber(b, i); c != cOK {
			return i, c
		}
	}
after:
	if open == 0 {
		return i, cOK
	}
	if i < len(b) && b[i] <= ' ' {
		i = ws(b, i)
	}
	if i < len(b) && b[i] == ',' {
		i++
		if kinds&1 == 0 {
			goto value
		}
		if i < len(b) && b[i] <= ' ' {
			i = ws(b, i)
		}
		if i < len(b) && b[i] == '"' {
			goto key
		}
		return i, cKey
	}
	if kinds&1 == 0 {
		if i < len(b) && b[i] == ']' {
			goto closing
		}
		return i, cArrNext
	}
	if i < len(b) && b[i] == '}' {
		goto closing
	}
	return i, cObjNext
key:
	i++
	for len(b)-i >= 8 {
		s := special(le64(b[i:]))
		if s == 0 {
			i += 8
			continue
		}
		if i += bits.TrailingZeros64(s) >> 3; i+1 < len(b) && b[i] == '"' {
			i++
			if b[i] == ':' {
				i++
				goto value
			}
			goto colon
		}
		break
	}
	if i, _, c = scanString(b, i); c != cOK {
		return i, c
	}
	i++
colon:
	if i < len(b) && b[i] <= ' ' {
		i = ws(b, i)
	}
	if i >= len(b) || b[i] != ':' {
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

// memo remembers where the larger containers and the long strings seen by look-aheads end, so that looking ahead at
// every level of a nest reads each byte a bounded number of times, and a long string that was looked over is not read
// again.
type memo struct {
	covered int      // look-aheads have read up to here
	kept    int      // spans from before the current look-ahead
	spans   []span   // sorted by start; complete below covered
	open    []uint32 // spans not yet closed in the current look-ahead
	off     bool     // the buffer is too large for 32-bit offsets

	keptTexts int
	texts     []span // strings without escapes, quotes included; sorted and complete as spans are
}

type span struct{ start, end uint32 }

const (
	// memoMin is the length of the smallest container worth remembering; smaller ones are read again.
	memoMin = 64
	// memoText is the same for strings.
	memoText = 512
)

// begin starts a look-ahead at pos in a text of size bytes.
func (m *memo) begin(pos, size int) {
	m.open = m.open[:0]
	m.off = uint64(size) >= noSpan
	if pos >= m.covered {
		m.spans = m.spans[:0]
		m.texts = m.texts[:0]
		m.covered = pos
	}
	m.kept, m.keptTexts = len(m.spans), len(m.texts)
}

// finish ends a look-ahead that read up to pos, or failed.
func (m *memo) finish(pos int, failed bool) {
	if failed {
		m.spans, m.texts = m.spans[:m.kept], m.texts[:m.keptTexts]
		return
	}
	m.covered = max(m.covered, pos)
}

// startsAt finds the span that starts at i.
func startsAt(l []span, i int) (span, bool) {
	lo, hi := 0, len(l)
	for lo < hi {
		if mid := (lo + hi) / 2; int(l[mid].start) < i {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(l) && int(l[lo].start) == i {
		return l[lo], true
	}
	return span{}, false
}

// string reads the string whose opening quote is at i and returns the index after it, or that of the problem.
func (m *memo) string(b []byte, i int) (int, code) {
	if e := m.text(i); e > 0 {
		return e, cOK
	}
	e, esc, c := scanString(b, i+1)
	if c != cOK {
		return e, c
	}
	e++
	if e-i >= memoText && !esc && i >= m.covered && !m.off {
		m.texts = append(m.texts, span{uint32(i), uint32(e)})
	}
	return e, cOK
}

// text returns the index after the string at i if that is known to be one without escapes, else 0.
func (m *memo) text(i int) int {
	if i >= m.covered || len(m.texts) == 0 {
		return 0
	}
	t, _ := startsAt(m.texts, i)
	return int(t.end)
}

// noSpan marks an open container that is not recorded.
const noSpan = 1<<32 - 1

// enter is told that a container starts at i. It returns the index after it if that is known, else 0.
func (m *memo) enter(i int) int {
	if m.off {
		return 0
	}
	if i < m.covered {
		if s, ok := startsAt(m.spans, i); ok && s.end > 0 {
			return int(s.end)
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
