package replay

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/goldwire/goldwire/conformance/transcript"
)

// Link carries raw bytes to and from one peer. A link is used once.
type Link interface {
	// Start starts the peer, or the reading from it. Everything the peer
	// writes goes to out, in order, and out is closed at its end; what it
	// writes to its standard error goes to errout, where there is such a
	// thing. Start returns at once.
	Start(out, errout io.WriteCloser) error
	// Write sends bytes. It may block while the peer does not read; End
	// unblocks it.
	Write(p []byte) (int, error)
	// CloseWrite tells the peer that nothing more comes.
	CloseWrite() error
	// Signal sends a signal, or says that this link cannot.
	Signal(s os.Signal) error
	// End closes what is open and waits for the peer, bounded. What had to
	// be sent to make it stop is told to sent. The state is nil where no
	// process is behind the link. Safe to call when Start failed.
	End(ctx context.Context, sent func(signal string)) (*os.ProcessState, error)
}

// streams is a link over a writer and a reader.
type streams struct {
	w    io.WriteCloser
	r    io.Reader
	once sync.Once
	done chan struct{}
	err  error
}

// Streams links to a peer that reads what w writes and writes what r reads,
// such as one in the same process behind two pipes. Ending the link closes w,
// and r when it is an io.Closer.
func Streams(w io.WriteCloser, r io.Reader) Link {
	return &streams{w: w, r: r, done: make(chan struct{})}
}

// Stream links to a peer at the other end of a connection. A connection that
// has CloseWrite is half-closed by it, another one is closed whole.
func Stream(c io.ReadWriteCloser) Link {
	w := io.WriteCloser(c)
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		w = halfCloser{c, h.CloseWrite}
	}
	return Streams(w, c)
}

type halfCloser struct {
	io.Writer
	close func() error
}

func (h halfCloser) Close() error { return h.close() }

// Pipe returns two connected ends that can be half-closed: one for Stream,
// one for a peer in the same process.
func Pipe() (ours, theirs io.ReadWriteCloser) {
	ar, aw := io.Pipe()
	br, bw := io.Pipe()
	return &end{br, aw}, &end{ar, bw}
}

type end struct {
	r *io.PipeReader
	w *io.PipeWriter
}

func (e *end) Read(p []byte) (int, error)  { return e.r.Read(p) }
func (e *end) Write(p []byte) (int, error) { return e.w.Write(p) }
func (e *end) CloseWrite() error           { return e.w.Close() }
func (e *end) Close() error                { return errors.Join(e.w.Close(), e.r.Close()) }

func (s *streams) Start(out, _ io.WriteCloser) error {
	go func() {
		defer close(s.done)
		_, _ = io.Copy(out, s.r)
		_ = out.Close()
	}()
	return nil
}

func (s *streams) Write(p []byte) (int, error) { return s.w.Write(p) }

func (s *streams) CloseWrite() error {
	s.once.Do(func() { s.err = s.w.Close() })
	return s.err
}

func (s *streams) Signal(os.Signal) error {
	return errors.New("a stream takes no signals")
}

func (s *streams) End(ctx context.Context, _ func(string)) (*os.ProcessState, error) {
	err := s.CloseWrite()
	if c, ok := s.r.(io.Closer); ok {
		_ = c.Close()
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return nil, err
}

// How long a process may take to end after its standard input was closed,
// and after SIGTERM.
const (
	patience = 2 * time.Second
	urgency  = time.Second
)

// process is a link to a child process.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	once   sync.Once
	inErr  error
	pipes  []*os.File
	copied sync.WaitGroup

	patience, urgency time.Duration

	exited chan struct{}
	err    error // of Wait; read after exited
}

// Process links to a child process that is not yet started: its standard
// input, output and error must not be set. The process gets a process group
// of its own where there are such; it is always waited for.
func Process(cmd *exec.Cmd) Link {
	return &process{cmd: cmd, exited: make(chan struct{}), patience: patience, urgency: urgency}
}

func (p *process) Start(out, errout io.WriteCloser) error {
	if p.cmd.Stdin != nil || p.cmd.Stdout != nil || p.cmd.Stderr != nil {
		return errors.New("the standard streams of the command are set already")
	}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	p.in = in
	// Pipes of our own, so that waiting for the process does not wait for a
	// grandchild that keeps its output open.
	var theirs []*os.File
	pipe := func(to io.WriteCloser) *os.File {
		if err != nil {
			return nil
		}
		var r, w *os.File
		if r, w, err = os.Pipe(); err != nil {
			return nil
		}
		p.pipes, theirs = append(p.pipes, r), append(theirs, w)
		p.copied.Go(func() {
			_, _ = io.Copy(to, r)
			_ = to.Close()
		})
		return w
	}
	stdout, stderr := pipe(out), pipe(errout)
	if err == nil {
		p.cmd.Stdout, p.cmd.Stderr = stdout, stderr
		ownGroup(p.cmd)
		err = p.cmd.Start()
	}
	for _, w := range theirs {
		_ = w.Close()
	}
	if err != nil {
		p.copied.Wait()
		p.closePipes()
		return err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return nil
}

func (p *process) closePipes() {
	for _, r := range p.pipes {
		_ = r.Close()
	}
}

func (p *process) Write(b []byte) (int, error) { return p.in.Write(b) }

func (p *process) CloseWrite() error {
	p.once.Do(func() { p.inErr = p.in.Close() })
	return p.inErr
}

func (p *process) Signal(s os.Signal) error {
	select {
	case <-p.exited:
		return os.ErrProcessDone
	default:
		return signalGroup(p.cmd.Process, s)
	}
}

func (p *process) End(ctx context.Context, sent func(string)) (*os.ProcessState, error) {
	if p.cmd.Process == nil {
		return nil, nil
	}
	_ = p.CloseWrite()
	stages := []struct {
		signal os.Signal
		wait   time.Duration
	}{{nil, p.patience}, {terminate, p.urgency}, {os.Kill, time.Minute}}
	for _, st := range stages {
		if st.signal != nil {
			if err := p.Signal(st.signal); err == nil {
				sent(transcript.SignalName(st.signal))
			}
		}
		wait := st.wait
		if ctx.Err() != nil && st.signal != os.Kill {
			wait = 0
		}
		if p.waitExit(ctx, wait, st.signal == os.Kill) {
			break
		}
	}
	// What the process wrote before it ended is in the pipes; a grandchild
	// may keep them open for ever.
	copied := make(chan struct{})
	go func() { p.copied.Wait(); close(copied) }()
	t := time.NewTimer(p.urgency)
	defer t.Stop()
	select {
	case <-copied:
	case <-t.C:
	}
	p.closePipes()
	<-copied
	select {
	case <-p.exited:
	default:
		return nil, errors.New("the process could not be ended")
	}
	var exit *exec.ExitError
	if errors.As(p.err, &exit) {
		return p.cmd.ProcessState, nil // how it ended is for the transcript to say
	}
	return p.cmd.ProcessState, p.err
}

// waitExit reports whether the process ended in time. Unless always, a
// cancelled context cuts the waiting short.
func (p *process) waitExit(ctx context.Context, d time.Duration, always bool) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	done := ctx.Done()
	if always {
		done = nil
	}
	select {
	case <-p.exited:
		return true
	case <-t.C:
		return false
	case <-done:
		return false
	}
}
