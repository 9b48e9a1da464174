package compat_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain fails the run when goroutines of this module are left behind.
func TestMain(m *testing.M) {
	code := m.Run()
	if stacks := left(); code == 0 && len(stacks) > 0 {
		fmt.Fprintf(os.Stderr, "goroutines are left behind:\n%s\n", strings.Join(stacks, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

// left is the goroutines that run code of this module, once that has settled.
func left() (stacks []string) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 250 {
		buf := make([]byte, 4<<20)
		stacks = slices.DeleteFunc(strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n"), func(s string) bool {
			return !strings.Contains(s, "goldwire/") || strings.Contains(s, "compat_test.left")
		})
		if len(stacks) == 0 {
			break
		}
		<-tick.C
	}
	return stacks
}
