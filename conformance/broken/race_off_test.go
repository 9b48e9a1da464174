//go:build !race

package broken_test

// raced is one, as there is no race detector; see the other file.
const raced = 1
