//go:build !unix

package transcript

import "os"

// exitSignal names the signal that ended a process; there are none here.
func exitSignal(*os.ProcessState) string { return "" }

// SignalName is the name of a signal as notes write it.
func SignalName(s os.Signal) string { return s.String() }
