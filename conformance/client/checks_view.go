package client

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Members of _meta by which a stateless request says what an initialize says.
const (
	metaVersion = "io.modelcontextprotocol/protocolVersion"
	metaCaps    = "io.modelcontextprotocol/clientCapabilities"
	metaInfo    = "io.modelcontextprotocol/clientInfo"
	metaTask    = "io.modelcontextprotocol/related-task"
)

// Methods that more than one check looks for.
const (
	initialize  = "initialize"
	initialized = "notifications/initialized"
	discover    = "server/discover"
	cancelled   = "notifications/cancelled"
	progressed  = "notifications/progress"
	listen      = "subscriptions/listen"
	callTool    = "tools/call"
)

// view is a recording as the server saw it, one era of it: a client of both
// eras may try one before it speaks the other, and each is judged by its own
// rules.
type view struct {
	trace *check.Trace
	talks []*talk         // what belongs together, in order
	calls []*exchange     // HTTP requests of the client, in order
	whole []*exchange     // those of both eras, and those that are of none
	lines []*check.Frame  // of both sides and eras, those of other traffic left out
	ways  map[string]bool // paths that messages were sent to

	// What checks look up in the recording, see outline.
	numbered  map[int]*exchange    // those of whole, by number
	eventsOf  map[int][]int        // the events of an exchange
	ends      map[int][]int        // those by which it was over for a request
	resuming  []*exchange          // GET requests with a Last-Event-ID
	endpoints map[string]int       // one more than the event at which a stream named an address
	arrays    map[int]*check.Frame // lines that are arrays, by event
	notes     map[string]bool
	why       string // see Over
	overAt    int
	endAt     int

	flow    func() *authFlow // see flows
	cursors func() map[string][]*talk
	answers func() map[*check.Frame]*check.Frame // of all talks
}

// talk is one conversation of client and server: a process, a session, or, in
// the stateless revisions, all that one run of a client said.
type talk struct {
	view   *view
	lines  []*check.Frame // of both sides, members of batches on their own
	agreed string         // the version that the answer to initialize named, or ""
	open   *check.Frame   // its initialize, nil where there is none
	ready  *check.Frame   // its notifications/initialized

	answers map[*check.Frame]*check.Frame // of the server, by request of the client
	replies map[*check.Frame]*check.Frame // of the client, by request of the server

	sides      [2][]*check.Frame         // of lines, those of the client and of the server
	requestsOf map[string][]*check.Frame // of the client, by method; "" for all
	askedOf    map[string][]*check.Frame // the proper ones of the server, by method

	index  func() *talkIndex
	rounds func() []round
}

// exchange is one HTTP request of the client.
type exchange struct {
	*transcript.Exchange
	view    *view
	message *check.Frame // what it carries, nil for none
	began   time.Duration
	path    string // target without query; of another listener than the main one with its origin
	query   url.Values
}

// own reports whether it went to the server under its own address, and not to
// another listener of the checker.
func (x *exchange) own() bool { return strings.HasPrefix(x.Target, "/") }

// ours reports whether it belongs to the traffic with the server: it carries a
// message, or goes where messages go. One whose body was cut tells nothing, as
// nobody knows what it would have been.
func (x *exchange) ours() bool {
	return x.own() && x.Method != "" && (x.message != nil || x.view.ways[x.path]) && !x.cut()
}

// cut reports whether the client left before its body had ended.
func (x *exchange) cut() bool {
	if m := x.message; m != nil && (m.Value != nil || x.view.trace.Recording.Events[m.Index].Partial) {
		return m.Value == nil
	}
	if length, err := strconv.Atoi(x.Header.Get("content-length")); err == nil {
		return length > len(x.Body)
	}
	return x.message == nil && x.Method == "POST" && x.Status == 0 && (x.Closed || x.Err != "")
}

// at is a frame that points at the first line of the exchange.
func (x *exchange) at() *check.Frame {
	if x.message != nil {
		return x.message
	}
	return point(x.view.trace, x.First)
}

// point is a frame that stands for an event that is no message.
func point(t *check.Trace, index int) *check.Frame {
	return &check.Frame{Index: index, Trace: t, At: t.Recording.Events[index].At}
}

