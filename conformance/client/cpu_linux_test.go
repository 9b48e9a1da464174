package client_test

import (
	"syscall"
	"time"
)

// spent is the processor time of the calling thread, which no other work on the
// machine is in.
func spent() time.Duration {
	const ofThread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(ofThread, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
