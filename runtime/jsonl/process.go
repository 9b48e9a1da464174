package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// How a child is brought to its end, and what is kept of its stderr.
const (
	defaultStopAfter = 2 * time.Second
	defaultKillAfter = time.Second
	exitGrace        = 500 * time.Millisecond // between the end of stdout and the exit, either way round
	stderrBytes      = 16 << 10
	stderrLines      = 200
	stderrLineBytes  = 4 << 10
	stderrQueue      = 1000    // lines that wait for the listener
	quotedBytes      = 2 << 10 // of stderr in an error
)

// Process is a command that is started as a child and spoken to over its stdin
// and stdout. It is a jsonrpc.Dialer: each Dial starts a new child. The fields
// are set before the first Dial.
type Process struct {
	// Path is the program, looked up in PATH, and Args its arguments.
	Path string
	Args []string // without the program's name
	// Dir is the working directory; "" is this process's.
	Dir string
	// Env holds the child's variables, literally. On top of them it gets the
	// variables of this process that Inherit names.
	Env map[string]string
	// Inherit names what is passed on from this process's environment; nil
	// means DefaultInherit, an empty slice nothing. A name that ends in *
	// stands for all that begin so.
	Inherit []string
	// Stderr gets each line that the child writes to stderr, without its
	// end, in order, on a goroutine of its own. When it is so slow that more
	// than 1,000 lines wait for it, the oldest are dropped.
	Stderr func(line string)
	// StopAfter is how long the child may take to exit once its stdin is
	// closed, before its process group gets SIGTERM; KillAfter how long until
	// SIGKILL. 0 means 2 s and 1 s.
	StopAfter, KillAfter time.Duration
	// Options of the links.
	Options Options
}

// Command is a child process, with the default environment.
func Command(path string, args ...string) *Process { return &Process{Path: path, Args: args} }

// DefaultInherit is what a child gets of this process's environment: what
// programs need to find their way, and nothing that is likely to be secret.
func DefaultInherit() []string { return append([]string(nil), defaultInherit...) }

// SpawnError is a child that could not be started.
type SpawnError struct {
	Path string // of the program, as it was given
	Err  error  // the cause
}

// Error names the program and the cause.
func (e *SpawnError) Error() string { return fmt.Sprintf("start %s: %v", e.Path, e.Err) }

// Unwrap returns the cause: exec.ErrNotFound, fs.ErrPermission.
func (e *SpawnError) Unwrap() error { return e.Err }

// ExitError is a child that ended, or closed its stdout, on its own.
type ExitError struct {
	Path    string // of the program
	Code    int    // exit code, -1 when a signal ended it or it still runs
	Signal  string // name of the signal, "" for none
	Running bool   // it has closed its stdout, or wrote a line without end, and still runs
	Stderr  string // the end of what it wrote there, secrets of Env left out
	Err     error  // what ended the reading, io.EOF as a rule
}

// Error says how it ended and what it wrote to stderr last.
func (e *ExitError) Error() string {
	var b strings.Builder
	switch {
	case e.Running && errors.Is(e.Err, jsonrpc.ErrTooLong):
		fmt.Fprintf(&b, "%s was given up and still runs", e.Path)
	case e.Running:
		fmt.Fprintf(&b, "%s closed its stdout and still runs", e.Path)
	case e.Signal != "":
		fmt.Fprintf(&b, "%s was ended by signal %s", e.Path, e.Signal)
	default:
		fmt.Fprintf(&b, "%s exited with code %d", e.Path, e.Code)
	}
	if e.Err != nil && e.Err != io.EOF {
		fmt.Fprintf(&b, " (%v)", e.Err)
	}
	if e.Stderr != "" {
		fmt.Fprintf(&b, "; stderr ends with:\n%s", e.Stderr)
	}
	return b.String()
}

// Unwrap returns what ended the reading.
func (e *ExitError) Unwrap() error { return e.Err }

// Dial starts the child. ctx bounds the start only.
func (p *Process) Dial(ctx context.Context) (jsonrpc.Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, &SpawnError{Path: p.Path, Err: jsonrpc.ContextError(ctx)}
	}
	ch, err := p.start()
	if err != nil {
		return nil, &SpawnError{Path: p.Path, Err: err}
	}
	c := carrier{r: ch.stdout, w: ch.stdin, deadline: deadlineOf(ch.stdout), close: ch.stop, explain: ch.explain}
	l := newLink(c, p.Options, true)
	ch.readEnd = l.readEnd
	go ch.reap()
	return &ProcessLink{link: l, ch: ch}, nil
}

