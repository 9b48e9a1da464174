package check

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Checks and probes of what HTTP adds to the messages: Streamable HTTP in both
// eras, HTTP+SSE of 2024-11-05, and who is let in.

func httpChecks() []Check {
	all := slices.Concat(
		streamChecks(), postChecks(), originChecks(), exposureChecks(),
		legacyStreamChecks(), legacySessionChecks(),
		modernHTTPChecks(), headerChecks(), paramHeaderChecks(),
		sseChecks(), authChecks(),
	)
	for i := range all {
		if all[i].Transports == nil {
			all[i].Transports = streamable
		}
	}
	return all
}

func httpProbes() []Probe {
	all := slices.Concat(
		postProbes(), originProbes(), exposureProbes(),
		legacyStreamProbes(), legacySessionProbes(),
		modernHTTPProbes(), headerProbes(), paramHeaderProbes(),
		sseProbes(), authProbes(),
	)
	for i, p := range all {
		// What ends a session is no part of the last step.
		if p.Alone {
			all[i].Run = func(d *Driver) {
				p.Run(d)
				d.Step("done")
			}
		}
	}
	return all
}

var (
	streamable = []catalogue.Transport{catalogue.HTTP}
	oldHTTP    = []catalogue.Transport{catalogue.SSE}
	anyHTTP    = []catalogue.Transport{catalogue.HTTP, catalogue.SSE}
)

// exchange gives what is known so far of an exchange that was sent, waiting
// until its request is answered or it is over.
func (d *Driver) exchange(r HTTPRequest) (out *Exchange) {
	if d.http == nil || d.Lost() != "" {
		return nil
	}
	r.Wait = WaitNone
	x := d.Send(r)
	if x == nil {
		return nil
	}
	limit := r.Limit
	if limit <= 0 {
		limit = d.patience()
	}
	n := x.Number
	done := d.wait(limit, func() bool {
		if !d.http.working[n] {
			return true
		}
		now := d.trace.carried[n]
		return now.request != nil && now.request.Kind == KindRequest && slices.ContainsFunc(now.frames, func(f *Frame) bool { return f.Kind == KindResponse })
	})
	if !done && r.Limit <= 0 {
		d.mu.Lock()
		d.spent = true
		d.mu.Unlock()
	}
	d.View(func(t *Trace) { out = t.Exchange(n) })
	return out
}

// post posts a body with some fields instead of the usual ones.
func (d *Driver) post(body string, head ...[2]string) *Exchange {
	return d.exchange(HTTPRequest{Body: body, Header: head})
}

// postWithout posts a body without some of the usual fields.
func (d *Driver) postWithout(body string, names ...string) *Exchange {
	return d.exchange(HTTPRequest{Body: body, Without: names})
}

// peek makes a request without a body and looks at the head of its response,
// and what comes in a moment; then it lets go of it.
func (d *Driver) peek(r HTTPRequest, more time.Duration) {
	if d.http == nil || d.Lost() != "" {
		return
	}
	r.Wait = WaitHead
	if r.Limit <= 0 {
		r.Limit = d.patience()
	}
	x := d.Send(r)
	if x == nil {
		return
	}
	d.Watch(x.Number, WaitEnd, max(more, d.limits.Grace))
	d.CloseExchange(x.Number)
}

// request is the body of a request that a server of the revision answers.
func (d *Driver) request(method, params string) string {
	return RequestText(d.NextID(), method, d.withMeta(params))
}

// cheapBody is the body of a request that costs nothing.
func (d *Driver) cheapBody() string {
	if Modern(d.rev) {
		return d.request(methodDiscover, "")
	}
	if d.noPing {
		return d.request(someLegacyList(d.Facts), "")
	}
	return d.request("ping", "")
}

// someLegacyList is a list that the server has, or ping.
func someLegacyList(f *Facts) string {
	if l := someList(f); l != methodDiscover {
		return l
	}
	return "ping"
}

// Names of headers.
const (
	headOrigin    = "Origin"
	headVersion   = "MCP-Protocol-Version"
	headMethod    = "Mcp-Method"
	headName      = "Mcp-Name"
	headSession   = "Mcp-Session-Id"
	headLast      = "Last-Event-ID"
	headAuth      = "Authorization"
	headType      = "Content-Type"
	headChallenge = "WWW-Authenticate"
)

// stepExchanges are the exchanges of the steps whose names start with prefix.
// Where there are none the check is settled.
func (c *Case) stepExchanges(prefix string) []*Exchange {
	var out []*Exchange
	for _, s := range c.StepsOf(prefix) {
		out = append(out, s.Exchanges()...)
	}
	return out
}

// allExchanges visits every exchange of every session.
func (c *Case) allExchanges(visit func(x *Exchange)) {
	for _, t := range c.Traces() {
		for _, x := range t.Exchanges() {
			visit(x)
		}
	}
}

// requests visits every exchange that posted a request to which something came
// back.
func (c *Case) requests(visit func(x *Exchange)) {
	c.allExchanges(func(x *Exchange) {
		if x.asks() && x.Status != 0 {
			visit(x)
		}
	})
}

// asks reports whether the exchange posted one request to the endpoint.
func (x *Exchange) asks() bool {
	return x.Method == http.MethodPost && x.Request != nil && x.Request.Kind == KindRequest && x.Request.proper() &&
		(x.Trace.Transport != catalogue.HTTP || x.Target == x.Trace.path())
}

// answer is the first response that came in the exchange, nil for none.
func (x *Exchange) answer() *Frame {
	for _, f := range x.Frames {
		if f.Kind == KindResponse {
			return f
		}
	}
	return nil
}

// code is the code of the error that came in the exchange; ok is false where
// none came.
func (x *Exchange) code() (code int64, ok bool) { return x.answer().Code() }

