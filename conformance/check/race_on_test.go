//go:build race

package check_test

// raced is every how many of many like cases one is run under the race
// detector: what it finds, it finds in any of them, and it takes ten times as
// long. All of them run without it.
const raced = 12
