//go:build !unix

package jsonl

import (
	"os"
	"os/exec"
	"time"
)

var defaultInherit = []string{
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA",
	"PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "Path", "SystemRoot",
}

func ownGroup(*exec.Cmd) {}

// terminate has no gentle form here.
func terminate(cmd *exec.Cmd) { killGroup(cmd) }

func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Process.Kill()
	}
}

func sweepGroup(*exec.Cmd, time.Duration) {}

func signalOf(*os.ProcessState) string { return "" }
