//go:build !unix

package replay

import (
	"os"
	"os/exec"
)

// terminate asks a process to end; where there is no such signal, it ends it.
var terminate = os.Kill

func ownGroup(*exec.Cmd) {}

func signalGroup(p *os.Process, s os.Signal) error { return p.Signal(s) }

// signalByName finds the signal that a transcript names.
func signalByName(name string) (os.Signal, bool) {
	if name == "SIGKILL" || name == "SIGTERM" {
		return os.Kill, true
	}
	return nil, false
}
