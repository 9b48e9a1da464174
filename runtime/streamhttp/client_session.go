package streamhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/sse"
	"github.com/goldwire/goldwire/runtime/wire"
)

const (
	methodInitialized = "notifications/initialized"
	methodCancelled   = "notifications/cancelled"
	methodSetLevel    = "logging/setLevel"
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"

	firstReopen = 500 * time.Millisecond
	maxReopen   = 30 * time.Second
	// steady is how long the GET stream has to last for its next loss to
	// count as the first one.
	steady = 10 * time.Second
	// sessionLasts is how long a session has to last not to be lost early, and
	// maxEarly how many in a row that were the GET stream begins anew.
	sessionLasts = 30 * time.Second
	maxEarly     = 5
)

// pendSession remembers the session that an answer to initialize begins. The
// id comes in the header of the response with the result and nowhere else
// (basic/transports, session management).
func (l *Link) pendSession(x *flight, request []byte, header []string) {
	version, ok := wire.Raw(x.answer).Get("result").Get("protocolVersion").Str()
	if !ok {
		return
	}
	rules := revision.Like(version, false)
	if rules.HTTP.TwoEndpoints {
		// That revision knows nothing of this transport; a server that speaks
		// it here does as the first one that does.
		rules, _ = revision.For(revision.V20250326)
	}
	s := session{version: version, rules: rules, initialize: bytes.Clone(request)}
	if len(header) > 0 && rules.HTTP.Sessions {
		if validSessionID(header[0]) {
			s.id = header[0]
		} else {
			l.log.Warn("the server's session id is not visible ASCII and is not used")
		}
	}
	s.header = s.headers()
	l.mu.Lock()
	defer l.mu.Unlock()
	s.epoch, s.began = l.session.epoch+1, time.Now()
	s.initialized = l.session.initialized
	if x.w != nil { // not one that replaces a lost one
		s.initialized = nil
		l.kept = kept{}
	} else if old := &l.session; old.early(s.began) {
		s.lost = old.lost + 1
	}
	l.session = s
}

// early reports whether a session that is lost now did not last.
func (s *session) early(now time.Time) bool { return now.Sub(s.began) < sessionLasts }

// headers are what goes with each request of a session.
func (s *session) headers() http.Header {
	h := http.Header{}
	if s.id != "" {
		h[HeaderSessionID] = []string{s.id}
	}
	if s.rules.HTTP.VersionHeader {
		h[HeaderProtocolVersion] = []string{s.version}
	}
	return h
}

func validSessionID(id string) bool {
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return false
		}
	}
	return id != ""
}

// learnVersion remembers the version of a request that stands alone and got a
// result.
func (l *Link) learnVersion(v string) {
	if known := l.version.Load(); known == nil || *known != v {
		l.version.Store(&v)
	}
}

// standing gives a message that names no version the one that the link has been
// served in without a session, so that the headers say it and the server judges
// what the message lacks by the rules of that version: basic/transports/
// streamable-http (2026-07-28). A session has said its version, and initialize
// begins one.
func (l *Link) standing(o *outgoing) {
	known := l.version.Load()
	if known == nil || o.stated || o.answer || o.method == "" || o.method == methodInitialize {
		return
	}
	l.mu.Lock()
	stateful := l.session.stateful() || l.again != nil || l.events != nil
	l.mu.Unlock()
	if !stateful {
		o.stated, o.version = true, *known
	}
}

// Send posts a message that expects no answer: a notification, or the answer
// to a request of the server. When ctx has ended it is sent in the background,
// if there is room. What cancels a request is not sent where closing the
// request's stream does (2026-07-28).
func (l *Link) Send(ctx context.Context, f jsonrpc.Frame) error {
	hd := readOutgoing(f.Data)
	if hd.method == methodCancelled {
		l.mu.Lock()
		stateful := l.session.stateful()
		l.mu.Unlock()
		if !stateful {
			return nil
		}
	}
	if ctx.Err() == nil {
		if !l.begin() {
			return jsonrpc.ErrClosed
		}
		defer l.work.Done()
		return l.send(ctx, f, &hd)
	}
	select {
	case l.background <- struct{}{}:
	default:
		return context.Cause(ctx)
	}
	if !l.begin() {
		<-l.background
		return jsonrpc.ErrClosed
	}
	f.Data = bytes.Clone(f.Data)
	hd = readOutgoing(f.Data)
	go func() {
		defer l.work.Done()
		defer func() { <-l.background }()
		if err := l.send(context.WithoutCancel(ctx), f, &hd); err != nil && l.ctx.Err() == nil {
			l.log.Debug("message not sent", "method", hd.method, "err", err)
		}
	}()
	return nil
}

