//go:build !unix

package check

import (
	"os"
	"os/exec"
)

// Where there are no process groups the child alone is ended.
func ownGroup(*exec.Cmd) {}

func signalGroup(cmd *exec.Cmd, _ bool) {
	if cmd.Process != nil {
		_ = cmd.Process.Kill()
	}
}

func exitOf(s *os.ProcessState) Exit { return Exit{Code: s.ExitCode()} }
