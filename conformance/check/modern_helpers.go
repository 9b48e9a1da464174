package check

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Names of the metadata that a stateless revision defines.
const (
	metaPrefix   = "io.modelcontextprotocol/"
	metaVersion  = metaPrefix + "protocolVersion"
	metaCaps     = metaPrefix + "clientCapabilities"
	metaClient   = metaPrefix + "clientInfo"
	metaLogLevel = metaPrefix + "logLevel"
	metaServer   = metaPrefix + "serverInfo"
	metaSub      = metaPrefix + "subscriptionId"
)

// Methods that more than one file speaks of.
const (
	methodDiscover  = "server/discover"
	methodListen    = "subscriptions/listen"
	methodAck       = "notifications/subscriptions/acknowledged"
	methodCancelled = "notifications/cancelled"
	methodProgress  = "notifications/progress"
	methodMessage   = "notifications/message"
	methodUpdated   = "notifications/resources/updated"
)

// meta is a member of the metadata of a request, notification or result.
func (f *Frame) meta(name string) wire.Raw {
	if f == nil {
		return nil
	}
	if f.Result != nil {
		return f.Result.Get("_meta").Get(name)
	}
	return f.Params.Get("_meta").Get(name)
}

// caps are the capabilities that a request declares.
func (f *Frame) caps() wire.Raw { return f.meta(metaCaps) }

// is reports whether f is a request of the checker for a method, made so that
// it can be served: with an id and with the metadata that is required.
func (f *Frame) is(method string) bool {
	return f != nil && !f.FromServer && f.Kind == KindRequest && f.Method == method && f.sound()
}

// sound reports whether a request carries the required metadata for the
// revision of its session.
func (f *Frame) sound() bool {
	v, _ := f.meta(metaVersion).Str()
	return v == f.Trace.Revision && f.caps().Kind() == wire.KindObject
}

// served is a request with the result that it got.
type served struct{ req, answer *Frame }

// results are the proper requests for one of these methods, or for any if none
// is given, that were answered by a result, in all sessions. What a server
// makes of a request that it should have refused is judged elsewhere.
func (c *Case) results(methods ...string) []served {
	var out []served
	for _, t := range c.Traces() {
		asked := map[string]*Frame{}
		for f := range t.all() {
			switch {
			case !f.FromServer && f.Kind == KindRequest:
				asked[idKey(f.ID)] = f
			case f.FromServer && f.OK() && f.ID != nil:
				req := asked[idKey(f.ID)]
				if req == nil || !req.sound() {
					continue
				}
				for _, m := range methods {
					if m == req.Method {
						out = append(out, served{req, f})
					}
				}
				if len(methods) == 0 {
					out = append(out, served{req, f})
				}
			}
		}
	}
	return out
}

// flight is what is under way at one point of a session.
type flight struct {
	open map[string]*Frame // requests without an answer, by id
	past map[string]*Frame // the answered ones
	subs map[string]*Frame // open subscriptions
	gone map[string]*Frame // those that were cancelled or answered
}

// follow visits the messages of the server in order, each together with what
// was under way when it came. The recording of a line is made before it is
// sent, so that what the server says about it always follows.
func (t *Trace) follow(visit func(f *Frame, now *flight)) {
	now := &flight{map[string]*Frame{}, map[string]*Frame{}, map[string]*Frame{}, map[string]*Frame{}}
	for f := range t.all() {
		switch {
		case f.FromServer:
			if f.Value.Kind() != wire.KindObject {
				continue
			}
			visit(f, now)
			if f.Kind == KindResponse && f.ID != nil {
				k := idKey(f.ID)
				if req := now.open[k]; req != nil {
					now.past[k] = req
				}
				if sub := now.subs[k]; sub != nil {
					now.gone[k] = sub
				}
				delete(now.open, k)
				delete(now.subs, k)
			}
		case f.Kind == KindRequest && usableID(f.ID):
			k := idKey(f.ID)
			now.open[k] = f
			if f.Method == methodListen {
				now.subs[k] = f
			}
		case f.Kind == KindNotification && f.Method == methodCancelled && f.Param("requestId") != nil:
			k := idKey(f.Param("requestId"))
			if sub := now.subs[k]; sub != nil {
				now.gone[k] = sub
				delete(now.subs, k)
			}
		}
	}
}

