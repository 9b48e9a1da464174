package streamhttp

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// ErrOutcomeUnknown is what an OutcomeUnknownError is, for errors.Is.
var ErrOutcomeUnknown = errors.New("outcome unknown")

// RequestError is a request that got no response: the server could not be
// reached, or the connection broke.
type RequestError struct {
	Method string // "POST"
	URL    string // without user and query
	Sent   bool   // the server may have it
	Err    error  // the cause
}

// Error names the request and the cause.
func (e *RequestError) Error() string { return fmt.Sprintf("%s %s: %v", e.Method, e.URL, e.Err) }

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.Err }

// Passes says that another try may do.
func (e *RequestError) Passes() (time.Duration, bool) { return 0, true }

// StatusError is a response whose status is a failure. Where it holds an
// answer of the peer the error of the call is that, a *jsonrpc.Error, and this
// its cause.
type StatusError struct {
	Status int // 401
	// WWWAuthenticate are the challenges, and AuthServer is what
	// Mcp-Auth-Server says.
	WWWAuthenticate []string
	AuthServer      string
	RetryAfter      time.Duration // 0 if the server does not say
	TraceID         string        // by which the server's logs can be searched, "" if it gives none
	Body            string        // the start, at most 1 KiB, without secrets
	RPC             int64         // the code of the peer's answer in it, 0 for none
	// TooLong is, with status 431, the request's longest header, and TooLongBytes
	// how long its value was: Mcp-Name repeats a name or URI, Mcp-Param-* an
	// argument.
	TooLong      string
	TooLongBytes int
}

// Error says the status, the challenges and the start of the body.
func (e *StatusError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP %d", e.Status)
	if text := http.StatusText(e.Status); text != "" {
		b.WriteString(" " + text)
	}
	var auth []string
	for _, challenge := range e.WWWAuthenticate {
		auth = append(auth, "WWW-Authenticate: "+clipValue(challenge))
	}
	if e.AuthServer != "" {
		auth = append(auth, "Mcp-Auth-Server: "+clipValue(e.AuthServer))
	}
	if len(auth) > 0 {
		b.WriteString(" [" + strings.Join(auth, "; ") + "]")
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, " (retry after %v)", e.RetryAfter)
	}
	if e.TraceID != "" {
		b.WriteString(" (trace " + e.TraceID + ")")
	}
	if e.TooLong != "" {
		fmt.Fprintf(&b, " (the longest is %s with %d bytes", e.TooLong, e.TooLongBytes)
		switch {
		case e.TooLong == HeaderName:
			b.WriteString(", which repeats the name or URI that the request is about")
		case strings.HasPrefix(e.TooLong, HeaderParamPrefix):
			b.WriteString(", which repeats an argument")
		}
		b.WriteString(")")
	}
	if body := strings.TrimSpace(strings.TrimPrefix(e.Body, strconv.Itoa(e.Status))); body != "" && body != http.StatusText(e.Status) {
		b.WriteString(": " + e.Body)
	}
	return b.String()
}

// Passes reports whether the server, or what is in front of it, may do better
// soon: 408, 429 and 500 and above.
func (e *StatusError) Passes() (time.Duration, bool) {
	return e.RetryAfter, e.Status >= 500 || e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests
}

// RedirectError is a redirect that was not followed.
type RedirectError struct {
	Status   int
	From, To string // without user and query; To is "" if it is no URL
	Reason   string // why it was not followed
}

// Error says where it leads and why it was not followed.
func (e *RedirectError) Error() string {
	return fmt.Sprintf("HTTP %d: redirect from %s to %q not followed: %s", e.Status, e.From, e.To, e.Reason)
}

// ContentError is a response that is neither JSON nor an event stream.
type ContentError struct {
	Status   int
	Type     string // Content-Type
	Encoding string // Content-Encoding, where that is what cannot be read
	Body     string // the start, at most 1 KiB, without secrets
}

// Error names the type and the start of the body.
func (e *ContentError) Error() string {
	switch {
	case e.Encoding != "":
		return fmt.Sprintf("HTTP %d: the response is encoded (%q), which was not asked for", e.Status, e.Encoding)
	case e.Type == "" && e.Body == "":
		return fmt.Sprintf("HTTP %d: the response to a request is empty", e.Status)
	}
	return fmt.Sprintf("HTTP %d: the response is neither %s nor %s but %q: %s", e.Status, mediaJSON, mediaEvents, clipValue(e.Type), e.Body)
}

// NoAnswerError is a response that ended without the answer to its request.
type NoAnswerError struct {
	ID    jsonrpc.ID // of the request
	Other string     // the id of another answer that came instead, as JSON; "" if none did
	Body  string     // the start of a JSON body that is no answer, without secrets
	Err   error      // what ended it: io.EOF for a stream that was simply closed
}

