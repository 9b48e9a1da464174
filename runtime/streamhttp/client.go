package streamhttp

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
)

// What an Endpoint leaves open.
const (
	defaultCloseTimeout = 3 * time.Second
	defaultIdlePerHost  = 256
	maxHeaderBytes      = 64 << 10
	maxBackground       = 64 // messages that are sent while nobody waits
	drainTime           = time.Second
)

// Endpoint is the MCP endpoint of a server, a URL, as its clients see it. It is
// a jsonrpc.Dialer for every revision: what is sent with a request follows from
// what the request says and, in stateful revisions, from the handshake made on
// the link. The fields are set before the first Dial.
//
// A link is good for both eras: a request whose _meta names its version goes
// out on its own with the headers that repeat it (2026-07-28), initialize
// begins a session (2025-03-26 to 2025-11-25). Without a session, a message
// that names no version has that of the requests before it. Specification:
// basic/transports, basic/transports/streamable-http (2026-07-28).
type Endpoint struct {
	// URL is the endpoint, http or https. A user and password in it become
	// the Authorization header.
	URL string
	// Kind is Any as a rule: Streamable HTTP, with HTTP+SSE to fall back on.
	Kind Kind
	// Header goes with every request. What the transport itself sets wins:
	// Accept, Content-Type, Last-Event-ID and all Mcp-* headers; those of
	// the connection (Host, Content-Length and their kind) are dropped.
	Header http.Header
	// RoundTripper sends the requests; nil means a pool of connections that
	// belongs to the link. It may add headers of its own, a token for one.
	// It must not follow redirects.
	RoundTripper http.RoundTripper
	// MaxMessage bounds a message in bytes, in a body and in an event. 0
	// means 64 MiB.
	MaxMessage int
	// NoStream leaves out the GET stream of stateful revisions: what the
	// server wants to tell outside of calls is then not heard.
	NoStream bool
	// KeepAlive is how often servers write a comment on a stream that is
	// otherwise silent. A proxy that holds back what it should pass on is
	// told by it. 0 means 15 s, negative does not look for one.
	KeepAlive time.Duration
	// CloseTimeout bounds how long closing waits for the end of the session.
	// 0 means 3 s.
	CloseTimeout time.Duration
	// Notices are told what links notice and survive, one at a time on the
	// goroutine where it happens: they must not block. A panic in one is
	// caught.
	Notices []func(Notice)
	// Logger gets warnings; nil is slog.Default().
	Logger *slog.Logger
}

// URL is the endpoint at a URL, with defaults.
func URL(url string) *Endpoint { return &Endpoint{URL: url} }

// URLError is a URL that is none of an endpoint.
type URLError struct {
	URL    string // as it was given, without user and query
	Reason string // what is wrong with it
}

// Error names the URL and what is wrong with it.
func (e *URLError) Error() string { return fmt.Sprintf("URL %q: %s", e.URL, e.Reason) }

// ParseURL reads the URL of an endpoint: http or https, with a host, without a
// fragment. Errors are *URLError and hold no secrets.
func ParseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, &URLError{URL: publicText(s), Reason: "not a URL"}
	}
	bad := func(reason string) (*url.URL, error) { return nil, &URLError{URL: publicURL(u), Reason: reason} }
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("the scheme is neither http nor https")
	case u.Host == "":
		return bad("no host")
	case u.Fragment != "":
		return bad("an endpoint has no fragment")
	}
	return u, nil
}

// publicURL is a URL without the parts that may be secret.
func publicURL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// publicText is the same of a text that is no URL: without what may be a user or
// a query, and cut when it is long.
func publicText(s string) string {
	if strings.Contains(s, "@") { // what around it is secret cannot be told
		return "…"
	}
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s = s[:i]
	}
	const most = 200
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}

// Dial makes a link. Nothing is sent yet, the server is reached with the first
// message; only with TwoEndpoints the stream is opened, and the error may be an
// *EndpointError.
func (e *Endpoint) Dial(ctx context.Context) (jsonrpc.Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	u, err := ParseURL(e.URL)
	if err != nil {
		return nil, err
	}
	l := &Link{
		max: orDefault(e.MaxMessage, defaultMaxMessage), keepAlive: orDefault(e.KeepAlive, defaultKeepAlive),
		closeTimeout: orDefault(e.CloseTimeout, defaultCloseTimeout), noStream: e.NoStream, kind: e.Kind, notices: e.Notices, log: e.Logger,
		header: http.Header{}, rt: e.RoundTripper, calls: map[*flight]struct{}{}, done: make(chan struct{}), background: make(chan struct{}, maxBackground),
	}
	if l.max <= 0 {
		l.max = defaultMaxMessage
	}
	if l.log == nil {
		l.log = slog.Default()
	}
	for name, values := range e.Header {
		if name = http.CanonicalHeaderKey(name); !ownHeader(name) {
			l.header[name] = slices.Clone(values)
		}
	}
	if user := u.User; user != nil {
		if l.header.Get("Authorization") == "" {
			password, _ := user.Password()
			l.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
		}
		u.User = nil
	}
	if l.header.Get("User-Agent") == "" {
		l.header.Set("User-Agent", "goldwire")
	}
	l.url, l.hide = u, secretsOf(e.URL, e.Header)
	if l.rt == nil {
		l.own = newPool()
		l.rt = l.own
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	if e.Kind == TwoEndpoints {
		if l.events, err = l.openEvents(ctx); err != nil {
			_ = l.Close(context.WithoutCancel(ctx))
			return nil, err
		}
	}
	return l, nil
}

// Identity is the endpoint without its user: what speaks one era today does so
// for every client, but may choose by the query what it is. "" for what is no
// URL of an endpoint.
func (e *Endpoint) Identity() string {
	u, err := ParseURL(e.URL)
	if err != nil {
		return ""
	}
	u.User = nil
	return u.String()
}

// newPool is a pool of connections that keeps all it ever needed at once, for a
// while: a new connection costs more than a call.
func newPool() *http.Transport {
	d := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: d.DialContext, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: defaultIdlePerHost, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression: true, // a compressed stream is held back
		ForceAttemptHTTP2:  true,
	}
}