// sendTimeout bounds a message that expects no answer, when its sender sets no
// bound.
const sendTimeout = 30 * time.Second

func (l *Link) send(parent context.Context, f jsonrpc.Frame, hd *outgoing) error {
	ctx, cancel := context.WithTimeout(parent, sendTimeout)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	l.mu.Lock()
	events := l.events
	l.mu.Unlock()
	if events != nil {
		return l.postEvent(ctx, events, f, nil)
	}
	for restarted := false; ; restarted = true {
		s, err := l.currentSession(ctx, nil)
		if err != nil {
			return err
		}
		err = l.postMessage(ctx, s, f, hd)
		if err == nil {
			if hd.method == methodInitialized {
				l.ready(s.epoch, f.Data)
			}
			return nil
		}
		if restarted || statusOf(err) != http.StatusNotFound || s.id == "" || hd.method == methodInitialized {
			return err
		}
		if err := l.restart(ctx, s.epoch); err != nil {
			return &SessionError{Err: err}
		}
		if hd.answer || hd.method == methodCancelled {
			return nil // what it was about is gone with the session
		}
	}
}

func (l *Link) postMessage(parent context.Context, s *session, f jsonrpc.Frame, hd *outgoing) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, cancel)
	lasting := false
	defer func() {
		if !lasting {
			stop()
			cancel()
		}
	}()
	h := l.headers(s, f.Header)
	h["Content-Type"] = jsonValue
	h["Accept"] = bothValues
	if l.standing(hd); hd.stated && !s.stateful() {
		h[HeaderProtocolVersion] = []string{EncodeHeaderValue(hd.version)}
		h[HeaderMethod] = []string{EncodeHeaderValue(hd.method)}
	}
	resp, err := l.do(ctx, request{method: http.MethodPost, header: h, data: f.Data})
	if err != nil {
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return l.failure(resp, jsonrpc.ID{})
	}
	if resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent {
		discard(resp) // the status counts, whatever the type says
		return nil
	}
	// Nothing should come here. What does is handed on all the same.
	x := &flight{l: l, method: hd.method}
	switch media(resp) {
	case mediaJSON:
		if data, err := readAll(resp.Body, resp.ContentLength, l.max); err == nil && len(bytes.TrimSpace(data)) > 0 {
			x.deliver(data, true, resp)
		}
	case mediaEvents:
		if lasting = l.begin(); !lasting {
			break
		}
		stop()
		go func() { // it may last, and the sender does not wait for it
			defer l.work.Done()
			defer cancel()
			defer context.AfterFunc(l.ctx, cancel)()
			defer time.AfterFunc(sendTimeout, cancel).Stop()
			src := l.watch(resp.Body, time.Now())
			rd := sse.NewReader(src, l.max)
			l.drain(x, rd, src, resp)
			rd.Release()
			_ = resp.Body.Close()
		}()
		return nil
	}
	_ = resp.Body.Close()
	return nil
}

// ready is called when the handshake is over: the GET stream may be opened
// (not earlier: there are servers that end a session for it).
func (l *Link) ready(epoch int, initialized []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.session.epoch != epoch {
		return
	}
	if l.session.initialized == nil {
		l.session.initialized = bytes.Clone(initialized)
	}
	if l.noStream || l.session.rules == nil || !l.session.rules.HTTP.GetStream {
		return
	}
	if l.streaming != nil {
		l.streaming()
	}
	ctx, cancel := context.WithCancel(l.ctx)
	l.streaming = cancel
	l.stream, l.streamErr = StreamOpening, nil
	l.work.Add(1)
	s := l.session
	go func() {
		defer l.work.Done()
		defer cancel()
		l.listen(ctx, s)
	}()
}

// setStream changes what Status says of the GET stream, unless another session
// has taken it over.
func (l *Link) setStream(epoch int, state StreamState, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session.epoch == epoch {
		l.stream, l.streamErr = state, err
	}
}