// good reports whether the status says that the request was taken.
func (x *Exchange) good() bool { return x.Status >= 200 && x.Status < 300 }

// refused reports whether the server refused what was sent: by a status of
// error or by a JSON-RPC error.
func (x *Exchange) refused() bool { return x.Status >= 400 || x.answer().Failed() }

// served reports whether the server did what it was asked. An answer that came
// on another stream counts: where it has to come is judged elsewhere.
func (x *Exchange) served() bool {
	return x.good() && (x.answer().OK() || x.answer() == nil && x.Request != nil && x.Trace.Answer(x.Request).OK())
}

// letIn reports whether the server took what was sent.
func (x *Exchange) letIn() bool { return x.good() && !x.answer().Failed() }

// media is the media type of the response, in lower case.
func (x *Exchange) media() string {
	m, _, _ := strings.Cut(x.ResponseHeader.Get(headType), ";")
	return strings.ToLower(strings.TrimSpace(m))
}

// says tells what came back, in a few words.
func (x *Exchange) says() string {
	switch {
	case x == nil:
		return "nothing"
	case x.Status == 0 && x.Err != "":
		return "no response: " + x.Err
	case x.Status == 0:
		return "no response"
	}
	s := "status " + strconv.Itoa(x.Status)
	if a := x.answer(); a != nil {
		s += " and " + sayHow(a)
	}
	return s
}

// head stands for the line with the status of the response, or for the first
// line of the exchange where none came.
func (x *Exchange) head() *Frame {
	at := x.First
	for i := x.First; i <= x.Last; i++ {
		if e := &x.Trace.Recording.Events[i]; e.Exchange == x.Number && e.Kind == transcript.KindStatus {
			at = i
			break
		}
	}
	return &Frame{Index: at, Trace: x.Trace, Exchange: x.Number, FromServer: true}
}

// wrong says that an exchange breaks the rule, unless the server put it off or
// wants other credentials for all of its kind: it says nothing else by that.
func (c *Case) wrong(x *Exchange, expected, observed string) {
	switch {
	case c.putOff(x):
	case !c.Check.ofAuthorization() && x.wantsMore() && !c.letsIn(x):
		c.Blocked("the server wants credentials for this request: " + x.says())
	default:
		c.found(finding{frame: x.head(), expected: expected, observed: observed})
	}
}

// putOff settles a check on a request that the server did not look at, having
// had too many of them, and reports whether it was.
func (c *Case) putOff(x *Exchange) bool {
	if x.Status != http.StatusTooManyRequests {
		return false
	}
	c.Blocked("the server takes no more requests for now: " + x.says())
	return true
}

// wantsMore reports whether a response may ask for other credentials than the
// request gave.
func (x *Exchange) wantsMore() bool {
	return x.Status == http.StatusUnauthorized || x.Status == http.StatusForbidden && (bearer(x) != nil || x.asks() && x.credentials() != "")
}

// letsIn reports whether the server served what is akin to an exchange. A token
// may have run out meanwhile: for a request with one it is the later ones that
// count.
func (c *Case) letsIn(x *Exchange) bool {
	y := c.servedKin(x)
	switch {
	case y == nil || x.credentials() == "":
		return y != nil
	case y.Trace == x.Trace:
		return y.First > x.First
	}
	return slices.Index(c.traces, y.Trace) > slices.Index(c.traces, x.Trace)
}

// servedKin is the last exchange akin to x that was served, nil for none.
func (c *Case) servedKin(x *Exchange) *Exchange {
	if c.served == nil {
		c.served = map[string]*Exchange{}
		for _, t := range c.traces {
			for _, y := range t.Exchanges() {
				if y.letIn() {
					c.served[y.kin()] = y
				}
			}
		}
	}
	return c.served[x.kin()]
}

// kin is the same for exchanges that a server which knows who may do what
// answers alike: they ask for the same by the same credentials.
func (x *Exchange) kin() string {
	out := []string{x.Method, x.Target, x.credentials()}
	if x.Request != nil {
		name, _ := mirrored(x.Request)
		out = append(out, strconv.Itoa(int(x.Request.Kind)), x.Request.Method, name)
	}
	return strings.Join(out, "\n")
}

// credentials are those that a request gave, as far as recordings tell them
// apart; "" for none.
func (x *Exchange) credentials() string {
	var out []string
	for name, values := range x.Header {
		if strings.EqualFold(name, headAuth) || slices.Contains(values, redactedValue) {
			out = append(out, name+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// odd is wrong for a point on which the specification is silent or contradicts
// itself.
func (c *Case) odd(x *Exchange, expected, observed string) {
	c.found(finding{frame: x.head(), expected: expected, observed: observed, mild: true})
}

// right says that an exchange keeps the rule or breaks it.
func (c *Case) right(x *Exchange, ok bool, expected, observed string) {
	if ok {
		c.Saw()
	} else {
		c.wrong(x, expected, observed)
	}
}

// heard reports whether a response came; where none did, or one that puts the
// client off, it is no matter of this check.
func (c *Case) heard(x *Exchange) bool {
	if x.Status == 0 {
		c.NotObserved("the server sent no response to this request")
	}
	return x.Status != 0 && !c.putOff(x)
}

// wellFormed reports whether a body is one JSON-RPC message.
func wellFormed(f *Frame) bool {
	if f == nil || f.Value.Kind() != wire.KindObject {
		return false
	}
	switch f.Kind {
	case KindRequest, KindNotification, KindResponse:
		return true
	}
	return false
}

// endpointOf is the URL of the server in a recording, "" where it is not known.
func endpointOf(t *Trace) string { return t.Recording.Get(FieldEndpoint) }
