package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// target is an HTTP server and what its requests have to say.
type target struct {
	*Server
	modern   bool
	session  string
	revision string
}

func openHTTP(command []string, modern bool) (*target, error) {
	s, err := StartHTTP(command)
	if err != nil {
		return nil, err
	}
	t := &target{Server: s, modern: modern, revision: "2026-07-28"}
	if !modern {
		if t.session, err = t.initialize(); err != nil {
			err = fmt.Errorf("%w; stderr: %s", err, s.lastLine())
			_ = s.Stop()
			return nil, err
		}
	}
	return t, nil
}

func (t *target) header(method, name string) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	if method != "initialize" {
		h.Set("Mcp-Protocol-Version", t.revision)
	}
	if t.modern {
		h.Set("Mcp-Method", method)
		if name != "" {
			h.Set("Mcp-Name", name)
		}
	} else if t.session != "" {
		h.Set("Mcp-Session-Id", t.session)
	}
	return h
}

func (t *target) post(c *http.Client, h http.Header, body []byte) (*http.Response, []byte, error) {
	req, err := http.NewRequest(http.MethodPost, "http://"+t.Addr+"/mcp", bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header = h
	resp, err := c.Do(req)
	if err != nil {
		return nil, nil, err
	}
	b, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return resp, b, err
}

// initialize makes a session and returns its id, which may be empty.
func (t *target) initialize() (string, error) {
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	s := target{Server: t.Server, revision: "2025-11-25"}
	resp, body, err := s.post(c, s.header("initialize", ""), []byte(Initialize))
	if err != nil {
		return "", err
	}
	if _, after, ok := bytes.Cut(body, []byte(`"protocolVersion":"`)); ok && resp.StatusCode == http.StatusOK {
		s.revision, _, _ = strings.Cut(string(after), `"`)
	} else {
		return "", fmt.Errorf("initialize: %s: %.300s", resp.Status, body)
	}
	t.revision = s.revision
	s.session = resp.Header.Get("Mcp-Session-Id")
	resp, body, err = s.post(c, s.header("notifications/initialized", ""), []byte(Initialized))
	if err != nil || resp.StatusCode/100 != 2 {
		return "", fmt.Errorf("initialized: %v %.300s", err, body)
	}
	return s.session, nil
}

// caller makes one call after the other.
type caller interface {
	call(id int) error
	close()
}

func checkAnswer(status int, body []byte, id int) error {
	if status != http.StatusOK {
		return fmt.Errorf("status %d: %.300s", status, body)
	}
	if !bytes.HasPrefix(body, []byte("{")) { // an event stream, the answer in its last event
		body = body[bytes.LastIndex(body, []byte("data:"))+1:]
		body, _, _ = bytes.Cut(bytes.TrimSpace(bytes.TrimPrefix(body, []byte("ata:"))), []byte("\n"))
	}
	if got := answerID(body); got != id {
		return fmt.Errorf("the answer has the id %d, not %d: %.300s", got, id, body)
	}
	return isResult(body)
}

// netCaller uses net/http.
type netCaller struct {
	t    *target
	c    *http.Client
	h    http.Header
	body []byte
	buf  bytes.Buffer
}

func (n *netCaller) call(id int) error {
	SetID(n.body, id)
	req, err := http.NewRequest(http.MethodPost, "http://"+n.t.Addr+"/mcp", bytes.NewReader(n.body))
	if err != nil {
		return err
	}
	req.Header = n.h
	resp, err := n.c.Do(req)
	if err != nil {
		return err
	}
	n.buf.Reset()
	_, err = n.buf.ReadFrom(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return err
	}
	return checkAnswer(resp.StatusCode, n.buf.Bytes(), id)
}

func (n *netCaller) close() { n.c.CloseIdleConnections() }

// wireCaller writes prepared bytes to a connection of its own and reads the
// answer with the least work.
type wireCaller struct {
	c       net.Conn
	r       *bufio.Reader
	request []byte
	at      int // where the body begins
	body    []byte
}

func newWireCaller(t *target, h http.Header, body []byte) (*wireCaller, error) {
	c, err := net.Dial("tcp", t.Addr)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", t.Addr, len(body))
	_ = h.Write(&b)
	b.WriteString("\r\n")
	at := b.Len()
	b.Write(body)
	return &wireCaller{c: c, r: bufio.NewReaderSize(c, 16<<10), request: b.Bytes(), at: at}, nil
}

func (w *wireCaller) call(id int) error {
	SetID(w.request[w.at:], id)
	if _, err := w.c.Write(w.request); err != nil {
		return err
	}
	status, body, err := readResponse(w.r, w.body[:0])
	w.body = body
	if err != nil {
		return err
	}
	return checkAnswer(status, body, id)
}

func (w *wireCaller) close() { _ = w.c.Close() }

// readResponse reads a response with a length or in chunks, its body into b.
func readResponse(r *bufio.Reader, b []byte) (status int, body []byte, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, b, err
	}
	if len(line) < 12 {
		return 0, b, fmt.Errorf("status line %q", line)
	}
	status, _ = strconv.Atoi(string(line[9:12]))
	length, chunked := 0, false
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return status, b, err
		}
		if len(line) <= 2 {
			break
		}
		switch line[0] {
		case 'c', 'C':
			if len(line) > 15 && strings.EqualFold(string(line[:15]), "content-length:") {
				length, _ = strconv.Atoi(strings.TrimSpace(string(line[15:])))
			}
		case 't', 'T':
			if len(line) > 18 && strings.EqualFold(string(line[:18]), "transfer-encoding:") {
				chunked = true
			}
		}
	}
	read := func(n int) error {
		k := len(b)
		b = append(b, make([]byte, n)...)
		_, err := io.ReadFull(r, b[k:])
		return err
	}
	if !chunked {
		err = read(length)
		return status, b, err
	}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return status, b, err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(line)), 16, 32)
		if err != nil {
			return status, b, err
		}
		if err := read(int(n)); err != nil {
			return status, b, err
		}
		if _, err := r.Discard(2); err != nil || n == 0 {
			return status, b, err
		}
	}
}

