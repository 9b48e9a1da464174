//go:build !unix

package record

import (
	"os"
	"os/exec"
)

// terminate asks a process to end; there is no gentle way here.
var terminate = os.Kill

// Signals are those that a recorder passes on.
func Signals() []os.Signal { return []os.Signal{os.Interrupt} }

func ownGroup(*exec.Cmd) {}

func signalGroup(p *os.Process, s os.Signal) error { return p.Signal(s) }

func signalNumber(*os.ProcessState) int { return 0 }
