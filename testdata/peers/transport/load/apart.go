package load

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Apart opens a runner whose server runs on one core, and makes its calls from
// another: where the system moves threads about, and Go wakes a second one, it
// is chance that two processes which call each other in turns show. It needs
// two cores.
func Apart(open func() (Runner, error)) (Runner, error) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil, fmt.Errorf("cores: %w", err)
	}
	if all.Count() < 2 {
		return nil, errors.New("cores: want two, one for the server and one for its caller")
	}
	a := &apart{all: all}
	cores := []*unix.CPUSet{&a.caller, &a.server}
	for cpu := 0; len(cores) > 0; cpu++ {
		if all.IsSet(cpu) {
			cores[0].Set(cpu)
			cores = cores[1:]
		}
	}
	defer a.back()
	err := pin(&a.server) // what is started now runs there
	if err != nil {
		return nil, err
	}
	a.Runner, err = open()
	return a, err
}

type apart struct {
	Runner
	all, caller, server unix.CPUSet
}

// Run makes calls from the caller's core.
func (a *apart) Run(b Budget) (Result, error) {
	defer a.back()
	if err := pin(&a.caller); err != nil {
		return Result{}, err
	}
	runtime.GOMAXPROCS(1)
	return a.Runner.Run(b)
}

// back lets this process run everywhere again.
func (a *apart) back() {
	_ = pin(&a.all)
	runtime.SetDefaultGOMAXPROCS()
}

// pin puts all threads of this process, and so those that they start, on cores.
func pin(cores *unix.CPUSet) error {
	for done := map[int]bool{}; ; {
		before := len(done)
		tasks, _ := filepath.Glob("/proc/self/task/*")
		for _, t := range tasks {
			id, err := strconv.Atoi(filepath.Base(t))
			if err != nil || done[id] {
				continue
			}
			if err := unix.SchedSetaffinity(id, cores); err != nil && !errors.Is(err, unix.ESRCH) {
				return os.NewSyscallError("sched_setaffinity", err)
			}
			done[id] = true
		}
		if len(done) == before {
			return nil
		}
	}
}
