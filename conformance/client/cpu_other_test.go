//go:build !linux

package client_test

import "time"

var began = time.Now()

// spent is the time that went by: that of a thread alone is not to be had.
func spent() time.Duration { return time.Since(began) }