// ownHeader reports whether a header is not the user's to set: the transport
// does, or the connection.
func ownHeader(canonical string) bool {
	switch canonical {
	case "Accept", "Accept-Encoding", "Content-Type", "Content-Length", "Content-Encoding", "Connection", "Host", "Keep-Alive",
		"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", HeaderLastEventID:
		return true
	}
	return strings.HasPrefix(canonical, "Mcp-")
}

// Link is a client's link to an Endpoint.
type Link struct {
	url          *url.URL
	header       http.Header // the user's
	hide         []string    // secrets that no error repeats
	rt           http.RoundTripper
	own          *http.Transport // rt, when it is the link's
	max          int
	keepAlive    time.Duration
	closeTimeout time.Duration
	noStream     bool
	kind         Kind
	notices      []func(Notice)
	log          *slog.Logger

	r       jsonrpc.Receiver
	ctx     context.Context // of all that the link does by itself
	cancel  context.CancelFunc
	work    sync.WaitGroup
	once    sync.Once
	endOnce sync.Once // of the receiver's hearing of it
	done    chan struct{}
	// background holds a place for each message that is sent while nobody
	// waits for it.
	background chan struct{}

	tools     toolTable
	pages     pageTable
	version   atomic.Pointer[string] // of requests that stand alone, once one got a result
	reissueID atomic.Int64
	counts    [noticeKinds]atomic.Uint64
	buffered  atomic.Bool // a proxy was suspected

	mu        sync.Mutex
	closed    bool
	calls     map[*flight]struct{}
	session   session
	kept      kept
	events    *oldStream // of HTTP+SSE, nil while the link is not of it
	err       error      // why the link ended by itself
	again     *restart   // of a session that is being begun again
	heard     bool       // the server has answered something
	lastErr   error      // of the last request, if the carrier failed or let nobody through
	stream    StreamState
	streamErr error
	streaming context.CancelFunc // of the GET stream, nil if none was begun
}

// session is what the handshake of a stateful revision left.
type session struct {
	epoch       int             // counts handshakes
	began       time.Time       // of its handshake
	lost        int             // sessions in a row before it that were lost early
	version     string          // what was agreed on; "" for HTTP+SSE, where the stream says
	rules       *revision.Rules // nil before one
	id          string          // "" without
	header      http.Header     // what goes with its requests
	initialize  []byte          // the request
	initialized []byte          // the notification
}

func (s *session) stateful() bool { return s.rules != nil }

// StreamState is what has become of the GET stream.
type StreamState uint8

// The states of the GET stream.
const (
	StreamNone    StreamState = iota // none was asked for
	StreamOpening                    // being opened, or opened again
	StreamOpen
	StreamRefused // the server has none (405)
	StreamFailed  // given up after an answer that will not change, or sessions in a row that the server forgot at once
)

// With HTTP+SSE the one stream is what is meant.
var streamNames = [...]string{"none", "opening", "open", "refused", "failed"}

// String is the state in a word.
func (s StreamState) String() string { return streamNames[s] }

// LinkState is how a link stands with its server.
type LinkState uint8

// The states of a link.
const (
	LinkIdle       LinkState = iota // nothing was sent yet
	LinkConnecting                  // sent, and nothing heard yet
	LinkReady                       // the server answers
	LinkDegraded                    // the last request could not be made, or the GET stream is lost
	LinkClosed
)

var linkNames = [...]string{"idle", "connecting", "ready", "degraded", "closed"}

// String is the state in a word.
func (s LinkState) String() string { return linkNames[s] }

// Status is a snapshot of a link.
type Status struct {
	State     LinkState   // what the rest comes to
	LastErr   error       // why the last request could not be made, nil if it was answered in any way
	Revision  string      // of the session, "" without and for HTTP+SSE
	Session   bool        // the server gave it an id
	Calls     int         // requests that wait for their answer
	Stream    StreamState // the GET stream
	StreamErr error       // why it is not open, nil if nothing is wrong
	// ProxySuspected: something between here and the server holds back what
	// it should pass on at once.
	ProxySuspected bool
	Counts         [noticeKinds]uint64 // of notices, by kind
}

