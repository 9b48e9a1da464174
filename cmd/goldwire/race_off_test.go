//go:build !race

package main

// raced says that the race detector is on; see the other file.
const raced = false