// members are the messages of a batch, or the message alone.
func members(f *check.Frame) []*check.Frame {
	if f.Kind != check.KindArray {
		return []*check.Frame{f}
	}
	const most = 10_000
	var out []*check.Frame
	for v := range f.Value.Elems() {
		if len(out) == most {
			break
		}
		p := &check.Frame{Index: f.Index, Trace: f.Trace, FromServer: f.FromServer, At: f.At, Text: f.Text, Value: v, Kind: check.KindScalar}
		if v.Kind() == wire.KindObject {
			method := v.Get("method")
			p.Method, _ = method.Str()
			p.ID, p.Params, p.Result, p.Error = v.Get("id"), v.Get("params"), v.Get("result"), v.Get("error")
			switch {
			case method != nil && p.ID != nil:
				p.Kind = check.KindRequest
			case method != nil:
				p.Kind = check.KindNotification
			case p.Result != nil || p.Error != nil:
				p.Kind = check.KindResponse
			default:
				p.Kind = check.KindOther
			}
		}
		out = append(out, p)
	}
	return out
}

// stateless reports whether a message of a client is one of the stateless era.
func stateless(f *check.Frame) bool {
	return f.Method == discover || f.Params.Get("_meta").Get(metaVersion) != nil
}

// viewKey is what a view is remembered by.
type viewKey struct {
	modern bool
	frames int
}

// viewOf reads a recording as one of an era. A view is made once for a trace.
func viewOf(t *check.Trace, modern bool) *view {
	return t.Memo(viewKey{modern, len(t.Frames())}, func() any { return newView(t, modern) }).(*view)
}

func newView(t *check.Trace, modern bool) *view {
	v := &view{trace: t, ways: map[string]bool{}}
	rec := t.Recording
	// What goes to other addresses, or to those of authorization, is no message.
	apart := map[int]bool{}
	for x := range rec.Exchanges() {
		path, _, _ := strings.Cut(x.Target, "?")
		if !strings.HasPrefix(x.Target, "/") && x.Target != "" || notMCP(path) {
			apart[x.Number] = true
		}
	}
	for _, f := range t.Frames() {
		if n := rec.Events[f.Index].Exchange; n == 0 || !apart[n] {
			v.lines = append(v.lines, f)
		}
	}
	frames := v.lines
	// The era of each line: that of the client's last request, where it does
	// not tell by itself. An initialize without the metadata of the stateless
	// revisions turns to the other era for good.
	legacyFrom := len(rec.Events)
	for _, f := range frames {
		for _, p := range members(f) {
			if !f.FromServer && p.Method == initialize && !stateless(p) && f.Index < legacyFrom {
				legacyFrom = f.Index
			}
		}
	}
	whole := check.Modern(t.Revision) // what does not tell by itself is of the revision's era
	exchangeOf := func(f *check.Frame) int { return rec.Events[f.Index].Exchange }
	modernExchange := map[int]bool{}
	ids := map[string]bool{} // of requests of the stateless era
	ours := func(f *check.Frame) bool {
		n := exchangeOf(f)
		var is bool
		switch {
		case f.FromServer && n != 0:
			var known bool
			if is, known = modernExchange[n]; !known {
				is = whole && f.Index < legacyFrom
			}
		case f.FromServer:
			is = whole && f.Index < legacyFrom || f.ID != nil && f.Kind == check.KindResponse && ids[idKey(f.ID)]
		default:
			is = whole && f.Index < legacyFrom
			for _, p := range members(f) {
				if stateless(p) {
					is = true
					if p.ID != nil {
						ids[idKey(p.ID)] = true
					}
				} else if p.ID != nil && f.Index >= legacyFrom {
					delete(ids, idKey(p.ID))
				}
			}
			if n != 0 {
				modernExchange[n] = is
			}
		}
		return is == modern
	}
	var kept []*check.Frame
	body := map[int]*check.Frame{}
	for _, f := range frames {
		if ours(f) {
			kept = append(kept, f)
		}
		if n := exchangeOf(f); n != 0 && !f.FromServer {
			body[n] = f
		}
	}
	for x := range rec.Exchanges() {
		e := &exchange{Exchange: x, view: v, message: body[x.Number], began: rec.Events[x.First].At}
		target, query, _ := strings.Cut(x.Target, "?")
		e.path = target
		e.query, _ = url.ParseQuery(query)
		if e.message != nil && !apart[x.Number] {
			v.ways[target] = true
		}
		v.whole = append(v.whole, e)
		is := whole && x.First < legacyFrom
		if m, known := modernExchange[x.Number]; known {
			is = m
		} else if h := x.Header.Get("mcp-protocol-version"); h != "" {
			is = check.Modern(h)
		}
		if is == modern {
			v.calls = append(v.calls, e)
		}
	}
	v.split(kept, modern)
	v.outline()
	v.flow, v.cursors, v.answers = sync.OnceValue(v.newFlow), sync.OnceValue(v.newCursors), sync.OnceValue(v.newAnswers)
	return v
}

