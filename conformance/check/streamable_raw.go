package check

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/transcript"
)

// sendRaw posts a body with a head that is written as it stands, on a
// connection of its own: fields are lines without their ends, "mCp-NaMe:  x  ".
// They take the place of those that the session would send under their names.
// Recordings hold the fields as HeaderText has them: what was odd about their
// spelling has to show in the name of the step.
func (d *Driver) sendRaw(body string, fields ...string) (x *Exchange) {
	l := d.http
	if l == nil || d.Lost() != "" {
		return nil
	}
	d.mu.Lock()
	if l.closed || d.eof {
		d.mu.Unlock()
		return nil
	}
	head := l.usualHeader(http.MethodPost, body)
	l.last++
	n := l.last
	d.mu.Unlock()

	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: goldwire-check\r\nConnection: close\r\nContent-Length: %d\r\n", l.base.RequestURI(), l.base.Host, len(body))
	l.rec.Carrier(transcript.ToServer, n, transcript.KindRequest, "POST "+l.base.RequestURI())
	named := func(name string) bool {
		for _, f := range fields {
			if n, _, _ := strings.Cut(f, ":"); strings.EqualFold(n, name) {
				return true
			}
		}
		return false
	}
	for _, h := range head {
		if !named(h[0]) {
			fields = append(fields, h[0]+": "+h[1])
		}
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ":")
		b.WriteString(f + "\r\n")
		l.rec.Carrier(transcript.ToServer, n, transcript.KindHeader, transcript.HeaderText(name, value))
	}
	for _, name := range l.secrets(HTTPRequest{}) {
		for _, v := range l.e.Header[name] {
			b.WriteString(name + ": " + v + "\r\n")
		}
		l.rec.Carrier(transcript.ToServer, n, transcript.KindHeader, transcript.HeaderText(name, redactedValue))
	}
	b.WriteString("\r\n" + body)
	l.rec.Message(transcript.ToServer, n, []byte(body))
	if err := l.raw(n, b.Bytes(), d.patience()); err != nil {
		l.rec.Note(n, transcript.KindError, trouble(err))
	}
	d.View(func(t *Trace) { x = t.Exchange(n) })
	return x
}

// raw writes a request and records the response to it.
func (l *httpLink) raw(n int, request []byte, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(l.ctx, limit)
	defer cancel()
	conn, err := l.connect(ctx, l.base)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	// A server may answer before it has read all, or instead of it.
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = conn.Write(request)
	}()
	defer func() {
		_ = conn.Close()
		<-written
	}()
	resp, err := finalResponse(bufio.NewReader(conn))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	l.head(n, resp)
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(l.s.limits.Line)))
	if !l.s.count(len(body), false) {
		return nil
	}
	if isStream(resp.Header.Get("Content-Type")) {
		tap := l.rec.SSE(transcript.ToClient, n)
		_, _ = tap.Write(body)
		_ = tap.Close()
	} else if len(body) > 0 {
		l.rec.Message(transcript.ToClient, n, body)
	}
	if err != nil {
		return err
	}
	l.rec.Carrier(transcript.ToClient, n, transcript.KindEnd, "")
	return nil
}

// finalResponse reads the response to a POST, past those that only say that it
// is on its way (RFC 9110, section 15.2).
func finalResponse(r *bufio.Reader) (*http.Response, error) {
	const most = 10
	for range most {
		resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodPost})
		if err != nil || resp.StatusCode >= http.StatusOK || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, err
		}
		_ = resp.Body.Close()
	}
	return nil, errors.New("no end of interim responses")
}

// connect opens a connection to the host of a URL.
func (l *httpLink) connect(ctx context.Context, to *url.URL) (net.Conn, error) {
	dial := l.e.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	port := to.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[to.Scheme]
	}
	conn, err := dial(ctx, "tcp", net.JoinHostPort(to.Hostname(), port))
	if err != nil || to.Scheme != "https" {
		return conn, err
	}
	secure := tls.Client(conn, &tls.Config{ServerName: to.Hostname(), NextProtos: []string{"http/1.1"}})
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

// apart makes a request at another URL, past the recording, and gives the
// status of the response; 0 where none came in time.
func (l *httpLink) apart(method string, to *url.URL, body string, limit time.Duration) int {
	ctx, cancel := context.WithTimeout(l.ctx, limit)
	defer cancel()
	dial := l.e.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	tr := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(ctx, method, to.String(), strings.NewReader(body))
	if err != nil {
		return 0
	}
	l.s.mu.Lock()
	head := l.usualHeader(method, body)
	l.s.mu.Unlock()
	for _, h := range head {
		req.Header.Set(h[0], h[1])
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
