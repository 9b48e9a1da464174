package client_test

import (
	"syscall"
	"time"
	"unsafe"
)

// spent is the processor time of the calling thread, which no other work on the
// machine is in.
func spent() time.Duration {
	const ofThread = 3 // CLOCK_THREAD_CPUTIME_ID; getrusage counts in ticks
	var t syscall.Timespec
	if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, ofThread, uintptr(unsafe.Pointer(&t)), 0); err != 0 {
		panic(err)
	}
	return time.Duration(t.Nano())
}
