package wire

import "unsafe"

// Grow makes room for at least one more element in s, the elements of an array that d is reading and whose first one
// stood at m. It is called when s is full, and guesses from the elements so far and the text that is left how many will
// come: at most eight times as many as there are, so a wrong guess stays cheap.
//
//	m := d.Mark()
//	…
//	if len(s) == cap(s) {
//		s = wire.Grow(d, s, m)
//	}
//	s = append(s, Tool{})
func Grow[T any](d *Dec, s []T, m Mark) []T {
	var zero T
	n := len(s)
	c := 0
	if n == 0 {
		c = max(1, min(4, 512/max(1, int(unsafe.Sizeof(zero)))))
	} else {
		left := (len(d.b) - d.i) / max(1, (d.i-m.pos)/n)
		c = n + max(1, n/4, min(left+1, 7*n))
	}
	g := make([]T, n, c)
	copy(g, s)
	return g
}