// split sorts lines into conversations.
func (v *view) split(frames []*check.Frame, modern bool) {
	rec := v.trace.Recording
	var starts []int
	for i := range rec.Events {
		e := &rec.Events[i]
		if e.Dir == transcript.Note && (e.Kind == transcript.KindStart || e.Kind == transcript.KindNote && strings.HasPrefix(string(e.Data), NoteConnection)) {
			starts = append(starts, i)
		}
	}
	// The session of each exchange, and where handshakes began: what names no
	// session belongs to the last of them.
	sessions := map[int]string{}
	var opened []int
	var named []string // the sessions that they began
	for _, x := range v.whole {
		id := x.Header.Get("mcp-session-id")
		if x.message != nil && !modern {
			for _, p := range members(x.message) {
				if p.Method == initialize {
					id = x.ResponseHeader.Get("mcp-session-id")
					opened, named = append(opened, p.Index), append(named, id)
				}
			}
		}
		sessions[x.Number] = id
	}
	by := map[string]*talk{}
	for _, f := range frames {
		key := ""
		switch n := rec.Events[f.Index].Exchange; {
		case n == 0:
			at, _ := slices.BinarySearch(starts, f.Index)
			key = strconv.Itoa(at)
		case !modern:
			if key = sessions[n]; key == "" {
				at, _ := slices.BinarySearch(opened, f.Index+1)
				if key = "#" + strconv.Itoa(at); at > 0 && named[at-1] != "" {
					key = named[at-1]
				}
			}
		}
		k := by[key]
		if k == nil {
			k = &talk{view: v, answers: map[*check.Frame]*check.Frame{}, replies: map[*check.Frame]*check.Frame{}}
			by[key] = k
			v.talks = append(v.talks, k)
		}
		k.lines = append(k.lines, members(f)...)
	}
	for _, k := range v.talks {
		k.match()
		k.sort()
		k.index, k.rounds = sync.OnceValue(k.newIndex), sync.OnceValue(k.newRounds)
	}
}

// match finds the answer to each request.
func (k *talk) match() {
	rec := k.view.trace.Recording
	type key struct {
		id       string
		server   bool
		exchange int
	}
	open := map[key][]*check.Frame{}
	for _, f := range k.lines {
		n := rec.Events[f.Index].Exchange
		switch {
		case f.Kind == check.KindRequest:
			open[key{idKey(f.ID), f.FromServer, 0}] = append(open[key{idKey(f.ID), f.FromServer, 0}], f)
			if !f.FromServer {
				open[key{idKey(f.ID), false, n}] = append(open[key{idKey(f.ID), false, n}], f)
			}
			if f.Method == initialize && !f.FromServer && k.open == nil {
				k.open = f
			}
			if f.Method == initialized && !f.FromServer && k.ready == nil {
				k.ready = f // with an id, which is judged by itself
			}
		case f.Kind == check.KindResponse && f.ID != nil:
			table := k.answers
			if !f.FromServer {
				table = k.replies
			}
			// The answer that came on the stream of its request goes before.
			for _, at := range []int{n, 0} {
				of := key{idKey(f.ID), !f.FromServer, at}
				reqs := open[of]
				for len(reqs) > 0 && table[reqs[0]] != nil {
					reqs = reqs[1:]
				}
				open[of] = reqs
				if len(reqs) > 0 {
					table[reqs[0]] = f
					break
				}
			}
		case f.Method == initialized && !f.FromServer && k.ready == nil:
			k.ready = f
		}
	}
	if a := k.answers[k.open]; k.open != nil && a != nil {
		k.agreed = str(a.Result.Get("protocolVersion"))
	}
}

// said are the messages of the client, in order.
func (k *talk) said() []*check.Frame { return k.sides[0] }

