package record

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goldwire/goldwire/conformance/transcript"
)

// How long a child may take to end when the client is gone, after the end of
// its input and after SIGTERM; and how long its output may stay open once it
// has ended (a grandchild may hold it).
var (
	patience = 2 * time.Second
	urgency  = time.Second
)

// Stdio is what a recorder of a process stands between. The streams are those
// of the client's side.
type Stdio struct {
	In io.Reader
	// Once the process has ended, a write that blocks is waited for no longer
	// than a moment where the context has ended or a signal came: it may go on
	// after Run has returned.
	Out, Err io.Writer
	// Signals are passed on to the child, and to what it started. nil passes
	// on none.
	Signals <-chan os.Signal
	// Orphaned, when set, is asked once a second after the end of In: true
	// says that the client is gone, so that a child that does not end by itself
	// is ended.
	Orphaned func() bool
}

// StartError says that the child could not be started.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Run starts a command in a process group of its own, passes the bytes of its
// standard streams on in both directions as they come, and records them. It
// returns when the process has ended and all it wrote has been passed on. A
// side that goes away ends its direction only. When both directions to the
// client have ended, or the context has, the process is ended: by the end of
// its input, then SIGTERM, then SIGKILL.
//
// The error is a *StartError when there was no process. Reading In is not cut
// short: one read may go on after Run has returned.
func (s Stdio) Run(ctx context.Context, rec *transcript.Recorder, command []string) (*os.ProcessState, error) {
	cmd := exec.Command(command[0], command[1:]...)
	ownGroup(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, &StartError{err}
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, &StartError{err}
	}
	defer outR.Close()
	errR, errW, err := os.Pipe()
	if err != nil {
		_ = outW.Close()
		return nil, &StartError{err}
	}
	defer errR.Close()
	cmd.Stdout, cmd.Stderr = outW, errW
	err = cmd.Start()
	_ = outW.Close()
	_ = errW.Close()
	if err != nil {
		rec.Note(0, transcript.KindError, err.Error())
		return nil, &StartError{err}
	}
	rec.Start(command)

	exited := make(chan error, 1) // of no use: the state of the process says how it ended
	go func() { exited <- cmd.Wait() }()

	// The client's input to the child.
	inTap := rec.Tap(transcript.ToServer)
	inEnded := make(chan struct{})
	go func() {
		defer close(inEnded)
		if (&pass{}).on(in, s.In, inTap) {
			rec.Note(0, transcript.KindError, "> the server does not read any more")
		}
		_ = in.Close()
		_ = inTap.Close()
	}()
	outTap, errTap := rec.Tap(transcript.ToClient), rec.Stderr()
	outGone := make(chan struct{}) // the client does not read any more
	var copied sync.WaitGroup
	var outPass, errPass pass
	copied.Go(func() {
		if outPass.on(s.Out, outR, outTap) {
			rec.Note(0, transcript.KindError, "< the client does not read any more")
			close(outGone)
			_ = outPass.on(io.Discard, outR, outTap) // so that the child is not held up, and what it says is known
		}
		_ = outTap.Close()
	})
	copied.Go(func() {
		if errPass.on(s.Err, errR, errTap) {
			_ = errPass.on(io.Discard, errR, errTap)
		}
		_ = errTap.Close()
	})

	s.wait(ctx, rec, cmd.Process, exited, inEnded, outGone, func() { _ = in.Close() })
	// What still holds the output open gets signals too, and none is waited for
	// after one.
	drained := make(chan struct{})
	go func() { copied.Wait(); close(drained) }()
	draining, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	// What it wrote last has a moment also where the context ended it.
	moment := urgency
	defer context.AfterFunc(ctx, func() { time.AfterFunc(moment, stop) })()
	signalled := make(chan struct{})
	go func() {
		defer close(signalled)
		select {
		case sig := <-s.Signals:
			if signalGroup(cmd.Process, sig) == nil {
				rec.Note(0, transcript.KindSent, transcript.SignalName(sig))
			}
			stop()
		case <-draining.Done():
		}
	}()
	outPass.finish(draining, drained, outR)
	errPass.finish(draining, drained, errR)
	select {
	case <-drained:
	case <-draining.Done():
		_ = outR.SetReadDeadline(time.Now())
		_ = errR.SetReadDeadline(time.Now())
		select {
		case <-drained:
		case <-time.After(urgency):
		}
	}
	stop()
	<-signalled
	rec.Exit(cmd.ProcessState)
	return cmd.ProcessState, nil
}

// wait returns when the process has ended.
func (s Stdio) wait(ctx context.Context, rec *transcript.Recorder, p *os.Process, exited <-chan error, inEnded, outGone <-chan struct{}, closeIn func()) {
	send := func(sig os.Signal) {
		if err := signalGroup(p, sig); err == nil {
			rec.Note(0, transcript.KindSent, transcript.SignalName(sig))
		}
	}
	var stage <-chan time.Time // of ending a child that nobody needs
	stages := []os.Signal{terminate, os.Kill}
	var ask <-chan time.Time
	if s.Orphaned != nil {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		ask = t.C
	}
	over, closed := false, false
	done := ctx.Done()
	for {
		select {
		case <-exited:
			return
		case sig := <-s.Signals:
			send(sig)
		case <-inEnded:
			inEnded, closed = nil, true
		case <-outGone:
			outGone = nil
			over = true
		case <-done:
			done = nil
			closeIn()
			closed, over = true, true
		case <-ask:
			if closed && !over && s.Orphaned() {
				over = true
			}
		case <-stage:
			send(stages[0])
			if stages = stages[1:]; len(stages) == 0 {
				stage = nil
			} else {
				stage = time.After(urgency)
			}
			continue
		}
		if closed && over && stage == nil && len(stages) == 2 {
			stage = time.After(patience)
		}
	}
}

// pass copies one direction.
type pass struct {
	reading atomic.Bool
	reads   atomic.Int64
}

// on copies what it reads, recorded first, and reports whether it ended because
// nobody takes it any more.
func (p *pass) on(w io.Writer, r io.Reader, tap io.Writer) (refused bool) {
	buf := make([]byte, 64<<10)
	for {
		p.reading.Store(true)
		n, err := r.Read(buf)
		p.reads.Add(1)
		p.reading.Store(false)
		if n > 0 {
			_, _ = tap.Write(buf[:n])
			if _, err := w.Write(buf[:n]); err != nil {
				return true
			}
		}
		if err != nil {
			return false
		}
	}
}

// finish lets a pass from a process that has ended come to its end: what waits
// in the pipe is passed on, however slowly it is taken; when nothing has come
// for a while, what holds the pipe open is no part of the process any more.
func (p *pass) finish(ctx context.Context, drained <-chan struct{}, r *os.File) {
	for {
		reads := p.reads.Load()
		select {
		case <-drained:
			return
		case <-ctx.Done():
			return
		case <-time.After(urgency):
		}
		if p.reading.Load() && p.reads.Load() == reads {
			_ = r.SetReadDeadline(time.Now())
			return
		}
	}
}

// Status is the exit status that says of a process what a shell would: its own,
// or 128 and the number of the signal that ended it.
func Status(p *os.ProcessState) int {
	if p == nil {
		return 1
	}
	if n := signalNumber(p); n > 0 {
		return 128 + n
	}
	if c := p.ExitCode(); c >= 0 {
		return c
	}
	return 1
}

var errNoSignal = errors.New("not a signal of this system")
