package replay

import (
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// class of a message, as far as matching needs it.
type class uint8

const (
	textLine     class = iota // not JSON
	otherValue                // JSON that is no message
	request                   // method and id
	notification              // method, no id
	response                  // neither method: answers one
)

// message is what matching looks at in one JSON value.
type message struct {
	class  class
	method string
	id     string // key of the id; "" when it is absent or null
	wild   bool   // golden: the id or method is a placeholder
	token  string // key of the progress token it names or asks for
	sub    string // key of the subscription it belongs to
	cancel string // key of the request it cancels
}

// Where the volatile values of a message are.
const (
	pathID           = "id"
	pathRequestID    = "params.requestId"
	pathToken        = "params.progressToken"
	pathAskToken     = "params._meta.progressToken"
	pathCaps         = `params._meta["io.modelcontextprotocol/clientCapabilities"]`
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
	pathSubParams    = `params._meta["` + metaSubscription + `"]`
	pathSubResult    = `result._meta["` + metaSubscription + `"]`
)

// volatile are the members of a _meta that say who speaks and not what: a
// transcript that does not have them matches a message that does.
var volatile = map[string]bool{
	"io.modelcontextprotocol/clientInfo": true,
	"io.modelcontextprotocol/serverInfo": true,
	"progressToken":                      true,
	"traceparent":                        true,
	"tracestate":                         true,
	"baggage":                            true,
}

// key makes an id or token comparable: strings by value, numbers by their
// digits as written. It is "" for everything else.
func key(v wire.Raw) string {
	switch v.Kind() {
	case wire.KindString:
		s, _ := v.Str()
		return "s" + s
	case wire.KindNumber:
		return "n" + v.String()
	}
	return ""
}

// look classifies a JSON value. golden says that strings which start with
// '$' are placeholders.
func look(v wire.Raw, golden bool) message {
	if v.Kind() != wire.KindObject {
		return message{class: otherValue}
	}
	placeholder := func(v wire.Raw) bool {
		s, ok := v.Str()
		return golden && ok && len(s) > 1 && s[0] == '$' && s[1] != '$'
	}
	var m message
	id, method := v.Get("id"), v.Get("method")
	m.id = key(id)
	m.wild = placeholder(id)
	m.method, _ = method.Str()
	params := v.Get("params")
	meta := params.Get("_meta")
	switch {
	case method != nil && id != nil:
		m.class = request
		m.token = key(meta.Get("progressToken"))
		if placeholder(method) {
			m.method, m.wild = "", true
		}
	case method != nil:
		m.class = notification
		switch m.method {
		case "notifications/progress":
			m.token = key(params.Get("progressToken"))
		case "notifications/cancelled":
			m.cancel = key(params.Get("requestId"))
		}
		m.sub = key(meta.Get(metaSubscription))
	case id != nil || v.Get("result") != nil || v.Get("error") != nil:
		m.class = response
		m.sub = key(v.Get("result").Get("_meta").Get(metaSubscription))
	default:
		m.class = otherValue
	}
	return m
}

// onlyVolatile reports whether an observed member that the transcript does
// not have may stand: it, or all that it holds, says nothing about behaviour.
// Absent params and empty ones mean the same.
func onlyVolatile(path string, got wire.Raw) bool {
	switch path {
	case "params", "params._meta", "result._meta":
		if got.Kind() != wire.KindObject {
			return false
		}
		for name, v := range got.Members() {
			switch {
			case path == "params" && name == "_meta":
				if !onlyVolatile("params._meta", v) {
					return false
				}
			case path == "params" || !volatile[name]:
				return false
			}
		}
		return true
	}
	for _, base := range []string{"params._meta", "result._meta"} {
		for name := range volatile {
			if path == base+"."+name || path == base+"["+strconv.Quote(name)+"]" {
				return true
			}
		}
	}
	return false
}

// ids maps the ids and tokens of a transcript to those that the peer chose
// in this run. Values that we send are our own and stand for themselves.
type ids struct {
	mine   map[string]bool     // keys of the requests that we sent
	theirs map[string]wire.Raw // transcript key → id of the peer's request
	tokens map[string]wire.Raw // transcript key → progress token the peer chose
	used   map[string]bool     // keys of ids that the peer used

	// chosen are other values that the peer chose for us to send back, as the
	// transcript has them → as they came. Only literal transcripts need it: a
	// golden one binds them by name.
	chosen  map[string]wire.Raw
	literal bool
}

func newIDs() *ids {
	return &ids{mine: map[string]bool{}, theirs: map[string]wire.Raw{}, tokens: map[string]wire.Raw{}, used: map[string]bool{}, chosen: map[string]wire.Raw{}}
}

// chosenAt reports whether the value at a path is one that its sender chose for
// the other side to send back: a cursor, a state, the id of a task.
func chosenAt(path string) bool {
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "requestState", "nextCursor", "cursor", "taskId":
		return true
	}
	return false
}