// Error says what came instead of the answer.
func (e *NoAnswerError) Error() string {
	s := fmt.Sprintf("no response received for request ID %s", e.ID)
	if e.Other != "" {
		s += fmt.Sprintf(", but one for ID %s", e.Other)
	}
	if e.Body != "" {
		s += ": " + e.Body
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns what ended the response.
func (e *NoAnswerError) Unwrap() error { return e.Err }

// Passes reports whether it was a stream that broke, or was closed.
func (e *NoAnswerError) Passes() (time.Duration, bool) {
	return 0, e.Err != nil && !errors.Is(e.Err, jsonrpc.ErrTooLong)
}

// OutcomeUnknownError is a call whose connection, to the server or behind a
// gateway (502, 504), broke after the server may have got it. It was not made
// again, since it may not be safe to make twice.
// errors.Is(err, ErrOutcomeUnknown).
type OutcomeUnknownError struct {
	Method string // "tools/call"
	Name   string // of the tool, where there is one
	Err    error  // what broke
}

// Error names the call and the cause.
func (e *OutcomeUnknownError) Error() string {
	s := e.Method
	if e.Name != "" {
		s += fmt.Sprintf(" %q", clipValue(e.Name))
	}
	return fmt.Sprintf("outcome unknown: the server may have executed %s: %v", s, e.Err)
}

// Is reports whether target is ErrOutcomeUnknown.
func (e *OutcomeUnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

// Unwrap returns the cause.
func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// SessionError is a session that the server has forgotten and that could not
// be begun again.
type SessionError struct {
	Err error // why
}

// Error says why.
func (e *SessionError) Error() string {
	return "the server has forgotten the session, and a new one failed: " + e.Err.Error()
}

// Unwrap returns why.
func (e *SessionError) Unwrap() error { return e.Err }

// ErrStaleCursor is the next page of a list whose session has ended: a cursor
// means something in its own session only (server/utilities/pagination). Once a
// session was begun anew, only cursors are sent that it has given itself: the
// last 1,024 of them. The list can be read again from its first page.
var ErrStaleCursor = errors.New("the session of this cursor has ended: read the list again from its start")

// TooLongError is a message above the bound. errors.Is(err,
// jsonrpc.ErrTooLong).
type TooLongError struct {
	Limit int // the bound in bytes
}

// Error says the bound.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("message too long: the bound is %d bytes", e.Limit)
}

// Is reports whether target is jsonrpc.ErrTooLong.
func (e *TooLongError) Is(target error) bool { return target == jsonrpc.ErrTooLong }

const (
	maxQuote = 1 << 10 // of a body, in an error
	hidden   = "[redacted]"
)

var (
	secretHeader = regexp.MustCompile(`(?i)token|secret|key|passw|credential|auth|cookie|session`)
	secretText   = regexp.MustCompile(`(?i)(\bbearer\s+|\bbasic\s+|["']?\b(?:access_token|refresh_token|id_token|client_secret|api[_-]?key|password|passwd|secret|token|authorization)\b["']?\s*[:=]\s*["']?)[^\s"'&,;<>]{4,}`)
)

// secretsOf are the values that no error may repeat: those of headers whose
// names say so, and what a URL holds besides its path. The longest come first.
func secretsOf(rawURL string, header http.Header) []string {
	var all []string
	add := func(s string) {
		if len(s) >= 6 {
			all = append(all, s)
		}
	}
	for name, values := range header {
		if !secretHeader.MatchString(name) {
			continue
		}
		for _, v := range values {
			add(v)
			if _, credentials, ok := strings.Cut(v, " "); ok { // behind the scheme
				add(credentials)
			}
		}
	}
	if u, err := url.Parse(rawURL); err == nil {
		if u.User != nil {
			if password, ok := u.User.Password(); ok {
				add(password)
			}
		}
		for _, values := range u.Query() {
			for _, v := range values {
				add(v)
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// redact is the start of a text that the peer wrote, without secrets, on one
// line.
func (l *Link) redact(data []byte) string {
	s := strings.ToValidUTF8(string(data[:min(len(data), 4*maxQuote)]), "\ufffd")
	hide := l.hide
	l.mu.Lock()
	if l.session.id != "" {
		hide = append([]string{l.session.id}, hide...)
	}
	l.mu.Unlock()
	for _, secret := range hide {
		s = strings.ReplaceAll(s, secret, hidden)
	}
	s = secretText.ReplaceAllString(s, "${1}"+hidden)
	if len(s) > maxQuote {
		n := maxQuote
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s))
}
