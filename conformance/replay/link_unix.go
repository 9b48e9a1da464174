//go:build unix

package replay

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/goldwire/goldwire/conformance/transcript"
)

// terminate asks a process to end.
const terminate = syscall.SIGTERM

// ownGroup makes the process the leader of a group, so that a signal also
// reaches what it starts (a package runner's real server).
func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

func signalGroup(p *os.Process, s os.Signal) error {
	sig, ok := s.(syscall.Signal)
	if !ok {
		return errors.New("not a signal of this system")
	}
	return syscall.Kill(-p.Pid, sig)
}

// signalByName finds the signal that a transcript names.
func signalByName(name string) (os.Signal, bool) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGKILL} {
		if name == transcript.SignalName(s) {
			return s, true
		}
	}
	return nil, false
}
