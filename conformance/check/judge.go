package check

import (
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance/validate"
	"github.com/goldwire/goldwire/runtime/wire"
)

// What many checks have in common.

// want says that f keeps the rule, or that it breaks it.
func (c *Case) want(f *Frame, ok bool, expected, observed string) bool {
	if ok {
		c.Saw()
	} else {
		c.Broken(f, expected, observed)
	}
	return ok
}

// each calls fn for every JSON object that the server sent, the members of
// batches included.
func (c *Case) each(fn func(f *Frame)) {
	for _, t := range c.Traces() {
		for f := range t.all() {
			if !f.FromServer {
				continue
			}
			for _, p := range f.parts() {
				switch p.Kind {
				case KindBlank, KindText, KindScalar, KindArray:
				default:
					fn(p)
				}
			}
		}
	}
}

// unknownNotification is the step that sends notifications which mean nothing:
// a server that answers them answers every notification.
const unknownNotification = "notification/unknown"

// Unanswered judges that nothing came back for what a step sent: no response
// without an id. One with an id that no request had is judged for all
// notifications at once; see toNotifications.
func (c *Case) Unanswered(step string) {
	s := c.Step(step)
	if s == nil {
		return
	}
	if step != unknownNotification && c.answersAny() {
		c.Blocked("the server answers notifications of any kind")
		return
	}
	found := false
	for _, f := range s.Got() {
		if f.Kind == KindResponse && noID(f.ID) && !f.Trace.refusal(f) {
			c.Broken(f, "no answer", stray(f))
			found = true
		}
		if f.Kind == KindArray {
			c.Broken(f, "no answer", "an array")
			found = true
		}
	}
	sent := s.Sent()
	switch {
	case found || len(sent) == 0:
	case s.Trace.fenced(sent[len(sent)-1].Index):
		c.Saw()
	default:
		c.Blocked(or(s.Trace.why(), "the session ended"))
	}
}

// answersAny reports whether the server answered notifications that mean
// nothing.
func (c *Case) answersAny() bool {
	return slices.ContainsFunc(c.stepsOf(unknownNotification), func(s *Step) bool {
		return slices.ContainsFunc(s.Got(), func(f *Frame) bool { return f.Kind == KindResponse && noID(f.ID) && !f.Trace.refusal(f) })
	})
}

// noID reports whether a response names no request.
func noID(id wire.Raw) bool { return id == nil || id.Kind() == wire.KindNull }

// stray describes a response that answers no request.
func stray(f *Frame) string {
	what := "a result"
	if f.Failed() {
		what = "an error"
	}
	if noID(f.ID) {
		return what + " without an id"
	}
	return what + " with id " + text(f.ID) + ", which no request had"
}

// Survived judges that the server still worked after every line of a step.
func (c *Case) Survived(step string) {
	s := c.Step(step)
	if s == nil {
		return
	}
	sent := s.Sent()
	if len(sent) == 0 {
		return
	}
	last := sent[len(sent)-1]
	switch {
	case s.Trace.fenced(last.Index):
		c.Saw()
		return
	case s.Trace.noted(noteStalled), s.Trace.cut():
		c.Blocked(s.Trace.lost())
		return
	}
	c.Broken(last, "a server that goes on working", or(s.Trace.lost(), "it answered nothing any more"))
}

// cut reports whether the session ended early for a reason that is no fault of
// the server.
func (t *Trace) cut() bool {
	return t.noted(noteAborted) || t.noted(noteOverdue) || t.noted(noteFull) || t.unstarted() != ""
}

// eachMeta calls fn for every _meta that the server sent in a place where the
// protocol has one: params, results, and the entries and content blocks in
// them.
func (c *Case) eachMeta(fn func(f *Frame, meta wire.Raw)) {
	c.each(func(f *Frame) {
		for _, v := range []wire.Raw{f.Params, f.Result} {
			metas(v, 0, func(m wire.Raw) { fn(f, m) })
		}
	})
}

// places where free JSON of the server's user begins: members in them are not
// the protocol's.
var freeJSON = map[string]bool{
	"inputSchema": true, "outputSchema": true, "requestedSchema": true, "structuredContent": true, "arguments": true, "data": true,
	"experimental": true, "extensions": true, "metadata": true, "input": true, "text": true, "requestState": true,
}