// Identity is the command: its path, arguments and directory.
func (p *Process) Identity() string {
	return fmt.Sprintf("process %q %q %q", p.Path, p.Args, p.Dir)
}

// ProcessLink is the link to a child process.
type ProcessLink struct {
	*link
	ch *child
}

// PID is the child's process id.
func (l *ProcessLink) PID() int { return l.ch.cmd.Process.Pid }

// Exited is closed when the child has exited and is reaped.
func (l *ProcessLink) Exited() <-chan struct{} { return l.ch.exited }

// Stderr is the end of what the child wrote to stderr, at most 16 KiB and 200
// lines.
func (l *ProcessLink) Stderr() string { return l.ch.tail.text(stderrBytes) }

// child is a running command.
type child struct {
	p       *Process
	cmd     *exec.Cmd
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	tail    *tail
	drained chan struct{} // closed when stderr has ended
	exited  chan struct{} // closed when it has exited
	reaped  chan struct{} // closed when reap is over
	readEnd <-chan struct{}
	inOnce  sync.Once

	hearMu  sync.Mutex
	heard   []string // lines for Process.Stderr
	hearing bool
}

func (p *Process) start() (*child, error) {
	ch := &child{p: p, drained: make(chan struct{}), exited: make(chan struct{}), reaped: make(chan struct{})}
	ch.tail = &tail{hide: secrets(p.Env)}
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Dir = p.Dir
	cmd.Env = p.environ()
	ownGroup(cmd)
	// Pipes of our own, as those of exec.Cmd are closed by its Wait.
	var theirs []*os.File
	fail := func(err error) (*child, error) {
		for _, f := range append(theirs, ch.stdin, ch.stdout, ch.stderr) {
			if f != nil {
				_ = f.Close()
			}
		}
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	cmd.Stdin, ch.stdin = r, w
	theirs = append(theirs, r)
	if r, w, err = os.Pipe(); err != nil {
		return fail(err)
	}
	ch.stdout, cmd.Stdout = r, w
	theirs = append(theirs, w)
	if r, w, err = os.Pipe(); err != nil {
		return fail(err)
	}
	ch.stderr, cmd.Stderr = r, w
	theirs = append(theirs, w)
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	for _, f := range theirs {
		_ = f.Close()
	}
	ch.cmd = cmd
	go ch.readStderr()
	return ch, nil
}

// environ is the child's environment.
func (p *Process) environ() []string {
	inherit := p.Inherit
	if inherit == nil {
		inherit = defaultInherit
	}
	env := []string{}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if _, literal := p.Env[name]; literal || name == "" {
			continue
		}
		for _, pattern := range inherit {
			prefix, any := strings.CutSuffix(pattern, "*")
			if name == pattern || any && strings.HasPrefix(name, prefix) {
				env = append(env, kv)
				break
			}
		}
	}
	for name, value := range p.Env {
		env = append(env, name+"="+value)
	}
	return env
}

// reap waits for the child, reads what it said last, and then waits for those
// it left behind to let go of its stdout and stderr, but not for long.
func (ch *child) reap() {
	defer close(ch.reaped)
	_ = ch.cmd.Wait()
	close(ch.exited)
	grace, cancel := context.WithTimeout(context.Background(), exitGrace)
	defer cancel()
	select {
	case <-ch.readEnd:
	case <-grace.Done():
		_ = ch.stdout.Close() // somebody else holds it open
	}
	select {
	case <-ch.drained:
	case <-grace.Done():
	}
	_ = ch.stderr.Close()
}

// explain says why the link ended.
func (ch *child) explain(err error) error {
	if err == nil {
		err = io.EOF
	}
	e := &ExitError{Path: ch.p.Path, Code: -1, Err: err}
	t := time.NewTimer(exitGrace)
	defer t.Stop()
	select {
	case <-ch.exited:
		e.Code = ch.cmd.ProcessState.ExitCode()
		e.Signal = signalOf(ch.cmd.ProcessState)
		select { // what it said last may still be in the pipe
		case <-ch.drained:
		case <-t.C:
		}
	case <-t.C:
		e.Running = true
	}
	e.Stderr = ch.tail.text(quotedBytes)
	return e
}

