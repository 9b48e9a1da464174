package client

import (
	"bufio"
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/goldwire/goldwire/conformance/transcript"
)

// A client that starts its servers itself starts a small process of ours, which
// stands between its pipes and the play: it dials the address of the play over
// loopback, shows the token it was started with, and carries what passes in
// blocks, each a letter, the length and the bytes.
const (
	blockInput  = 'i' // what the client wrote
	blockEnd    = 'e' // the client closed our input
	blockSignal = 's' // the client sent a signal: its name
	blockOutput = 'o' // what the server writes
	blockErrors = 'r' // free text of the server
	blockClose  = 'c' // the server closes its output
	blockExit   = 'x' // the server exits: the status, in decimal
)

const maxBlock = 1 << 20

// dialTime is how long the process between may take to reach the play.
const dialTime = 10 * time.Second

type blocks struct {
	mu sync.Mutex
	w  io.Writer
}

func (b *blocks) put(kind byte, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		n := min(len(data), maxBlock)
		head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(n))
		if _, err := b.w.Write(append(head, data[:n]...)); err != nil {
			return err
		}
		if data = data[n:]; len(data) == 0 {
			return nil
		}
	}
}

func getBlock(r io.Reader) (kind byte, data []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxBlock {
		return 0, nil, fmt.Errorf("a block of %d bytes is too long", n)
	}
	data = make([]byte, n)
	_, err = io.ReadFull(r, data)
	return head[0], data, err
}

// Connect is the process between a client and the play that address and token
// name, as given by the command line that stands for {command}: it carries
// stdin, stdout, stderr and signals, and returns the status to exit with. It
// ends when the play says so, or is gone.
func Connect(ctx context.Context, address string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	addr, secret, ok := strings.Cut(address, "/")
	if !ok {
		return 0, errors.New("want ADDRESS/TOKEN")
	}
	d := net.Dialer{Timeout: dialTime}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if _, err := io.WriteString(c, secret+"\n"); err != nil {
		return 0, err
	}
	out := &blocks{w: c}
	// Signals are told, and do nothing by themselves: what the server does about
	// them is the script's.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case s := <-signals:
				_ = out.put(blockSignal, []byte(transcript.SignalName(s)))
			case <-done:
				return
			}
		}
	}()
	// It ends with the process: a read of stdin cannot be broken off.
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := stdin.Read(buf)
			if n > 0 && out.put(blockInput, buf[:n]) != nil {
				return
			}
			if err != nil {
				_ = out.put(blockEnd, nil)
				return
			}
		}
	}()
	r := bufio.NewReader(c)
	for {
		kind, data, err := getBlock(r)
		if err != nil {
			return 0, nil // the play is over
		}
		switch kind {
		case blockOutput:
			_, _ = stdout.Write(data)
		case blockErrors:
			_, _ = stderr.Write(data)
		case blockClose:
			if f, ok := stdout.(io.Closer); ok {
				_ = f.Close()
			}
		case blockExit:
			code, _ := strconv.Atoi(string(data))
			return code, nil
		}
	}
}

// stdioListener waits for the processes between.
type stdioListener struct {
	net.Listener
	token string
}

// address is what Connect is to be given.
func (l *stdioListener) address() string { return l.Addr().String() + "/" + l.token }

// listenStdio makes the play reachable over stdio.
func (p *Play) listenStdio() (*stdioListener, error) {
	nl, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &stdioListener{nl, token()}
	p.servers.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.servers.Go(func() { p.connected(c, l.token) })
		}
	})
	return l, nil
}

// stdioConn is one server that the client has started.
type stdioConn struct {
	p   *Play
	n   int
	c   net.Conn
	out *blocks

	closed atomic.Bool // nothing can be written any more

	// mu comes before blocks.mu and Play.mu. It is held while something is
	// written, which lasts as long as the client does not read.
	mu   sync.Mutex
	line []byte // that the server has begun to write
}

func (p *Play) connected(c net.Conn, token string) {
	defer c.Close()
	r := bufio.NewReader(c)
	_ = c.SetReadDeadline(time.Now().Add(dialTime))
	secret, err := r.ReadString('\n')
	if err != nil || subtle.ConstantTimeCompare([]byte(strings.TrimSuffix(secret, "\n")), []byte(token)) != 1 {
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	p.mu.Lock()
	s := &stdioConn{p: p, n: len(p.conns) + 1, c: c, out: &blocks{w: c}}
	p.conns = append(p.conns, s)
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return
	}
	p.Note(NoteConnection + strconv.Itoa(s.n))
	p.touch(false, 0)
	if p.Started != nil {
		p.Started()
	}
	s.read(r)
	if !s.closed.Swap(true) {
		p.Note(NoteClosed + strconv.Itoa(s.n))
	}
	p.forget(s.key())
	p.touch(false, 0)
}

