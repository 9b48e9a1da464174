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
	buf []byte
	n   int // bytes in buf
}

func openPipes(command []string, modern bool) (*pipes, error) {
	s, err := StartPipes(command)
	if err != nil {
		return nil, err
	}
	p := &pipes{Server: s, buf: make([]byte, 1<<20)}
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
		n, err := syscall.Write(p.in, b)
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
		n, err := syscall.Read(p.out, p.buf[p.n:])
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

// Stdio makes calls of echo with messages of size bytes, ways at a time, on
// the pipes of a server. The requests that one read answers are replaced by
// one write.
func Stdio(command []string, modern bool, size, ways int, b Budget) (r Result, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := openPipes(command, modern)
	if err != nil {
		return r, err
	}
	defer func() { _ = p.Stop() }()
	request := append(EchoCall(Text(size), modern), '\n')
	if ways == 1 {
		err = p.sequential(&r, request, b)
	} else {
		err = p.parallel(&r, request, ways, b)
	}
	r.ServerPeak = Peak(p.PID())
	return r, err
}

func (p *pipes) sequential(r *Result, request []byte, b Budget) error {
	id := FirstID
	var ns []int64
	loop := func(b Budget) error {
		for began, n := time.Now(), 0; !b.over(began, n); n++ {
			SetID(request, id)
			t := time.Now()
			if err := p.write(request); err != nil {
				return err
			}
			line, err := p.line()
			if err != nil {
				return err
			}
			ns = append(ns, int64(time.Since(t)))
			if got := answerID(line); got != id {
				return fmt.Errorf("the answer has the id %d, not %d: %.300s", got, id, line)
			}
			if err := isResult(line); err != nil {
				return err
			}
			p.drop(len(line) + 1)
			id++
		}
		return nil
	}
	if err := loop(b.warm()); err != nil {
		return err
	}
	ns = make([]int64, 0, 1<<17)
	u := used(p.PID())
	if err := loop(b); err != nil {
		return err
	}
	r.times(ns, r.since(u, p.PID(), len(ns)))
	return nil
}

func (p *pipes) parallel(r *Result, request []byte, ways int, b Budget) error {
	const ring = 1 << 16 // more than can be outstanding, so that a slot is free when it is used again
	var sent [ring]int64 // when the call of an id left, -1 once it is answered
	next := FirstID
	epoch := time.Now()
	var out []byte
	push := func(n int) error {
		out = out[:0]
		now := int64(time.Since(epoch))
		for range n {
			SetID(request, next)
			out = append(out, request...)
			sent[next%ring] = now
			next++
		}
		return p.write(out)
	}
	var ns []int64
	outstanding := 0
	loop := func(b Budget) error {
		began := time.Now()
		asked := 0
		more := func(n int) error {
			if b.Calls > 0 {
				n = min(n, b.Calls-asked)
			} else if b.over(began, asked) {
				n = 0
			}
			asked += n
			outstanding += n
			return push(n)
		}
		if err := more(ways); err != nil {
			return err
		}
		for outstanding > 0 {
			if err := p.fill(); err != nil {
				return err
			}
			now := int64(time.Since(epoch))
			got, off := 0, 0
			for {
				i := bytes.IndexByte(p.buf[off:p.n], '\n')
				if i < 0 {
					break
				}
				line := p.buf[off : off+i]
				id := answerID(line)
				if id < FirstID || id >= next || next-id > ring || sent[id%ring] < 0 {
					return fmt.Errorf("an answer to no call: %.300s", line)
				}
				if err := isResult(line); err != nil {
					return err
				}
				ns = append(ns, now-sent[id%ring])
				sent[id%ring] = -1
				got++
				off += i + 1
			}
			p.drop(off)
			outstanding -= got
			if err := more(got); err != nil {
				return err
			}
		}
		return nil
	}
	if err := loop(b.warm()); err != nil {
		return err
	}
	ns = make([]int64, 0, 1<<20)
	u := used(p.PID())
	if err := loop(b); err != nil {
		return err
	}
	r.times(ns, r.since(u, p.PID(), len(ns)))
	return nil
}