// OpenHTTP starts a server that listens, to make calls by ways callers, each
// one after the other: with net/http, or by prepared bytes on connections of
// their own. call is EchoCall or TellCall, with a message of size bytes.
func OpenHTTP(command []string, netHTTP, modern bool, call func(string, bool) []byte, size, ways int) (Runner, error) {
	t, err := openHTTP(command, modern)
	if err != nil {
		return nil, err
	}
	text := Text(size)
	tool := "echo"
	if bytes.Contains(call("", modern), []byte(`"tell"`)) {
		tool = "tell"
	}
	h := t.header("tools/call", tool)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: ways + 1, MaxIdleConns: ways + 1, DisableCompression: true}}
	s := &httpRunner{t: t}
	s.id.Store(FirstID - 1)
	for range ways {
		body := call(text, modern)
		if netHTTP {
			s.callers = append(s.callers, &netCaller{t: t, c: client, h: h, body: body})
			continue
		}
		c, err := newWireCaller(t, h, body)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.callers = append(s.callers, c)
	}
	return s, nil
}

type httpRunner struct {
	t       *target
	callers []caller
	id      atomic.Int64
}

// Run makes calls.
func (s *httpRunner) Run(b Budget) (r Result, err error) {
	if s.id.Load() > 8_000_000 { // the ids have seven digits
		s.id.Store(FirstID - 1)
	}
	err = r.Parallel(b, len(s.callers), s.t.PID(), func(i int) error { return s.callers[i].call(int(s.id.Add(1))) })
	r.Revision = s.t.revision
	r.ServerPeak = Peak(s.t.PID())
	return r, err
}

// Close ends the connections and the server.
func (s *httpRunner) Close() {
	for _, c := range s.callers {
		c.close()
	}
	_ = s.t.Stop()
}

// Parallel times call, made by ways goroutines one after the other each, and
// what it takes of this process and that of pid.
func (r *Result) Parallel(b Budget, ways, pid int, call func(goroutine int) error) error {
	times := make([][]int64, ways)
	errs := make([]error, ways)
	for i := range times {
		times[i] = make([]int64, 0, 1<<14/ways)
	}
	var made atomic.Int64
	var group sync.WaitGroup
	u := used(pid)
	began := time.Now()
	for i := range ways {
		group.Go(func() {
			for !b.over(began, int(made.Add(1)-1)) {
				t := time.Now()
				if errs[i] = call(i); errs[i] != nil {
					made.Add(1 << 40) // the others stop as well if calls are counted
					return
				}
				times[i] = append(times[i], int64(time.Since(t)))
			}
		})
	}
	group.Wait()
	all := slices.Concat(times...)
	r.times(all, r.since(u, pid, len(all)))
	return errors.Join(errs...)
}