// read takes what the client writes, whatever the chunks.
func (s *stdioConn) read(r io.Reader) {
	p := s.p
	var line []byte
	var length int
	flush := func(partial bool) {
		e := transcript.Event{Dir: transcript.ToServer, Partial: partial, Data: line}
		if length > len(line) {
			e.Length = int64(length)
		}
		text, whole := line, e.Length == 0 && !partial
		line, length = nil, 0
		p.rec.Add(e)
		if whole && len(bytes.TrimSpace(text)) > 0 {
			p.take(text, s, nil)
		}
	}
	for {
		kind, data, err := getBlock(r)
		if err != nil {
			if length > 0 {
				flush(true)
			}
			return
		}
		if !p.touch(kind != blockEnd, len(data)) {
			return
		}
		switch kind {
		case blockInput:
			for len(data) > 0 {
				part, rest, whole := bytes.Cut(data, []byte{'\n'})
				if length += len(part); length <= p.limits.Line {
					line = append(line, part...)
				}
				if data = rest; whole {
					flush(false)
				}
			}
		case blockEnd:
			if length > 0 {
				flush(true)
			}
			p.rec.Note(0, transcript.KindEOF, ">")
			if !p.IgnoreEOF {
				p.endListens(s.key())
				s.exit(0)
			}
		case blockSignal:
			p.Note(NoteSignal + string(data))
			if !p.IgnoreEOF {
				p.endListens(s.key())
				s.exit(0)
			}
		}
	}
}

// endListens ends the open subscriptions of a connection in good order.
func (p *Play) endListens(key string) {
	p.mu.Lock()
	var open []*Call
	for _, c := range p.listens {
		if c.way.key() == key && p.running[key+keyOfID(c.ID)] == c {
			open = append(open, c)
		}
	}
	p.mu.Unlock()
	for _, c := range open {
		c.Result(p.whole(c.Method, `{"_meta":{"`+subscriptionKey+`":`+string(c.ID)+`,"`+serverInfoKey+`":`+p.Info+`}}`))
	}
}

// forget cancels the requests of a connection that is gone.
func (p *Play) forget(key string) {
	p.mu.Lock()
	var calls []*Call
	for k, c := range p.running {
		if c.way.key() == key {
			calls = append(calls, c)
			delete(p.running, k)
		}
	}
	var left []*Call
	for _, c := range p.listens {
		if c.way.key() != key {
			left = append(left, c)
		}
	}
	p.listens = left
	p.mu.Unlock()
	for _, c := range calls {
		c.cancel()
	}
}

// gone takes no mutex.
func (s *stdioConn) gone() bool { return s.closed.Load() }

func (s *stdioConn) key() string { return "c" + strconv.Itoa(s.n) + " " }

func (s *stdioConn) message(text string) bool { return s.write(text + "\n") }

func (s *stdioConn) reply(text string, _ int64) bool { return s.message(text) }

// write writes bytes as they are; each line is recorded before its end is
// written.
func (s *stdioConn) write(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone() {
		return false
	}
	for rest := text; rest != ""; {
		part, tail, whole := strings.Cut(rest, "\n")
		s.line = append(s.line, part...)
		if rest = tail; whole {
			s.p.rec.Message(transcript.ToClient, 0, s.line)
			s.line = nil
		}
	}
	s.p.touch(false, 0)
	return s.out.put(blockOutput, []byte(text)) == nil
}

// exit ends the server, which the client sees as the end of a process.
func (s *stdioConn) exit(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Swap(true) {
		return
	}
	s.p.rec.Note(0, transcript.KindEOF, "<")
	_ = s.out.put(blockExit, []byte(strconv.Itoa(code)))
}

// close ends the connection; what is written to it has to have a deadline.
func (s *stdioConn) close() {
	s.exit(0)
	_ = s.c.Close()
}

// current is the server that was started last, nil where none runs.
func (p *Play) current() *stdioConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.conns); n > 0 && !p.conns[n-1].gone() {
		return p.conns[n-1]
	}
	return nil
}

// Write writes bytes to the output of a server over stdio, lines or parts of
// them.
func (p *Play) Write(text string) bool {
	s := p.current()
	return s != nil && s.write(text)
}

// Stderr writes to the free text of a server over stdio.
func (p *Play) Stderr(text string) bool {
	s := p.current()
	if s == nil {
		return false
	}
	p.Note("the server wrote to stderr: " + strings.TrimSuffix(text, "\n"))
	return s.out.put(blockErrors, []byte(text)) == nil
}

// Exit ends a server over stdio with that status.
func (p *Play) Exit(code int) {
	if s := p.current(); s != nil {
		s.exit(code)
	}
}

// Connections is how many servers the client has started over stdio.
func (p *Play) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}