// sameMoment reports whether two values are points in time as ISO 8601 writes
// them: when something was recorded and when it is played differ.
func sameMoment(a, b wire.Raw) bool {
	for _, v := range []wire.Raw{a, b} {
		s, ok := v.Str()
		if !ok {
			return false
		}
		if _, err := time.Parse(time.RFC3339Nano, s); err != nil {
			return false
		}
	}
	return true
}

// found is what a message tells that matches, or comes in the place of one.
type found struct {
	id, goldenID       wire.Raw
	token, goldenToken wire.Raw
	chosen             map[string]wire.Raw
}

// same compares a volatile value of a line of the peer; it is the Special of
// a match.
func (x *ids) same(m *message, f *found) func(path string, want, got wire.Raw) (bool, bool) {
	return func(path string, want, got wire.Raw) (same, handled bool) {
		usable := got.Kind() == wire.KindString || got.Kind() == wire.KindNumber
		switch {
		case x.literal && chosenAt(path):
			if known, ok := x.chosen[key(want)]; ok {
				return wire.Equal(known, got), true
			}
			if known, ok := f.chosen[key(want)]; ok {
				return wire.Equal(known, got), true
			}
			if f.chosen == nil {
				f.chosen = map[string]wire.Raw{}
			}
			f.chosen[key(want)] = got
			return usable, true
		case x.literal && sameMoment(want, got):
			return true, true
		case path == pathID && m.class == request:
			if known, ok := x.theirs[key(want)]; ok {
				return wire.Equal(known, got) && known.Kind() == got.Kind(), true
			}
			f.id, f.goldenID = got, want
			return usable, true
		case path == pathAskToken && m.class == request:
			if known, ok := x.tokens[key(want)]; ok {
				return wire.Equal(known, got), true
			}
			f.token, f.goldenToken = got, want
			return usable, true
		case path == pathRequestID && m.cancel != "":
			if known, ok := x.theirs[key(want)]; ok {
				return wire.Equal(known, got) && known.Kind() == got.Kind(), true
			}
		}
		return false, false
	}
}

// keep remembers what a message told.
func (x *ids) keep(f *found) {
	if f.goldenID != nil {
		x.theirs[key(f.goldenID)] = f.id.Clone()
	}
	for k, v := range f.chosen {
		x.chosen[k] = v.Clone()
	}
	if f.goldenToken != nil {
		x.tokens[key(f.goldenToken)] = f.token.Clone()
	}
}

// translate maps the volatile values of a line that we send; it is the
// replace of a fill.
func (x *ids) translate(m *message) func(path string, v wire.Raw) wire.Raw {
	return func(path string, v wire.Raw) wire.Raw {
		switch {
		case x.literal && chosenAt(path):
			return x.chosen[key(v)]
		case path == pathID && m.class == response:
			return x.theirs[key(v)]
		case path == pathRequestID && m.cancel != "" && !x.mine[m.cancel]:
			return x.theirs[key(v)]
		case path == pathToken && m.token != "" && m.class == notification:
			return x.tokens[key(v)]
		case (path == pathSubParams || path == pathSubResult) && !x.mine[key(v)]:
			return x.theirs[key(v)]
		}
		return nil
	}
}
