package streamhttp

import (
	"bytes"
	"slices"
	"sync"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// The names that decide what a request is.
const (
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
	methodListen     = "subscriptions/listen"
	methodToolsCall  = "tools/call"
	methodToolsList  = "tools/list"

	metaPrefix       = "io.modelcontextprotocol/"
	metaVersion      = metaPrefix + "protocolVersion"
	metaCapabilities = metaPrefix + "clientCapabilities"
)

// head is what the carrier has to know of a message: which era it belongs to,
// and what its headers have to repeat. Strings alias the message.
type head struct {
	batch    bool // an array
	valid    bool // a request, notification or answer; else the connection says what is wrong
	id       jsonrpc.ID
	method   string
	answer   bool // a result or an error
	stated   bool // _meta names a version or capabilities: a stateless request
	complete bool // _meta has all that a stateless request needs
	version  string
	params   wire.Raw
	name     wire.Raw // the params' first member of that name; nil where it was not looked for
	message  []byte   // to look up members of the params in, where params is not set
}

// member is a member of the params.
func (hd *head) member(name string) wire.Raw {
	switch {
	case name == "name" && hd.name != nil:
		return hd.name
	case hd.message == nil:
		return hd.params.Get(name)
	}
	v := paramOf(hd.message, name)
	if name == "name" {
		hd.name = v
	}
	return v
}

// paramOf looks up a member of the params of a valid message, without reading
// what comes after it.
func paramOf(data []byte, name string) (v wire.Raw) {
	d := headDecs.Get().(*wire.Dec)
	d.Reset(data, wire.Options{Alias: true, MaxDepth: wire.HardMaxDepth})
	for _, want := range [...]string{"params", name} {
		v = nil
		if d.ObjBegin() != nil {
			break
		}
		for {
			k, done, err := d.Key()
			if err != nil || done {
				break
			}
			if string(k) == want {
				v = data // found
				break
			}
			if _, err := d.Raw(); err != nil {
				break
			}
		}
		if v == nil {
			break
		}
	}
	if v != nil {
		v, _ = d.Raw()
	}
	d.Reset(nil, wire.Options{})
	headDecs.Put(d)
	return v
}

// request reports whether the message wants an answer.
func (hd *head) request() bool { return hd.valid && !hd.answer && !hd.id.IsZero() }

var headDecs = sync.Pool{New: func() any { return new(wire.Dec) }}

// readHead looks at a message, as strictly as a connection will: the headers of
// what it takes for a request are held against it, and the rest is never
// handled. How deep a message may be nested is left to the connection.
func readHead(data []byte) (hd head) {
	d := headDecs.Get().(*wire.Dec)
	d.Reset(data, wire.Options{Alias: true, MaxDepth: wire.HardMaxDepth})
	if d.Kind() == wire.KindArray {
		hd.batch = true
	} else {
		err := hd.read(d, data)
		if err == nil {
			err = d.End()
		}
		if err != nil {
			if again, ok := readAgain(data); ok {
				hd, err = again, nil
			}
		}
		hd.valid = err == nil && (hd.method != "") != hd.answer
	}
	d.Reset(nil, wire.Options{})
	headDecs.Put(d)
	return hd
}

// readAgain reads what the first pass stumbled over, a name that is no text
// (an escape of half a surrogate pair), as the connection does then: members
// with such names are passed over. ok is false for what the connection refuses.
func readAgain(data []byte) (hd head, ok bool) {
	raw, err := wire.ParseRaw(data)
	if err != nil || raw.Kind() != wire.KindObject {
		return hd, false
	}
	var seen []string
	for name, v := range raw.Members() {
		switch name {
		case "jsonrpc":
			s, _ := v.Str()
			ok = s == "2.0"
		case "id":
			err = wire.Decode(v, wire.Options{}, &hd.id)
		case "method":
			if v.Kind() != wire.KindString {
				return hd, false
			}
			hd.method, _ = v.Str()
		case "params":
			if v.Kind() != wire.KindObject {
				return hd, false
			}
			hd.params = v
			m := v.Get("_meta")
			version, capabilities := m.Get(metaVersion), m.Get(metaCapabilities)
			hd.stated = version != nil || capabilities != nil
			hd.version, hd.complete = version.Str()
			hd.complete = hd.complete && capabilities.Kind() == wire.KindObject
		case "result", "error":
			hd.answer = true
		default:
			continue
		}
		if err != nil || slices.Contains(seen, name) {
			return hd, false
		}
		seen = append(seen, name)
	}
	return hd, ok
}

func (hd *head) read(d *wire.Dec, data []byte) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	for {
		k, done, err := d.Key()
		if err != nil || done {
			return err
		}
		switch string(k) {
		case "jsonrpc":
			err = d.Const("2.0")
		case "id":
			err = hd.id.DecodeJSON(d)
		case "method":
			hd.method, err = d.Str()
		case "params":
			start := d.Pos()
			err = hd.readParams(d)
			hd.params = bytes.TrimLeft(data[start:d.Pos()], " \t\r\n")
		case "result", "error":
			hd.answer = true
			_, err = d.Raw()
		default:
			_, err = d.Raw()
		}
		if err != nil {
			return err
		}
	}
}

func (hd *head) readParams(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	for {
		k, done, err := d.Key()
		if err != nil || done {
			return err
		}
		switch string(k) {
		case "_meta":
			if d.Kind() == wire.KindObject {
				err = hd.readMeta(d)
			} else {
				_, err = d.Raw()
			}
		case "name":
			var v wire.Raw
			if v, err = d.Raw(); hd.name == nil {
				hd.name = v
			}
		default:
			_, err = d.Raw()
		}
		if err != nil {
			return err
		}
	}
}

func (hd *head) readMeta(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	version, capabilities := false, false
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			hd.complete = version && capabilities
			return nil
		}
		switch string(k) {
		case metaVersion:
			hd.stated = true
			if version = d.Kind() == wire.KindString; version {
				hd.version, err = d.Str()
			} else {
				_, err = d.Raw()
			}
		case metaCapabilities:
			hd.stated = true
			capabilities = d.Kind() == wire.KindObject
			_, err = d.Raw()
		default:
			_, err = d.Raw()
		}
		if err != nil {
			return err
		}
	}
}
