package wire

import (
	"math/bits"
	"strconv"
)

const (
	maxPathKey = 64  // bytes of one name shown in a path
	maxPath    = 512 // bytes of a whole path, roughly
)

// pather finds the path of an offset by reading the text up to it. It remembers where it stopped, so a message with many
// problems is still read once as long as their offsets rise.
type pather struct {
	pos    int
	frames []pathFrame
}

type pathFrame struct {
	obj     bool
	wantKey bool // of an object: a name comes next
	idx     int  // of an array
	k0, k1  int  // of an object: where the current name stands, without its quotes
}

func (p *pather) reset() {
	p.pos = 0
	p.frames = p.frames[:0]
}

// advance reads b up to off. The text before off need not be valid: it was looked at by whoever found the problem.
func (p *pather) advance(b []byte, off int) {
	if off < p.pos {
		p.reset()
	}
	off = min(off, len(b))
	i := p.pos
	for i < off {
		switch b[i] {
		case '{':
			p.frames = append(p.frames, pathFrame{obj: true, wantKey: true})
		case '[':
			p.frames = append(p.frames, pathFrame{})
		case '}', ']':
			if n := len(p.frames); n > 0 {
				p.frames = p.frames[:n-1]
			}
		case ',':
			if n := len(p.frames); n > 0 {
				f := &p.frames[n-1]
				f.wantKey = f.obj
				f.idx++
			}
		case '"':
			e := stringEnd(b, i+1, off)
			if e >= off { // the offset is inside this string
				p.pos = i
				return
			}
			if n := len(p.frames); n > 0 && p.frames[n-1].wantKey {
				f := &p.frames[n-1]
				f.wantKey, f.k0, f.k1 = false, i+1, e
			}
			i = e
		}
		i++
	}
	p.pos = i
}

// stringEnd returns the index of the quote that ends the string whose body starts at i, or lim.
func stringEnd(b []byte, i, lim int) int {
	for i < lim {
		if lim-i >= 8 {
			w := le64(b[i:])
			x, y := w^0x22*lo, w^0x5c*lo
			m := ((x-lo)&^x | (y-lo)&^y) & hi
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		switch b[i] {
		case '"':
			return i
		case '\\':
			i++
		}
		i++
	}
	return lim
}

// path returns the path at off. If last is not empty, it takes the place of the innermost member.
func (p *pather) path(b []byte, off int, last string) string {
	p.advance(b, off)
	var s []byte
	for i := range p.frames {
		f := &p.frames[i]
		switch {
		case last != "" && i == len(p.frames)-1:
		case len(s) > maxPath:
			return string(append(s, "…"...))
		case !f.obj:
			s = append(s, '[')
			s = strconv.AppendInt(s, int64(f.idx), 10)
			s = append(s, ']')
		case !f.wantKey:
			s = appendPathKey(s, unescaped(b[f.k0:f.k1]))
		}
	}
	if last != "" {
		s = appendPathKey(s, last)
	}
	return string(s)
}

func appendPathKey(s []byte, key string) []byte {
	plain := key != ""
	for i := 0; i < len(key) && plain; i++ {
		c := key[i]
		plain = c == '_' || c == '$' || c-'a' < 26 || c-'A' < 26 || i > 0 && c-'0' < 10
	}
	cut := len(key) > maxPathKey
	if cut {
		key = key[:maxPathKey]
	}
	if plain {
		if len(s) > 0 {
			s = append(s, '.')
		}
		s = append(s, key...)
		if cut {
			s = append(s, "…"...)
		}
		return s
	}
	s = append(s, '[')
	s = AppendString(s, key)
	if cut {
		s = append(s[:len(s)-1], `…"`...)
	}
	return append(s, ']')
}
