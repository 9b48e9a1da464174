//go:build race

package client_test

// slow is how much more time things take under the race detector, which looks
// at a part of the clients only: what it finds, it finds in any of them.
const slow = 4