// sort keeps what checks ask for again and again, so that judging takes time in
// proportion to what was said.
func (k *talk) sort() {
	k.requestsOf, k.askedOf = map[string][]*check.Frame{}, map[string][]*check.Frame{}
	for _, f := range k.lines {
		if f.FromServer {
			k.sides[1] = append(k.sides[1], f)
		} else {
			k.sides[0] = append(k.sides[0], f)
		}
		switch {
		case f.Kind != check.KindRequest:
		case !f.FromServer:
			k.requestsOf[""] = append(k.requestsOf[""], f)
			if f.Method != "" {
				k.requestsOf[f.Method] = append(k.requestsOf[f.Method], f)
			}
		case proper(f):
			k.askedOf[f.Method] = append(k.askedOf[f.Method], f)
		}
	}
}

// requests are those of the client by a method, or all for "".
func (k *talk) requests(method string) []*check.Frame { return slices.Clip(k.requestsOf[method]) }

// asked are the requests of the server by a method; one that is none by its form
// need not be answered.
func (k *talk) asked(method string) []*check.Frame { return slices.Clip(k.askedOf[method]) }

// proper reports whether a message says that it is JSON-RPC 2.0.
func proper(f *check.Frame) bool { return str(f.Value.Get("jsonrpc")) == "2.0" }

// caps are what the client declared in its initialize.
func (k *talk) caps() wire.Raw {
	if k.open == nil {
		return nil
	}
	return k.open.Params.Get("capabilities")
}

// views reads the recordings of the judged revision, those of one script where
// names are given. Without any the check is not observed.
func views(c *check.Case, scripts ...string) []*view {
	tellScripts(c, scripts)
	var out []*view
	for _, t := range c.Traces() {
		if t.Profile == asking {
			continue
		}
		wanted := len(scripts) == 0
		for _, s := range scripts {
			wanted = wanted || t.Profile == s || strings.HasSuffix(s, "-") && strings.HasPrefix(t.Profile, s)
		}
		if wanted {
			out = append(out, viewOf(t, c.Modern()))
		}
	}
	if len(out) == 0 {
		c.NotObserved("no session was recorded that shows it")
	}
	return out
}

// talks are the conversations of the recordings in which the judged revision
// was agreed on, or no other one.
func talks(c *check.Case, scripts ...string) []*talk {
	var out []*talk
	for _, v := range views(c, scripts...) {
		for _, k := range v.talks {
			if k.agreed == "" || k.agreed == c.Revision {
				out = append(out, k)
			}
		}
	}
	return out
}

// each calls fn for every message of the client.
func each(c *check.Case, fn func(k *talk, f *check.Frame)) {
	for _, k := range talks(c) {
		for _, f := range k.said() {
			if f.Value.Kind() == wire.KindObject {
				fn(k, f)
			}
		}
	}
}

// eachRequest calls fn for every request of the client.
func eachRequest(c *check.Case, fn func(k *talk, f *check.Frame)) {
	each(c, func(k *talk, f *check.Frame) {
		if f.Kind == check.KindRequest && !strings.HasPrefix(f.Method, "notifications/") {
			fn(k, f)
		}
	})
}

// eachCall calls fn for every HTTP request that the client made to the server.
func eachCall(c *check.Case, fn func(x *exchange)) {
	for _, v := range views(c) {
		for _, x := range v.calls {
			if x.ours() {
				fn(x)
			}
		}
	}
}

// want says that the rule was kept, or that it was broken by f.
func want(c *check.Case, f *check.Frame, ok bool, expected, observed string) {
	if ok {
		c.Saw()
	} else {
		c.Broken(f, expected, observed)
	}
}

func idKey(id wire.Raw) string {
	if s, ok := id.Str(); ok {
		return "s" + s
	}
	if n, ok := id.Int(); ok {
		return "n" + strconv.FormatInt(n, 10)
	}
	return "x" + string(id)
}

// looseKey is the same for ids that differ in their JSON type only.
func looseKey(id wire.Raw) string {
	if s, ok := id.Str(); ok {
		return s
	}
	return string(id)
}

func str(v wire.Raw) string {
	s, _ := v.Str()
	return s
}

// show is a value for messages, cut where it is long.
func show(v wire.Raw) string {
	const limit = 120
	switch {
	case v == nil:
		return "nothing"
	case len(v) > limit:
		return string(v[:limit]) + "…"
	}
	return string(v)
}

// headerShown is the value of a header for messages.
func headerShown(h transcript.Header, name string) string {
	vs := h[strings.ToLower(name)]
	switch {
	case len(vs) == 0:
		return "no such header"
	case len(vs) > 1:
		return strconv.Itoa(len(vs)) + " such headers"
	}
	return strconv.Quote(vs[0])
}
