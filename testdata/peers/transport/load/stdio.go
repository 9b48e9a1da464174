package load

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

// pipes is a server whose pipes are read and written by one thread, with
// blocking calls.
type pipes struct {
	*Server
	w, r int // descriptors
	buf  []byte
	n    int // bytes in buf
}

func openPipes(command []string, modern bool) (*pipes, error) {
	s, err := StartPipes(command)
	if err != nil {
		return nil, err
	}
	// Fd makes a pipe blocking.
	p := &pipes{Server: s, w: int(s.in.Fd()), r: int(s.out.Fd()), buf: make([]byte, 1<<20)}
	if err := p.handshake(modern); err != nil {
		err = fmt.Errorf("%w; stderr: %s", err, s.lastLine())
		_ = p.Stop()
		return nil, err
	}
	return p, nil
}

func (p *pipes) handshake(modern bool) error {
	if modern {
		return nil
	}
	if err := p.write([]byte(Initialize + "\n")); err != nil {
		return err
	}
	line, err := p.line()
	if err != nil {
		return err
	}
	if !bytes.Contains(line, []byte(`"protocolVersion"`)) {
		return fmt.Errorf("initialize: %.300s", line)
	}
	p.drop(len(line) + 1)
	if err := p.write([]byte(Initialized + "\n")); err != nil {
		return err
	}
	time.Sleep(20 * time.Millisecond) // some serve what follows before it
	return nil
}

func (p *pipes) write(b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Write(p.w, b)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("write: %w; stderr: %s", err, p.lastLine())
		}
		b = b[n:]
	}
	return nil
}

// fill reads once.
func (p *pipes) fill() error {
	if p.n == len(p.buf) {
		p.buf = append(p.buf, make([]byte, len(p.buf))...)
	}
	for {
		n, err := syscall.Read(p.r, p.buf[p.n:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("the server closed its stdout; stderr: %s", p.lastLine())
		}
		p.n += n
		return nil
	}
}

// line is the next line, valid until drop.
func (p *pipes) line() ([]byte, error) {
	for from := 0; ; {
		if i := bytes.IndexByte(p.buf[from:p.n], '\n'); i >= 0 {
			return p.buf[:from+i], nil
		}
		from = p.n
		if err := p.fill(); err != nil {
			return nil, err
		}
	}
}

func (p *pipes) drop(n int) {
	copy(p.buf, p.buf[n:p.n])
	p.n -= n
}

// answerID is the id of an answer: at the front, or at the end.
func answerID(line []byte) int {
	i := IDOffset
	if len(line) < i || string(line[:i]) != `{"jsonrpc":"2.0","id":` {
		k := bytes.LastIndex(line, []byte(`"id":`))
		if k < 0 {
			return -1
		}
		i = k + 5
	}
	v := 0
	for ; i < len(line) && line[i] >= '0' && line[i] <= '9'; i++ {
		v = v*10 + int(line[i]-'0')
	}
	return v
}

func isResult(line []byte) error {
	if !bytes.Contains(line, []byte(`"result"`)) || bytes.Contains(line, []byte(`"isError":true`)) {
		return fmt.Errorf("not a result: %.300s", line)
	}
	return nil
}

// usage is what two processes have used until now.
type usage struct {
	server, client int64
	at             time.Time
}

func used(pid int) usage { return usage{CPU(pid), CPU(os.Getpid()), time.Now()} }

// since fills in what was used for n calls.
func (r *Result) since(u usage, pid, n int) time.Duration {
	took := time.Since(u.at)
	r.ServerCPU = float64(CPU(pid)-u.server) / float64(max(n, 1))
	r.ClientCPU = float64(CPU(os.Getpid())-u.client) / float64(max(n, 1))
	return took
}

// OpenStdio starts a server on pipes, to make calls of echo with messages of
// size bytes, ways at a time. The requests that one read answers are replaced
// by one write.
func OpenStdio(command []string, modern bool, size, ways int) (Runner, error) {
	p, err := openPipes(command, modern)
	if err != nil {
		return nil, err
	}
	return &stdioRunner{p: p, request: append(EchoCall(Text(size), modern), '\n'), ways: ways, next: FirstID, epoch: time.Now()}, nil
}

// outstanding is more than the calls that can be outstanding, so that the slot
// of an id is free when it is used again.
const outstanding = 1 << 12

type stdioRunner struct {
	p       *pipes
	request []byte
	ways    int
	next    int // id
	epoch   time.Time
	sent    [outstanding]int64 // when the call of an id left, -1 once it is answered
	out     []byte
}

// Run makes calls on a thread of its own.
func (s *stdioRunner) Run(b Budget) (r Result, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if s.next > 8_000_000 { // the ids have seven digits
		s.next = FirstID
	}
	ns := make([]int64, 0, 1<<16)
	u := used(s.p.PID())
	if s.ways == 1 {
		ns, err = s.sequential(ns, b)
	} else {
		ns, err = s.parallel(ns, b)
	}
	r.times(ns, r.since(u, s.p.PID(), len(ns)))
	r.ServerPeak = Peak(s.p.PID())
	return r, err
}

// Close ends the server.
func (s *stdioRunner) Close() { _ = s.p.Stop() }

func (s *stdioRunner) sequential(ns []int64, b Budget) ([]int64, error) {
	for began := time.Now(); !b.over(began, len(ns)); s.next++ {
		SetID(s.request, s.next)
		t := time.Now()
		if err := s.p.write(s.request); err != nil {
			return ns, err
		}
		line, err := s.p.line()
		if err != nil {
			return ns, err
		}
		ns = append(ns, int64(time.Since(t)))
		if got := answerID(line); got != s.next {
			return ns, fmt.Errorf("the answer has the id %d, not %d: %.300s", got, s.next, line)
		}
		if err := isResult(line); err != nil {
			return ns, err
		}
		s.p.drop(len(line) + 1)
	}
	return ns, nil
}

func (s *stdioRunner) parallel(ns []int64, b Budget) ([]int64, error) {
	began := time.Now()
	asked := 0
	more := func(n int) error {
		if b.Calls > 0 {
			n = min(n, b.Calls-asked)
		} else if b.over(began, asked) {
			n = 0
		}
		asked += n
		s.out = s.out[:0]
		now := int64(time.Since(s.epoch))
		for range n {
			SetID(s.request, s.next)
			s.out = append(s.out, s.request...)
			s.sent[s.next%outstanding] = now
			s.next++
		}
		return s.p.write(s.out)
	}
	if err := more(s.ways); err != nil {
		return ns, err
	}
	for len(ns) < asked {
		if err := s.p.fill(); err != nil {
			return ns, err
		}
		now := int64(time.Since(s.epoch))
		got, off := 0, 0
		for {
			i := bytes.IndexByte(s.p.buf[off:s.p.n], '\n')
			if i < 0 {
				break
			}
			line := s.p.buf[off : off+i]
			id := answerID(line)
			if id < FirstID || id >= s.next || s.next-id > outstanding || s.sent[id%outstanding] < 0 {
				return ns, fmt.Errorf("an answer to no call: %.300s", line)
			}
			if err := isResult(line); err != nil {
				return ns, err
			}
			ns = append(ns, now-s.sent[id%outstanding])
			s.sent[id%outstanding] = -1
			got++
			off += i + 1
		}
		s.p.drop(off)
		if err := more(got); err != nil {
			return ns, err
		}
	}
	return ns, nil
}
