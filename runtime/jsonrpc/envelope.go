package jsonrpc

import (
	"github.com/goldwire/goldwire/runtime/wire"
)

// Envelope is one message with its params or result as they came, for programs
// that look at messages without being a party to them.
type Envelope struct {
	// ID is zero in a notification. In an error whose request could not be
	// read it is zero if it was left out, and NullID if it was null.
	ID ID
	// Method is empty in an answer.
	Method string
	// Params is nil if absent; Result is nil unless the message is a result.
	Params, Result wire.Raw
	// Error is set if the message is an error.
	Error *Error
	// Extra are the members that JSON-RPC does not name, in order.
	Extra wire.Members
}

// IsRequest reports whether the message asks for an answer.
func (e *Envelope) IsRequest() bool { return e.Method != "" && !e.ID.IsZero() }

// IsNotification reports whether the message is a notification.
func (e *Envelope) IsNotification() bool { return e.Method != "" && e.ID.IsZero() }

// IsResponse reports whether the message is an answer.
func (e *Envelope) IsResponse() bool { return e.Method == "" }

// ParseAnswer is ParseEnvelope for the answer to the request with the given id:
// another id is an error, but for one that is left out or null, as in an error
// about a request that could not be read. A zero id takes any answer.
func ParseAnswer(data []byte, id ID) (*Envelope, error) {
	e, err := ParseEnvelope(data)
	switch {
	case err != nil:
		return nil, err
	case !e.IsResponse():
		return nil, &wire.Error{Kind: wire.ErrValue, Path: "method", Msg: "not an answer"}
	case !id.IsZero() && !e.ID.IsZero() && e.ID != NullID && e.ID != id:
		return nil, &wire.Error{Kind: wire.ErrValue, Path: "id", Msg: "want " + id.String() + ", got " + e.ID.String()}
	}
	return e, nil
}

// ParseEnvelope reads one message (not a batch). It is strict about the
// envelope: jsonrpc is "2.0", a request or notification has a method and
// neither result nor error, an answer has exactly one of the two; params and
// result are objects; no member comes twice. Raw parts alias data. Errors are
// of type *wire.Error.
func ParseEnvelope(data []byte) (*Envelope, error) {
	e := &Envelope{}
	return e, wire.Decode(data, wire.Options{}, e)
}

// DecodeJSON reads a message, as ParseEnvelope does.
func (e *Envelope) DecodeJSON(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	var seen members
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			break
		}
		var bit members
		switch string(k) {
		case "jsonrpc":
			bit = hasVersion
			err = d.Const("2.0")
		case "id":
			bit = hasID
			if d.Null() {
				seen |= idNull
				e.ID = NullID
			} else {
				err = e.ID.DecodeJSON(d)
			}
		case "method":
			bit = hasMethod
			e.Method, err = d.Str()
		case "params":
			bit = hasParams
			e.Params, err = d.RawObject()
		case "result":
			bit = hasResult
			e.Result, err = d.RawObject()
		case "error":
			bit = hasError
			e.Error = &Error{Remote: true}
			err = e.Error.DecodeJSON(d)
		default:
			err = e.Extra.Take(d, k)
		}
		if err != nil {
			return err
		}
		if seen&bit != 0 {
			return d.Dup()
		}
		seen |= bit
	}
	if msg := badEnvelope(seen, e.Method); msg != "" {
		return &wire.Error{Kind: wire.ErrValue, Msg: msg, Offset: int64(d.Pos())}
	}
	return nil
}

// idNull marks an id that is null, which only an error may have.
const idNull members = 1 << 7

// badEnvelope says what is wrong with a message that has these members.
func badEnvelope(seen members, method string) string {
	switch {
	case seen&hasVersion == 0:
		return "jsonrpc is missing"
	case seen&hasMethod != 0 && method == "":
		return "method is empty"
	case seen&hasMethod != 0 && seen&(hasResult|hasError) != 0:
		return "a message has a method or an answer, not both"
	case seen&hasMethod != 0 && seen&idNull != 0:
		return "the id of a request is not null"
	case seen&hasMethod != 0:
		return ""
	case seen&hasParams != 0:
		return "params without a method"
	case seen&(hasResult|hasError) == 0:
		return "neither method nor result nor error"
	case seen&(hasResult|hasError) == hasResult|hasError:
		return "a message has a result or an error, not both"
	case seen&hasResult != 0 && (seen&hasID == 0 || seen&idNull != 0):
		return "a result has an id"
	}
	return ""
}