func metas(v wire.Raw, depth int, fn func(wire.Raw)) {
	if depth > 8 {
		return
	}
	switch v.Kind() {
	case wire.KindArray:
		for e := range v.Elems() {
			metas(e, depth+1, fn)
		}
	case wire.KindObject:
		for k, e := range v.Members() {
			switch {
			case k == "_meta":
				fn(e)
			case !freeJSON[k]:
				metas(e, depth+1, fn)
			}
		}
	}
}

func isNotification(method string) bool { return strings.HasPrefix(method, "notifications/") }

// protocol is the validator of the judged revision; a revision without one is
// trouble of the checker.
func (c *Case) protocol() *validate.Protocol {
	p, err := validate.For(c.Revision)
	if err != nil {
		panic(err)
	}
	return p
}

// FitsResult judges a result by the schema of its method. What every result of
// a stateless revision carries is judged elsewhere: here it does not hide the
// rest, and is not told again.
func (c *Case) FitsResult(f *Frame, method string) {
	if f.Trace.NoSchema {
		return
	}
	result := f.Result
	if c.Modern() && result.Kind() == wire.KindObject {
		result = c.mended(result)
	}
	c.fits(f, method, c.protocol().Result(method, result), "a result as "+method+" has it")
}

// mended is a result of a stateless revision with what each of them carries.
func (c *Case) mended(result wire.Raw) wire.Raw {
	meta := result.Get("_meta")
	if info := meta.Get(metaServer); info != nil && c.protocol().Definition("Implementation", info) != nil {
		result = wire.Raw(withMember(result, "_meta", withMember(meta, metaServer, `{"name":"","version":""}`)))
	}
	for _, m := range [][2]string{{"resultType", `"complete"`}, {"ttlMs", "0"}, {"cacheScope", `"private"`}} {
		if result.Get(m[0]) == nil {
			result = wire.Raw(withMember(result, m[0], m[1]))
		}
	}
	return result
}

// FitsMessage judges a request or notification of the server by the schema.
func (c *Case) FitsMessage(f *Frame) {
	if f.Trace.NoSchema {
		return
	}
	c.fits(f, f.Method, c.protocol().Message(f.Method, f.Value), "a message as "+f.Method+" has it")
}

// fits tells what a schema has against a message, or a part of one, but for
// what checks that look more closely at the message tell of.
func (c *Case) fits(f *Frame, method string, err error, expected string) {
	v, broken := err.(*validate.Violation)
	if broken {
		if v = c.ownFault(f, method, v); v == nil {
			c.NotObserved("what is wrong there is told by checks that look more closely")
			return
		}
	}
	switch {
	case broken:
		c.Broken(f, expected, v.Error())
	case err != nil:
		c.NotObserved(err.Error())
	default:
		c.Saw()
	}
}

// Proper is Results for requests that were made the right way: what a server
// makes of wrong ones is not judged by its contents.
func (c *Case) Proper(method string, fn func(req, a *Frame)) {
	c.Results(method, func(req, a *Frame) {
		for _, s := range req.Trace.steps {
			if s.holds(req.Index) && !wrongOnPurpose(s.Name) {
				fn(req, a)
			}
		}
	})
}

// wrongOnPurpose reports whether the requests of a step are.
func wrongOnPurpose(step string) bool {
	return slices.ContainsFunc(improper, func(p string) bool { return strings.HasPrefix(step, p) })
}

// improper begin the names of steps whose requests are wrong on purpose.
var improper = []string{"call-missing/", "call-wrong/", "tools/", "prompts/", "resources/", "undeclared/", "input/wrong-type/", "input/misfit/", "input/tampered/", "input/foreign/", "hostile/"}

// Results calls fn for every result that answers a request for a method, in
// any session of the revision.
func (c *Case) Results(method string, fn func(req, a *Frame)) {
	for _, t := range c.Traces() {
		for req := range t.visit(t.sent) {
			if req.Kind == KindRequest && req.Method == method {
				if a := t.Answer(req); a.OK() {
					fn(req, a)
				}
			}
		}
	}
}
