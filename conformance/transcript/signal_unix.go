//go:build unix

package transcript

import (
	"os"
	"strconv"
	"syscall"
)

// exitSignal names the signal that ended a process, or "".
func exitSignal(p *os.ProcessState) string {
	w, ok := p.Sys().(syscall.WaitStatus)
	if !ok || !w.Signaled() {
		return ""
	}
	return SignalName(w.Signal())
}

// SignalName is the name of a signal as notes write it, such as SIGTERM.
func SignalName(s os.Signal) string {
	n, ok := s.(syscall.Signal)
	if !ok {
		return s.String()
	}
	switch n {
	case syscall.SIGHUP:
		return "SIGHUP"
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGQUIT:
		return "SIGQUIT"
	case syscall.SIGILL:
		return "SIGILL"
	case syscall.SIGTRAP:
		return "SIGTRAP"
	case syscall.SIGABRT:
		return "SIGABRT"
	case syscall.SIGBUS:
		return "SIGBUS"
	case syscall.SIGFPE:
		return "SIGFPE"
	case syscall.SIGKILL:
		return "SIGKILL"
	case syscall.SIGSEGV:
		return "SIGSEGV"
	case syscall.SIGPIPE:
		return "SIGPIPE"
	case syscall.SIGALRM:
		return "SIGALRM"
	case syscall.SIGTERM:
		return "SIGTERM"
	}
	return "SIG" + strconv.Itoa(int(n))
}