// usableID reports whether an id is one that a request may have.
func usableID(id wire.Raw) bool {
	if id.Kind() == wire.KindString {
		return true
	}
	_, ok := id.Int()
	return ok
}

// patience is how long an answer may take that has to come: the full limit
// once, a short one after a wait in vain.
func (s *Session) patience() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.limits.Request
	if s.spent {
		limit = s.limits.Short
	}
	return s.patient(limit)
}

// alive sends a fence without watching what comes after it.
func (s *Session) alive() bool {
	if s.Lost() != "" {
		return false
	}
	limit := max(s.patience(), 2*time.Second)
	return s.fence(limit, limit >= s.limits.Request)
}

// poke sends a line that is no proper request, with a fence behind it, and
// waits for what a server does with it: it answers, with or without an id, or
// it ends. It reports whether the server is alive.
func (s *Session) poke(line string) bool {
	f := s.Line(line)
	if f == nil || !s.alive() {
		return false
	}
	// A fence that overtook the answer is no proof of silence. Of a server
	// that dropped such a line before no more than the grace is expected.
	limit := settleTime
	s.View(func(t *Trace) {
		for _, p := range t.steps[:max(0, len(t.steps)-1)] {
			if strings.HasPrefix(p.Name, "malformed/") && p.reaction() == nil {
				limit = s.limits.Grace
			}
		}
	})
	s.wait(limit, func() bool { return s.reacted(f) })
	return s.Lost() == ""
}

// settle waits for the answers to requests of such a shape that a server may
// well drop them. A fence proves that it is alive, and a short time after it is
// enough for those that it overtook.
func (s *Session) settle(reqs ...*Frame) {
	if !s.alive() {
		return
	}
	s.wait(s.limits.Short, func() bool {
		return !slices.ContainsFunc(reqs, func(f *Frame) bool { return !s.isSettled(f) })
	})
}

// reaction is what a server did with the only line of a step: the answer to
// its id where it has one, or an error without an id, or nil.
func (s *Step) reaction() *Frame {
	sent := s.Sent()
	if len(sent) == 0 {
		return nil
	}
	if usableID(sent[0].ID) {
		if a := s.Trace.Answer(sent[0]); a != nil {
			return a
		}
	}
	for _, f := range s.Got() {
		if f.Index < sent[0].Index {
			continue
		}
		switch {
		case f.Kind == KindResponse && !usableID(f.ID):
			return f
		case f.Kind == KindArray:
			return f
		case f.Kind == KindResponse && s.Trace.Request(f) == nil:
			return f // an id that is none of ours was made up or read from broken text
		}
	}
	return nil
}

// ended reports whether the server ended between the start of a step and the
// answer to a fence that was sent in it.
func (s *Step) ended() (how string, ended bool) {
	how, died := s.Trace.Died()
	if !died {
		return "", false
	}
	for i := s.from; i < len(s.Trace.Recording.Events) && s.holds(i); i++ {
		switch e := &s.Trace.Recording.Events[i]; {
		case e.Dir != transcript.Note:
		case e.Kind == transcript.KindExit, e.Kind == transcript.KindSignal, e.Kind == transcript.KindEOF && string(e.Data) == "<":
			return how, true
		}
	}
	return "", false
}

// sayHow gives the code of an error, "a result" or "nothing".
func sayHow(a *Frame) string {
	switch {
	case a == nil:
		return "nothing"
	case a.Kind == KindArray:
		return "an array"
	case a.OK():
		return "a result"
	}
	return "error code " + text(a.Error.Get("code"))
}

// plain is the text of a string, or "" for anything else.
func plain(r wire.Raw) string {
	s, _ := r.Str()
	return s
}

// sample cuts a list of names for a message.
func sample(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + ", …"
}

// plural gives "1 byte", "2 bytes".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
