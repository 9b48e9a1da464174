//go:build unix

package jsonl

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

var defaultInherit = []string{"HOME", "LANG", "LC_*", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER", "XDG_RUNTIME_DIR"}

// ownGroup puts the child into a process group of its own, so that whatever it
// starts can be ended with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func signalGroup(cmd *exec.Cmd, s syscall.Signal) error {
	return syscall.Kill(-cmd.Process.Pid, s)
}

func terminate(cmd *exec.Cmd) {
	_ = signalGroup(cmd, syscall.SIGTERM)
	if group, err := syscall.Getpgid(cmd.Process.Pid); err == nil && group != cmd.Process.Pid { // it has left
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}
}

// killGroup kills the group, and the child where it has left it.
func killGroup(cmd *exec.Cmd) {
	_ = signalGroup(cmd, syscall.SIGKILL)
	_ = cmd.Process.Kill()
}

// sweepGroup ends what the child left behind in its group.
func sweepGroup(cmd *exec.Cmd, grace time.Duration) {
	if signalGroup(cmd, syscall.SIGTERM) != nil {
		return // nobody is left
	}
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	for t := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case <-t.C:
			if signalGroup(cmd, 0) != nil {
				t.Stop()
				return
			}
		case <-deadline.C:
			t.Stop()
			killGroup(cmd)
			return
		}
	}
}

func signalOf(s *os.ProcessState) string {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return w.Signal().String()
	}
	return ""
}
