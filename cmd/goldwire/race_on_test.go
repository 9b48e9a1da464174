//go:build race

package main

// raced says that the race detector is on, with which each of the many
// processes that the scripts start takes ten times as long. It looks at some of
// the scripts, in which servers and clients work at the same time; all of them
// run without it.
const raced = true
