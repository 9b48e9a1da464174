package bridge

import (
	"bytes"
	"sync"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// member is one of the values that are put in a message anew: each names
// something that the two connections of a bridge count for themselves.
type member uint8

const (
	memberNone         member = iota
	memberID                  // id
	memberToken               // progressToken
	memberRequest             // params.requestId
	memberSubscription        // _meta of a subscription's messages
)

const metaSubscription = "io.modelcontextprotocol/subscriptionId"

// spot is where such a value stands.
type spot struct {
	what    member
	at, end int
}

// marks are the spots of a message, in order.
type marks struct {
	data  []byte
	spots []spot
	first [4]spot
}

var decs = sync.Pool{New: func() any { return new(wire.Dec) }}

// mark finds the spots of a valid message. method is the message's, or that of
// the request that it answers.
func mark(data []byte, method string, answer bool) (*marks, error) {
	m := &marks{data: data}
	m.spots = m.first[:0]
	d := decs.Get().(*wire.Dec)
	d.Reset(data, wire.Options{Lenient: true, Alias: true, MaxDepth: wire.HardMaxDepth})
	err := m.walk(d, inEnvelope, method, answer)
	d.Reset(nil, wire.Options{})
	decs.Put(d)
	return m, err
}

// place is an object of a message in which there may be spots.
type place uint8

const (
	elsewhere place = iota
	inEnvelope
	inParams
	inResult
	inMeta
)

// find says what a member of an object is, or that it is an object to look into.
func (p place) find(name []byte, method string, answer bool) (member, place) {
	switch p {
	case inEnvelope:
		switch string(name) {
		case "id":
			return memberID, elsewhere
		case "params":
			if !answer {
				return memberNone, inParams
			}
		case "result": // anything else in it is none of the bridge's business, and it may be large
			if answer && method == methodListen {
				return memberNone, inResult
			}
		}
	case inParams:
		switch {
		case string(name) == "_meta":
			return memberNone, inMeta
		case string(name) == "progressToken" && method == methodProgress:
			return memberToken, elsewhere
		case string(name) == "requestId" && method == methodCancelled:
			return memberRequest, elsewhere
		}
	case inResult:
		if string(name) == "_meta" {
			return memberNone, inMeta
		}
	case inMeta:
		switch {
		case string(name) == "progressToken" && method != methodProgress && !answer:
			return memberToken, elsewhere
		case string(name) == metaSubscription:
			return memberSubscription, elsewhere
		}
	}
	return memberNone, elsewhere
}

// walk reads what comes next. A member that comes twice is noted twice:
// whichever its reader believes has to be the right one.
func (m *marks) walk(d *wire.Dec, p place, method string, answer bool) error {
	if d.Kind() != wire.KindObject {
		_, err := d.Raw()
		return err
	}
	if err := d.ObjBegin(); err != nil {
		return err
	}
	for {
		k, done, err := d.Key()
		if err != nil || done {
			return err
		}
		what, inner := p.find(k, method, answer)
		if inner != elsewhere {
			if err := m.walk(d, inner, method, answer); err != nil {
				return err
			}
			continue
		}
		raw, err := d.Raw()
		if err != nil {
			return err
		}
		if what != memberNone {
			m.spots = append(m.spots, spot{what, d.Pos() - len(raw), d.Pos()})
		}
	}
}

// id reads a member, as its last occurrence has it; zero when it is absent or
// neither a string nor an integer.
func (m *marks) id(what member) (id jsonrpc.ID) {
	for i := len(m.spots) - 1; i >= 0; i-- {
		if s := m.spots[i]; s.what == what {
			if id.UnmarshalJSON(m.data[s.at:s.end]) != nil {
				return jsonrpc.ID{}
			}
			return id
		}
	}
	return id
}

// rewrite appends the message with other values: with says which, and a zero one
// leaves what is there.
func (m *marks) rewrite(b []byte, with func(member) jsonrpc.ID) []byte {
	done := 0
	for _, s := range m.spots {
		id := with(s.what)
		if id.IsZero() {
			continue
		}
		b = append(b, m.data[done:s.at]...)
		b = id.AppendJSON(b)
		done = s.end
	}
	return append(b, m.data[done:]...)
}

// oneLine takes the line ends out of a message in place. They can only be white
// space. That of the line's own framing is the carrier's; a carriage return ends
// a line for readers that are not strict.
func oneLine(b []byte) []byte {
	if bytes.IndexByte(b, '\r') < 0 {
		return b
	}
	for i, c := range b {
		if c == '\r' {
			b[i] = ' '
		}
	}
	return b
}
