//go:build race

package broken_test

// raced is every how many of the peers that are judged one is under the race
// detector, which makes this many times as slow and sees the same in every peer.
const raced = 4