// listen keeps the GET stream of a session open. Specification:
// basic/transports, listening for messages from the server.
func (l *Link) listen(ctx context.Context, s session) {
	x := &flight{l: l}
	var rd *sse.Reader
	defer func() {
		if rd != nil {
			rd.Release()
		}
	}()
	lastID, opened := "", false
	for try := 1; ; try++ {
		resp, err := l.get(ctx, &s, lastID)
		if err == nil {
			began := time.Now()
			opened = true
			l.setStream(s.epoch, StreamOpen, nil)
			l.notice(Notice{Kind: StreamOpened})
			src := l.watch(resp.Body, began)
			if rd == nil {
				rd = sse.NewReader(src, l.max)
			} else {
				rd.Reset(src)
			}
			rd.Comment = src.comment
			_, err = l.readUntilAnswer(x, rd, src, resp)
			_ = resp.Body.Close()
			lastID = l.lastEventID(rd, "")
			if time.Since(began) >= steady {
				try = 0
			}
		} else if status := statusOf(err); status != 0 && !transient(err) || errors.As(err, new(*ContentError)) || errors.As(err, new(*RedirectError)) {
			if ctx.Err() != nil {
				return
			}
			switch {
			case status == http.StatusNotFound && s.id != "" && opened:
				// Nobody calls at the moment, but the server's messages
				// would be missed. A server that never gave a stream may just
				// have none, and one that forgets each session at once is
				// left to the calls, which say so.
				if s.early(time.Now()) && s.lost > 0 {
					if s.lost >= maxEarly {
						break
					}
					l.setStream(s.epoch, StreamOpening, err)
					if sleep(ctx, backoff(s.lost, firstReopen, maxReopen)) != nil {
						return
					}
				}
				if l.restart(ctx, s.epoch) == nil || ctx.Err() != nil {
					return // the new session has a stream of its own
				}
			case status == http.StatusBadRequest && lastID != "":
				lastID = "" // it may not know the event any more
				continue
			}
			state := StreamFailed
			if status == http.StatusMethodNotAllowed {
				state, err = StreamRefused, nil
			}
			l.setStream(s.epoch, state, err)
			l.notice(Notice{Kind: StreamGivenUp, Err: err})
			return
		}
		if ctx.Err() != nil {
			return
		}
		if err == io.EOF {
			err = nil
		}
		l.setStream(s.epoch, StreamOpening, err)
		l.notice(Notice{Kind: StreamLost, Err: err})
		wait := backoff(max(try, 1), firstReopen, maxReopen)
		if rd != nil {
			if asked, ok := rd.Retry(); ok {
				wait = max(wait, asked)
			}
		}
		if e, ok := errors.AsType[*StatusError](err); ok {
			wait = max(wait, e.RetryAfter)
		}
		if sleep(ctx, wait) != nil {
			return
		}
	}
}