// stop ends the child: stdin closed, SIGTERM to its group, SIGKILL, and what
// is left of its group after it. It returns when it is reaped.
func (ch *child) stop(context.Context) {
	ch.closeStdin()
	stop, kill := ch.p.StopAfter, ch.p.KillAfter
	if stop <= 0 {
		stop = defaultStopAfter
	}
	if kill <= 0 {
		kill = defaultKillAfter
	}
	if !ch.exitsWithin(stop) {
		terminate(ch.cmd)
		if !ch.exitsWithin(kill) {
			killGroup(ch.cmd)
		}
	}
	<-ch.exited
	sweepGroup(ch.cmd, kill)
	<-ch.reaped
	_ = ch.stdout.Close()
	<-ch.drained
}

func (ch *child) closeStdin() { ch.inOnce.Do(func() { _ = ch.stdin.Close() }) }

func (ch *child) exitsWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ch.exited:
		return true
	case <-t.C:
		return false
	}
}

func (ch *child) readStderr() {
	defer close(ch.drained)
	buf := make([]byte, 4096)
	for {
		n, err := ch.stderr.Read(buf)
		for _, line := range ch.tail.add(buf[:n]) {
			ch.tell(line)
		}
		if err != nil {
			if line := ch.tail.rest(); line != "" {
				ch.tell(line)
			}
			return
		}
	}
}

// tell queues a line for the listener.
func (ch *child) tell(line string) {
	if ch.p.Stderr == nil {
		return
	}
	ch.hearMu.Lock()
	defer ch.hearMu.Unlock()
	if len(ch.heard) >= stderrQueue {
		ch.heard = ch.heard[1:]
	}
	ch.heard = append(ch.heard, line)
	if !ch.hearing {
		ch.hearing = true
		go ch.hear()
	}
}

// hear calls the listener while there are lines for it.
func (ch *child) hear() {
	for {
		ch.hearMu.Lock()
		if len(ch.heard) == 0 {
			ch.hearing = false
			ch.hearMu.Unlock()
			return
		}
		line := ch.heard[0]
		ch.heard = ch.heard[1:]
		ch.hearMu.Unlock()
		func() {
			defer func() { _ = recover() }() // a listener that panics is its own affair
			ch.p.Stderr(line)
		}()
	}
}

// tail keeps the end of stderr, bounded in bytes and lines.
type tail struct {
	mu    sync.Mutex
	lines []string
	bytes int
	part  []byte // of a line that has not ended
	hide  []string
}

// add takes what was read and returns the lines that it completes.
func (t *tail) add(b []byte) (complete []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(b) > 0 {
		k := bytes.IndexByte(b, '\n')
		part := b
		if k >= 0 {
			part, b = b[:k], b[k+1:]
		} else {
			b = nil
		}
		if room := stderrLineBytes - len(t.part); room > 0 {
			t.part = append(t.part, part[:min(room, len(part))]...)
		}
		if k >= 0 {
			complete = append(complete, t.push())
		}
	}
	return complete
}

// rest completes the last line.
func (t *tail) rest() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.part) == 0 {
		return ""
	}
	return t.push()
}

func (t *tail) push() string {
	line := strings.ToValidUTF8(string(bytes.TrimSuffix(t.part, []byte{'\r'})), "\uFFFD")
	t.part = t.part[:0]
	t.lines = append(t.lines, line)
	t.bytes += len(line) + 1
	for len(t.lines) > stderrLines || t.bytes > stderrBytes && len(t.lines) > 1 {
		t.bytes -= len(t.lines[0]) + 1
		t.lines = t.lines[1:]
	}
	return line
}

// text is at most n bytes of the end, whole lines where possible, without
// secrets.
func (t *tail) text(n int) string {
	t.mu.Lock()
	lines := t.lines
	if len(t.part) > 0 {
		lines = append(append([]string(nil), lines...), strings.ToValidUTF8(string(t.part), "\uFFFD"))
	}
	s := strings.Join(lines, "\n")
	t.mu.Unlock()
	for _, secret := range t.hide {
		s = strings.ReplaceAll(s, secret, "[redacted]")
	}
	if len(s) > n {
		s = s[len(s)-n:]
		if k := strings.IndexByte(s, '\n'); k >= 0 && k < len(s)-1 {
			s = s[k+1:]
		}
		s = strings.ToValidUTF8(s, "")
	}
	return s
}

var secretName = regexp.MustCompile(`(?i)token|secret|key|passw|credential|auth`)

// secrets are the values of variables whose names say that they are.
func secrets(env map[string]string) []string {
	var out []string
	for name, value := range env {
		if len(value) >= 6 && secretName.MatchString(name) {
			out = append(out, value)
		}
	}
	return out
}
