//go:build !race

package broken_test

// raced says whether the race detector is on, which makes this many times as
// slow and sees the same in every peer.
const raced = false
