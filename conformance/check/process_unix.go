//go:build unix

package check

import (
	"os"
	"os/exec"
	"syscall"

	"github.com/goldwire/goldwire/conformance/transcript"
)

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// signalGroup signals every process of the group that the child leads. The
// group outlives its leader as long as a member lives, and its number is not
// given to another process before that.
func signalGroup(cmd *exec.Cmd, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	if cmd.Process != nil && cmd.Process.Pid > 1 {
		_ = syscall.Kill(-cmd.Process.Pid, sig)
	}
}

func exitOf(s *os.ProcessState) Exit {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Exit{Signal: transcript.SignalName(ws.Signal())}
	}
	return Exit{Code: s.ExitCode()}
}
