package streamhttp

import (
	"sync"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// outgoing is what the transport has to know of a message of ours. The texts
// are copies; args aliases the message.
type outgoing struct {
	id      jsonrpc.ID
	method  string
	answer  bool   // a result or an error
	stated  bool   // _meta names a version: the request stands alone
	version string // that version
	name    string // what Mcp-Name repeats
	named   bool   // there is one
	about   string // the resource or the level that a session is to keep
	cursor  string // of the page of a list
	paged   bool   // there is one
	args    wire.Raw
}

var peekers = sync.Pool{New: func() any { return new(wire.Dec) }}

// readOutgoing looks at a message of ours. What cannot be read is left for the
// server to refuse.
func readOutgoing(data []byte) (o outgoing) {
	d := peekers.Get().(*wire.Dec)
	d.Reset(data, wire.Options{MaxDepth: wire.HardMaxDepth})
	_ = o.read(d)
	d.Reset(nil, wire.Options{})
	peekers.Put(d)
	return o
}

func (o *outgoing) read(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	for {
		k, done, err := d.Key()
		if err != nil || done {
			return err
		}
		switch string(k) {
		case "id":
			err = o.id.DecodeJSON(d)
		case "method":
			o.method, err = d.Str()
		case "params":
			if d.Kind() == wire.KindObject {
				err = o.readParams(d)
			} else {
				_, err = d.Raw()
			}
		case "result", "error":
			o.answer = true
			_, err = d.Raw()
		default:
			_, err = d.Raw()
		}
		if err != nil {
			return err
		}
	}
}

func (o *outgoing) readParams(d *wire.Dec) error {
	member, about := nameMember(o.method), keptMember(o.method) // the method came first in what we write
	if err := d.ObjBegin(); err != nil {
		return err
	}
	for {
		k, done, err := d.Key()
		if err != nil || done {
			return err
		}
		switch {
		case string(k) == "_meta" && d.Kind() == wire.KindObject:
			err = o.readMeta(d)
		case string(k) == member && d.Kind() == wire.KindString:
			o.named = true
			o.name, err = d.Str()
		case string(k) == about && d.Kind() == wire.KindString:
			o.about, err = d.Str()
		case string(k) == "cursor" && d.Kind() == wire.KindString:
			o.paged = true
			o.cursor, err = d.Str()
		case string(k) == "arguments":
			o.args, err = d.Raw()
		default:
			_, err = d.Raw()
		}
		if err != nil {
			return err
		}
	}
}

func (o *outgoing) readMeta(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	for {
		k, done, err := d.Key()
		if err != nil || done {
			return err
		}
		if string(k) == metaVersion && d.Kind() == wire.KindString {
			o.stated = true
			o.version, err = d.Str()
		} else {
			_, err = d.Raw()
		}
		if err != nil {
			return err
		}
	}
}

// peeked is what the start of a message says of it.
type peeked struct {
	id     jsonrpc.ID
	noID   bool // null or absent
	answer bool // a result or an error
	failed bool // an error
}

// peek reads a message as far as needed to know what it is.
func peek(data []byte) (p peeked) {
	d := peekers.Get().(*wire.Dec)
	d.Reset(data, wire.Options{Lenient: true, MaxDepth: wire.HardMaxDepth})
	p.read(d)
	d.Reset(nil, wire.Options{})
	peekers.Put(d)
	return p
}

func (p *peeked) read(d *wire.Dec) {
	if d.ObjBegin() != nil {
		return
	}
	seen := false
	for {
		k, done, err := d.Key()
		if err != nil {
			return
		}
		if done {
			p.noID = p.id.IsZero()
			return
		}
		switch string(k) {
		case "method":
			*p = peeked{}
			return
		case "id":
			seen = true
			if d.Null() {
				p.noID = true
			} else {
				err = p.id.DecodeJSON(d)
			}
		case "result", "error":
			p.answer, p.failed = true, string(k) == "error"
			if seen {
				return
			}
			_, err = d.Raw()
		default:
			_, err = d.Raw()
		}
		if err != nil {
			return
		}
	}
}
