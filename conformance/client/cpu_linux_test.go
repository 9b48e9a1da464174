package client_test

import (
	"time"

	"golang.org/x/sys/unix"
)

// spent is the processor time of the calling thread, which no other work on the
// machine is in.
func spent() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