// restart begins a new session in the place of one that the server has
// forgotten: the same handshake, without an id. Whoever comes meanwhile waits
// for it. Specification: basic/transports, session management.
func (l *Link) restart(ctx context.Context, lost int) error {
	l.mu.Lock()
	if l.session.epoch != lost { // somebody has done it
		l.mu.Unlock()
		return nil
	}
	if l.closed {
		l.mu.Unlock()
		return jsonrpc.ErrClosed
	}
	again := l.again
	if again == nil {
		again = &restart{done: make(chan struct{})}
		l.again = again
		l.work.Add(1)
		old := l.session
		go func() { // it is no caller's own: the caller may give up
			defer l.work.Done()
			ctx, cancel := context.WithTimeout(l.ctx, sendTimeout)
			defer cancel()
			again.err = l.handshake(ctx, old)
			if again.err == nil {
				l.notice(Notice{Kind: SessionLost})
			}
			l.mu.Lock()
			l.again = nil
			epoch := l.session.epoch
			l.mu.Unlock()
			close(again.done)
			if again.err == nil {
				l.restore(epoch)
			}
		}()
	}
	l.mu.Unlock()
	select {
	case <-again.done:
		return again.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// restart is a session being begun again.
type restart struct {
	done chan struct{} // closed when it is there, or failed
	err  error
}

func (l *Link) handshake(ctx context.Context, old session) error {
	result, err := l.ask(ctx, old.initialize, false)
	if err != nil {
		return err
	}
	l.mu.Lock()
	s := l.session
	l.mu.Unlock()
	version, _ := result.Get("protocolVersion").Str()
	if version == old.version && old.initialized != nil {
		hd := readOutgoing(old.initialized)
		err = l.postMessage(ctx, &s, jsonrpc.Frame{Data: old.initialized}, &hd)
	} else if version != old.version {
		err = fmt.Errorf("the server now speaks %q, the session was of %q", clipValue(version), old.version)
	}
	if err != nil { // the next request tries again
		l.mu.Lock()
		l.session = old
		l.mu.Unlock()
		return err
	}
	if old.initialized != nil { // else its caller sends it
		l.ready(s.epoch, old.initialized)
		l.restoreLevel(ctx)
	}
	return nil
}

// kept is what the caller asked of a session and a new one is asked for again.
type kept struct {
	level string              // of the log, "" if it was not set
	uris  map[string]struct{} // of the resources that are subscribed to
	bytes int                 // of the URIs
}

// The bounds of what is kept of a session, which are those of a server of ours.
const (
	maxKeptURIs  = 10_000
	maxKeptBytes = 1 << 20
)

// keptMember is the member of a method's params that a session is to keep, ""
// for a method without.
func keptMember(method string) string {
	switch method {
	case methodSubscribe, methodUnsubscribe:
		return "uri"
	case methodSetLevel:
		return "level"
	}
	return ""
}

// keeps is what a session is to keep of a request, "" for nothing.
func (o *outgoing) keeps() string {
	if o.stated {
		return ""
	}
	return o.about
}

// keep notes what the server granted. What is beyond the bounds is not asked for
// again.
func (l *Link) keep(method, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := &l.kept
	_, has := k.uris[what]
	switch {
	case method == methodSetLevel:
		k.level = what
	case method == methodSubscribe && !has && len(k.uris) < maxKeptURIs && k.bytes+len(what) <= maxKeptBytes:
		if k.uris == nil {
			k.uris = map[string]struct{}{}
		}
		k.uris[what] = struct{}{}
		k.bytes += len(what)
	case method == methodUnsubscribe && has:
		delete(k.uris, what)
		k.bytes -= len(what)
	}
}

// restoreLevel asks a new session for the log level of the lost one.
func (l *Link) restoreLevel(ctx context.Context) {
	l.mu.Lock()
	level := l.kept.level
	l.mu.Unlock()
	if level != "" {
		l.renew(ctx, methodSetLevel, level)
	}
}

// restore subscribes in a new session to what the lost one was subscribed to,
// for as long as that is wanted. Calls go on meanwhile.
func (l *Link) restore(epoch int) {
	l.mu.Lock()
	uris := slices.Sorted(maps.Keys(l.kept.uris))
	l.mu.Unlock()
	state := func(uri string) (wanted, current bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, wanted = l.kept.uris[uri]
		return wanted, !l.closed && l.session.epoch == epoch
	}
	for _, uri := range uris {
		wanted, current := state(uri)
		if !current {
			return
		}
		if !wanted {
			continue
		}
		l.renew(l.ctx, methodSubscribe, uri)
		if wanted, current = state(uri); !wanted && current { // it was given up meanwhile
			l.renew(l.ctx, methodUnsubscribe, uri)
		}
	}
}

// renew makes a request for a new session. One that is lost as well is left to
// the next call.
func (l *Link) renew(ctx context.Context, method, what string) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	params := wire.AppendString([]byte(`{"`+keptMember(method)+`":`), what)
	data := jsonrpc.AppendRequest(nil, l.newID(), method, wire.Raw(append(params, '}')))
	hd := readOutgoing(data)
	_, err := l.askAs(ctx, &flight{l: l, method: method, id: hd.id, keep: true, once: true}, &hd, data)
	if err != nil && l.ctx.Err() == nil {
		l.notice(Notice{Kind: NotRestored, Method: method, Err: fmt.Errorf("%q: %w", clipValue(what), err)})
	}
}

// endSession tells the server that the session is over. A server may refuse
// that (405), and one that does not answer is not waited for.
func (l *Link) endSession(s session) {
	ctx, cancel := context.WithTimeout(context.Background(), l.closeTimeout)
	defer cancel()
	resp, err := l.do(ctx, request{method: http.MethodDelete, header: l.headers(&s, nil)})
	if err == nil {
		discard(resp)
	}
}
