package main

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const clock = "CPU time of the process"

// now is the CPU time that this process has used, its garbage collector
// included. What else the machine does is not in it.
func now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// processor is what this machine calls its processor.
func processor() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "an unnamed processor"
}