// AppendRequest appends a whole request; nil params are left out.
func AppendRequest(b []byte, id ID, method string, params wire.Appender) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = id.AppendJSON(b)
	b = append(b, `,"method":`...)
	b = wire.AppendString(b, method)
	if params != nil {
		b = append(b, `,"params":`...)
		b = params.AppendJSON(b)
	}
	return append(b, '}')
}

// AppendNotification appends a whole notification; nil params are left out.
func AppendNotification(b []byte, method string, params wire.Appender) []byte {
	b = append(b, `{"jsonrpc":"2.0","method":`...)
	b = wire.AppendString(b, method)
	if params != nil {
		b = append(b, `,"params":`...)
		b = params.AppendJSON(b)
	}
	return append(b, '}')
}

// AppendResult appends a whole answer with a result.
func AppendResult(b []byte, id ID, result wire.Appender) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = id.AppendJSON(b)
	b = append(b, `,"result":`...)
	b = result.AppendJSON(b)
	return append(b, '}')
}

// AppendError appends a whole answer with an error. A zero id is null, or left
// out if absent is set.
func AppendError(b []byte, id ID, absent bool, e *Error) []byte {
	b = append(b, `{"jsonrpc":"2.0"`...)
	if !id.IsZero() || !absent {
		b = append(b, `,"id":`...)
		b = id.AppendJSON(b)
	}
	b = append(b, `,"error":`...)
	b = e.AppendJSON(b)
	return append(b, '}')
}

// AppendExtra adds members to the message that b ends with, before its closing
// brace. Names that JSON-RPC knows, and those that came before, are left out.
func AppendExtra(b []byte, extra wire.Members) []byte {
	if n := len(b) - 1; len(extra) > 0 && n >= 0 && b[n] == '}' {
		b = append(wire.AppendMembers(b[:n], extra, isMember), '}')
	}
	return b
}

// isMember reports whether JSON-RPC names a member of messages.
func isMember(name string) bool {
	switch name {
	case "jsonrpc", "id", "method", "params", "result", "error":
		return true
	}
	return false
}

// AppendJSON appends the message. A zero id of an error is left out.
func (e *Envelope) AppendJSON(b []byte) []byte {
	switch {
	case e.Error != nil:
		b = AppendError(b, e.ID, true, e.Error)
	case e.Method == "":
		b = AppendResult(b, e.ID, rawObject(e.Result))
	default:
		var params wire.Appender
		if e.Params != nil {
			params = e.Params
		}
		if e.ID.IsZero() {
			b = AppendNotification(b, e.Method, params)
		} else {
			b = AppendRequest(b, e.ID, e.Method, params)
		}
	}
	return AppendExtra(b, e.Extra)
}

// rawObject writes {} for nil.
type rawObject wire.Raw

func (r rawObject) AppendJSON(b []byte) []byte { return wire.AppendRawObject(b, wire.Raw(r)) }

// DecodeParams reads the params of a message strictly. Absent params give nil,
// or an error when they are required.
func DecodeParams[P any, PP interface {
	*P
	wire.Decoder
}](e *Envelope, required bool) (PP, error) {
	if e.Params == nil && !required {
		return nil, nil
	}
	if e.Params == nil {
		return nil, &wire.Error{Kind: wire.ErrMissing, Path: "params", Msg: "missing"}
	}
	p := PP(new(P))
	if err := wire.Decode(e.Params, wire.Options{}, p); err != nil {
		return nil, wire.Under("params", err)
	}
	return p, nil
}

// DecodeResult reads the result of a message; nil if it has none. Unless strict
// it is read as far as it can be, and the problems say what was passed over:
// paths begin with "result", and at most wire.DefaultMaxSkipped are kept.
func DecodeResult[R any, PR interface {
	*R
	wire.Decoder
}](e *Envelope, strict bool) (PR, []wire.Problem, error) {
	if e.Result == nil {
		return nil, nil, nil
	}
	r := PR(new(R))
	problems, err := decodeResult(e.Result, r, wire.Options{Lenient: !strict})
	if err != nil {
		return nil, nil, err
	}
	return r, problems, nil
}
