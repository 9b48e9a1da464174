package client

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"sync"
)

// Process is a server over stdio for a client that lives in this process: its
// two streams and what ends it.
type Process struct {
	In  io.WriteCloser // its standard input
	Out io.Reader      // its standard output; it ends when the process does

	conn   net.Conn
	out    *blocks
	pipe   *io.PipeWriter // that Out reads from
	exited chan struct{}
	code   int
}

// Signal sends a signal by its name, SIGTERM.
func (s *Process) Signal(name string) { _ = s.out.put(blockSignal, []byte(name)) }

// Kill ends it at once, and with it what it writes that nobody reads.
func (s *Process) Kill() {
	_ = s.conn.Close()
	_ = s.pipe.Close()
	<-s.exited
}

// Exited is closed when it has ended; Code is valid then.
func (s *Process) Exited() <-chan struct{} { return s.exited }

// Code is the status it ended with, -1 when it was killed.
func (s *Process) Code() int { return s.code }

type processInput struct {
	out  *blocks
	once sync.Once
}

func (w *processInput) Write(b []byte) (int, error) {
	if err := w.out.put(blockInput, b); err != nil {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

func (w *processInput) Close() error {
	w.once.Do(func() { _ = w.out.put(blockEnd, nil) })
	return nil
}

// startProcess is what Connect does, without a process. Of a play that has
// ended it is one that was killed.
func (p *Play) startProcess() *Process {
	ours, theirs := net.Pipe()
	secret := token()
	out := &blocks{w: ours}
	pr, pw := io.Pipe()
	s := &Process{In: &processInput{out: out}, Out: pr, conn: ours, out: out, pipe: pw, exited: make(chan struct{}), code: -1}
	carry := func() {
		defer close(s.exited)
		defer ours.Close()
		defer pw.Close()
		r := bufio.NewReader(ours)
		for {
			kind, data, err := getBlock(r)
			if err != nil {
				return
			}
			switch kind {
			case blockOutput:
				if _, err := pw.Write(data); err != nil {
					return
				}
			case blockExit:
				s.code, _ = strconv.Atoi(string(data))
				return
			}
		}
	}
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.servers.Go(func() {
			defer pw.Close() // carry may stand there, with nobody who reads
			p.connected(theirs, secret)
		})
		p.servers.Go(carry)
	}
	p.mu.Unlock()
	if closed {
		_ = theirs.Close()
		carry()
		return s
	}
	_, _ = io.WriteString(ours, secret+"\n")
	return s
}
