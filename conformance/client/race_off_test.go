//go:build !race

package client_test

// slow is one, as there is no race detector; see the other file.
const slow = 1
