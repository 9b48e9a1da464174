//go:build unix

package record

import (
	"os"
	"os/exec"
	"syscall"
)

// terminate asks a process to end.
const terminate = syscall.SIGTERM

// Signals are those that a recorder passes on.
func Signals() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
}

// ownGroup makes the process the leader of a group, so that a signal also
// reaches what it starts (a package runner's real server).
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func signalGroup(p *os.Process, s os.Signal) error {
	sig, ok := s.(syscall.Signal)
	if !ok {
		return errNoSignal
	}
	return syscall.Kill(-p.Pid, sig)
}

func signalNumber(p *os.ProcessState) int {
	if w, ok := p.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return int(w.Signal())
	}
	return 0
}