// Count is how often a kind of notice was made.
func (s *Status) Count(k NoticeKind) uint64 { return s.Counts[k] }

// Status is the present state.
func (l *Link) Status() Status {
	s := Status{ProxySuspected: l.buffered.Load()}
	for k := range s.Counts {
		s.Counts[k] = l.counts[k].Load()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Revision = l.session.version
	s.LastErr = l.lastErr
	switch {
	case l.closed:
		s.State = LinkClosed
	case l.lastErr != nil, l.streamErr != nil:
		s.State = LinkDegraded
	case l.heard:
		s.State = LinkReady
	case len(l.calls) > 0:
		s.State = LinkConnecting
	}
	s.Session, s.Calls, s.Stream, s.StreamErr = l.session.id != "", len(l.calls), l.stream, l.streamErr
	return s
}

// Start takes the receiver. Nothing is read before something is sent, except
// the stream of HTTP+SSE.
func (l *Link) Start(r jsonrpc.Receiver) error {
	l.r = r
	if l.events != nil && !l.serveEvents(l.events) {
		return jsonrpc.ErrClosed
	}
	return nil
}

// Carrier says that each call has a stream of its own.
func (l *Link) Carrier() jsonrpc.CarrierRules { return jsonrpc.CarrierRules{CallStreams: true} }

// Done is closed when the link is closed and everything is released.
func (l *Link) Done() <-chan struct{} { return l.done }

// Err is nil but for HTTP+SSE, where the link ends with its stream. Otherwise
// it ends only when it is closed: that the server cannot be reached is told by
// each call.
func (l *Link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close aborts what is under way, ends the session (DELETE), bounded in time,
// and releases everything. A second call waits for the first.
func (l *Link) Close(ctx context.Context) error {
	l.once.Do(func() {
		l.mu.Lock()
		l.closed = true
		s := l.session
		if l.events != nil && l.r == nil { // dialled and never started
			l.events.stop()
			_ = l.events.resp.Body.Close()
			l.events.rd.Release()
		}
		for x := range l.calls {
			x.cancel()
		}
		l.mu.Unlock()
		l.cancel()
		go func() {
			l.work.Wait()
			if s.id != "" {
				l.endSession(s)
			}
			if l.own != nil {
				l.own.CloseIdleConnections()
			}
			l.endOnce.Do(func() {
				if l.r != nil {
					l.r.Closed(nil)
				}
			})
			close(l.done)
		}()
	})
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin registers work of the link's own. It is false when the link is closed.
func (l *Link) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.work.Add(1)
	return true
}

// NoticeKind says what a link noticed.
type NoticeKind uint8

// The kinds of notices. Each is counted in Status.
const (
	StreamOpened    NoticeKind = iota // the GET stream is open
	StreamLost                        // it ended, and will be opened again
	StreamGivenUp                     // the server has none, or will not give it
	SessionLost                       // the server has forgotten the session; a new one was begun, which gets the log level and the subscriptions of the old one; all else that it held is gone, and what changed meanwhile was not told
	CallResumed                       // the stream of a call broke and was taken up again
	CallReissued                      // a call that may be made twice was made again, with a new id
	ToolsRefreshed                    // the server refused the headers of a call, so the tools were listed again
	ToolDropped                       // a tool breaks the rules for its headers and was left out of a list
	WrongAnswer                       // an answer that does not belong to its stream was dropped
	ProxySuspected                    // something on the way holds back events
	EventIDUnusable                   // a stream ended behind an event whose id cannot be sent back, so it is not taken up behind it
	NotRestored                       // a new session did not take the log level or a subscription of the lost one
	noticeKinds
)

var noticeNames = [noticeKinds]string{
	"stream opened", "stream lost", "stream given up", "session lost", "call resumed", "call reissued", "tools refreshed", "tool dropped",
	"wrong answer", "proxy suspected", "event id unusable", "not restored",
}

// String is the kind in words.
func (k NoticeKind) String() string {
	if k < noticeKinds {
		return noticeNames[k]
	}
	return fmt.Sprintf("NoticeKind(%d)", uint8(k))
}

// Notice is something that a link noticed.
type Notice struct {
	Kind   NoticeKind
	Method string // of the call, where it is about one
	Err    error  // why, may be nil
}

func (l *Link) notice(n Notice) {
	l.counts[n.Kind].Add(1)
	l.log.Debug("endpoint", "notice", n.Kind.String(), "method", n.Method, "err", n.Err)
	for _, f := range l.notices {
		if f != nil {
			l.tell(f, n)
		}
	}
}

func (l *Link) tell(f func(Notice), n Notice) {
	defer func() {
		if v := recover(); v != nil {
			l.log.Error("notice listener panicked", "panic", v)
		}
	}()
	f(n)
}
