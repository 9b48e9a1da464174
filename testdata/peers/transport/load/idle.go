package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What can be idle.
const (
	IdleSession = "session" // a session without a stream
	IdleStream  = "stream"  // a session with its GET stream
	IdleListen  = "listen"  // a subscriptions/listen of 2026-07-28
)

// Idle opens n sessions or streams of a server that listens, and measures
// what they hold when nothing happens on them.
func Idle(command []string, kind string, n int) (r Result, err error) {
	s, err := StartHTTP(command)
	if err != nil {
		return r, err
	}
	defer func() { _ = s.Stop() }()
	t := &target{Server: s, modern: kind == IdleListen, revision: "2026-07-28"}
	// What is needed once is there before the count begins.
	for range 20 {
		if !t.modern {
			if t.session, err = t.initialize(); err != nil {
				return r, err
			}
		}
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, body, err := t.post(c, t.header("tools/call", "echo"), EchoCall("hello", t.modern))
		if err != nil || resp.StatusCode != http.StatusOK {
			return r, fmt.Errorf("echo: %v %.300s", err, body)
		}
	}
	before, rss, err := t.settle()
	if err != nil {
		return r, err
	}

	streams := make([]net.Conn, n)
	defer func() {
		for _, c := range streams {
			if c != nil {
				_ = c.Close()
			}
		}
	}()
	errs := make([]error, 8)
	var next atomic.Int64
	var group sync.WaitGroup
	for k := range errs {
		group.Go(func() {
			for i := int(next.Add(1) - 1); i < n && errs[k] == nil; i = int(next.Add(1) - 1) {
				streams[i], errs[k] = t.open(kind)
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return r, err
	}
	after, now, err := t.settle()
	if err != nil {
		return r, err
	}
	r.ServerRSS, r.ServerPeak = rss, Peak(t.PID())
	r.PerStream = (now - rss) / float64(n)
	r.GoroutinesPer = float64(after.Goroutines-before.Goroutines) / float64(n)
	if kind != IdleSession {
		for i, c := range streams {
			if !open(c) {
				return r, fmt.Errorf("stream %d of %d was closed", i, n)
			}
		}
	}
	return r, nil
}

// settle waits until the server's connections are gone that were closed, and
// its memory is what it holds.
func (t *target) settle() (st Stats, rss float64, err error) {
	for range 3 {
		time.Sleep(200 * time.Millisecond)
		if st, err = t.Stats(); err != nil {
			return st, 0, err
		}
	}
	return st, Resident(t.PID()), nil
}

func (t *target) open(kind string) (net.Conn, error) {
	s := *t
	var b bytes.Buffer
	if kind != IdleListen {
		var err error
		if s.session, err = s.initialize(); err != nil || kind == IdleSession {
			return nil, err
		}
		fmt.Fprintf(&b, "GET /mcp HTTP/1.1\r\nHost: %s\r\n", t.Addr)
		h := s.header("", "")
		h.Del("Content-Type")
		h.Set("Accept", "text/event-stream")
		_ = h.Write(&b)
		b.WriteString("\r\n")
	} else {
		fmt.Fprintf(&b, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", t.Addr, len(Listen))
		_ = s.header("subscriptions/listen", "").Write(&b)
		b.WriteString("\r\n" + Listen)
	}
	c, err := net.Dial("tcp", t.Addr)
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(b.Bytes()); err != nil {
		return c, err
	}
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	line, err := bufio.NewReaderSize(c, 1024).ReadString('\n')
	if err == nil && !strings.Contains(line, " 200 ") {
		err = fmt.Errorf("no stream: %q", line)
	}
	return c, err
}

// open reports whether the server still holds the connection.
func open(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	var b [4096]byte
	for {
		if _, err := c.Read(b[:]); err != nil {
			timeout, ok := err.(net.Error)
			return ok && timeout.Timeout()
		}
	}
}
