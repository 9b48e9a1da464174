package load

import (
	"fmt"
	"net/http"
	"time"
)

// BigStdio reads large results from the pipes of a server.
func BigStdio(command []string, modern bool, b Budget) (r Result, err error) {
	p, err := openPipes(command, modern)
	if err != nil {
		return r, err
	}
	defer func() { _ = p.Stop() }()
	p.buf = make([]byte, 2*BigSize)
	id := FirstID
	err = r.big(p.Server, b, func(size int) error {
		request := append(BigCall(size, modern), '\n')
		SetID(request, id)
		id++
		if err := p.write(request); err != nil {
			return err
		}
		line, err := p.line()
		if err != nil {
			return err
		}
		defer p.drop(len(line) + 1)
		if len(line) < size {
			return fmt.Errorf("a short result: %.300s", line)
		}
		return nil
	})
	return r, err
}

// BigHTTP reads large results of a server that listens, with net/http.
func BigHTTP(command []string, modern bool, b Budget) (r Result, err error) {
	t, err := openHTTP(command, modern)
	if err != nil {
		return r, err
	}
	defer func() { _ = t.Stop() }()
	h := t.header("tools/call", "big")
	c := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer c.CloseIdleConnections()
	id := FirstID
	err = r.big(t.Server, b, func(size int) error {
		request := BigCall(size, modern)
		SetID(request, id)
		id++
		resp, body, err := t.post(c, h, request)
		if err == nil && (resp.StatusCode != http.StatusOK || len(body) < size) {
			err = fmt.Errorf("a short result: %s: %.300s", resp.Status, body)
		}
		return err
	})
	return r, err
}

// big times calls with a result of BigSize bytes, after a small one by which
// the server has its text in memory.
func (r *Result) big(s *Server, b Budget, call func(size int) error) error {
	if err := call(10); err != nil {
		return err
	}
	if _, err := s.Stats(); err != nil {
		return err
	}
	r.ServerRSS = Resident(s.PID())
	ResetPeak(s.PID())
	for range 2 { // what both sides keep is there before it counts
		if err := call(BigSize); err != nil {
			return err
		}
	}
	before, err := s.Stats()
	if err != nil {
		return err
	}
	if err := r.Sequential(b, func() error { return call(BigSize) }); err != nil {
		return err
	}
	after, err := s.Stats()
	r.ServerAlloc = float64(after.TotalAlloc-before.TotalAlloc) / float64(r.Calls)
	r.ServerPeak = Peak(s.PID())
	return err
}

// Sequential times calls, one after the other and at least three.
func (r *Result) Sequential(b Budget, call func() error) error {
	var ns []int64
	began := time.Now()
	for len(ns) < 3 || !b.over(began, len(ns)) {
		t := time.Now()
		if err := call(); err != nil {
			return err
		}
		ns = append(ns, int64(time.Since(t)))
	}
	r.times(ns, time.Since(began))
	return nil
}
