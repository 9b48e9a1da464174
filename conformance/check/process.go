package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
)

var errWriteTimeout = errors.New("the server does not read its input")

// Command launches a server as a child process with its own process group, so
// that what it starts in turn ends with it.
type Command struct {
	Args []string // program and arguments; looked up in PATH
	Dir  string   // working directory, "" for the current one
	Env  []string // added to the environment of this process, as "NAME=value"
	// Inherit names what is passed on of that environment; a name that ends in
	// * stands for all that begin so. nil passes on everything.
	Inherit []string
}

// environ is the environment of the child; nil is that of this process.
func (c Command) environ() []string {
	if c.Inherit == nil && len(c.Env) == 0 {
		return nil
	}
	env := []string{}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if c.Inherit == nil || slices.ContainsFunc(c.Inherit, func(pattern string) bool {
			prefix, any := strings.CutSuffix(pattern, "*")
			return name == pattern || any && strings.HasPrefix(name, prefix)
		}) {
			env = append(env, kv)
		}
	}
	return append(env, c.Env...)
}

// Transport implements Target.
func (c Command) Transport() catalogue.Transport { return catalogue.Stdio }

// Launch implements Launcher. The context only bounds the start: a running
// server is ended by Kill.
func (c Command) Launch(ctx context.Context) (Carrier, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("no command given")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = c.environ()
	ownGroup(cmd)

	// Plain pipes instead of cmd.StdoutPipe: with files the wait ends with the
	// process, even when a grandchild keeps the other end open.
	p := &process{cmd: cmd, done: make(chan struct{})}
	var theirs []*os.File
	fail := func(err error) (Carrier, error) {
		for _, f := range append(theirs, p.in, p.out, p.errs) {
			if f != nil {
				_ = f.Close()
			}
		}
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fail(fmt.Errorf("open a pipe: %w", err))
	}
	theirs, p.in, cmd.Stdin = append(theirs, r), w, r
	if r, w, err = os.Pipe(); err != nil {
		return fail(fmt.Errorf("open a pipe: %w", err))
	}
	theirs, p.out, cmd.Stdout = append(theirs, w), r, w
	if r, w, err = os.Pipe(); err != nil {
		return fail(fmt.Errorf("open a pipe: %w", err))
	}
	theirs, p.errs, cmd.Stderr = append(theirs, w), r, w
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	for _, f := range theirs {
		_ = f.Close()
	}
	go p.reap()
	return p, nil
}

type process struct {
	cmd           *exec.Cmd
	in, out, errs *os.File
	done          chan struct{}

	mu     sync.Mutex
	exit   Exit
	killed bool
}

func (p *process) reap() {
	err := p.cmd.Wait()
	e := Exit{}
	if p.cmd.ProcessState != nil {
		e = exitOf(p.cmd.ProcessState)
	} else if err != nil {
		e.Code = -1
	}
	p.mu.Lock()
	e.Killed = p.killed
	p.exit = e
	p.mu.Unlock()
	close(p.done)
}

func (p *process) Write(b []byte, deadline time.Time) (int, error) {
	_ = p.in.SetWriteDeadline(deadline)
	n, err := p.in.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errWriteTimeout
	}
	return n, err
}

func (p *process) CloseInput() error {
	if err := p.in.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

func (p *process) Output() io.Reader     { return p.out }
func (p *process) Errors() io.Reader     { return p.errs }
func (p *process) Done() <-chan struct{} { return p.done }
func (p *process) Terminate()            { signalGroup(p.cmd, false) }

// Kill ends the whole group, also when its leader is gone already, and closes
// our ends of the pipes, which something that left the group may still hold.
func (p *process) Kill() {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	signalGroup(p.cmd, true)
	_ = p.in.Close()
	_ = p.out.Close()
	_ = p.errs.Close()
}

func (p *process) Exit() Exit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit
}
