package main

import (
	"errors"
	"sync"

	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// codec is a generated type.
type codec interface {
	wire.Decoder
	wire.Appender
}

// frame reads a message as the connection of a Goldwire server or client does
// (runtime/jsonrpc): the envelope and what is in it in one pass, params strictly
// and results leniently.
type frame struct {
	id     jsonrpc.ID
	method string
	seen   uint8
	body   codec
}

var decs = sync.Pool{New: func() any { return new(wire.Dec) }}

func (f *frame) decode(b []byte, o wire.Options) error {
	d := decs.Get().(*wire.Dec)
	d.Reset(b, o)
	err := f.read(d)
	if err == nil {
		err = d.End()
	}
	d.Reset(nil, wire.Options{})
	decs.Put(d)
	if err == nil && f.seen&9 != 9 {
		err = errEnvelope
	}
	return err
}

func (f *frame) read(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	for {
		k, done, err := d.Key()
		if err != nil || done {
			return err
		}
		var bit uint8
		switch string(k) {
		case "jsonrpc":
			bit = 1
			err = d.Const("2.0")
		case "id":
			bit = 2
			err = f.id.DecodeJSON(d)
		case "method":
			bit = 4
			f.method, err = d.Str()
		case "params", "result":
			bit = 8
			err = f.body.DecodeJSON(d)
		default:
			_, err = d.Raw()
		}
		if err != nil {
			return err
		}
		if f.seen&bit != 0 {
			return d.Dup()
		}
		f.seen |= bit
	}
}

var errEnvelope = errors.New("not the envelope that was asked for")

// bodyOf is where the params or the result of a message go.
func bodyOf(m *message) codec {
	switch m.kind {
	case call:
		if m.modern {
			return new(modern.CallToolParams)
		}
		return new(legacy.CallToolParams)
	case progress:
		return new(legacy.ProgressParams)
	case result:
		return new(legacy.CallToolResult)
	case tools:
		return new(legacy.ListToolsResult)
	}
	return new(legacy.ReadResourceResult)
}

func onePass(name string, alias bool) impl {
	return impl{
		name: name,
		decode: func(m *message) (any, error) {
			f := frame{body: bodyOf(m)}
			if err := f.decode(m.data, wire.Options{Alias: alias, Lenient: m.kind >= result}); err != nil {
				return nil, err
			}
			return fromBlob(m, f.body)
		},
		encode: appender(),
	}
}

func aliased() impl { return onePass("goldwire, aliased", true) }

func copied() impl { return onePass("goldwire, copied", false) }

// typed reads with the functions of the generated packages that take a message
// of any type, which look at the envelope first. They copy strings.
func typed() impl {
	return impl{
		name: "goldwire, Decode",
		decode: func(m *message) (any, error) {
			f := jsonrpc.Frame{Data: m.data}
			switch m.kind {
			case call:
				if m.modern {
					msg, err := modern.Decode(f)
					if err != nil {
						return nil, err
					}
					return msg.(*modern.CallToolRequest).Params, nil
				}
				msg, err := legacy.Decode(f)
				if err != nil {
					return nil, err
				}
				return msg.(*legacy.CallToolRequest).Params, nil
			case progress:
				msg, err := legacy.Decode(f)
				if err != nil {
					return nil, err
				}
				return msg.(*legacy.ProgressNotification).Params, nil
			case result:
				msg, err := (&legacy.CallToolRequest{}).DecodeResponse(f)
				if err != nil {
					return nil, err
				}
				return msg.(*legacy.CallToolResponse).Result, nil
			case tools:
				msg, err := (&legacy.ListToolsRequest{}).DecodeResponse(f)
				if err != nil {
					return nil, err
				}
				return msg.(*legacy.ListToolsResponse).Result, nil
			}
			msg, err := (&legacy.ReadResourceRequest{}).DecodeResponse(f)
			if err != nil {
				return nil, err
			}
			return fromBlob(m, msg.(*legacy.ReadResourceResponse).Result)
		},
		encode: appender(),
	}
}

// blobs is a result of which the program has the blobs as bytes.
type blobs struct {
	result *legacy.ReadResourceResult
	bytes  [][]byte
}

func fromBlob(m *message, v codec) (any, error) {
	if !m.bytes {
		return v, nil
	}
	r := v.(*legacy.ReadResourceResult)
	l := make([][]byte, len(r.Contents))
	for i, c := range r.Contents {
		if c, ok := c.(*legacy.BlobResourceContents); ok {
			var err error
			if l[i], err = c.Bytes(); err != nil {
				return nil, err
			}
		}
	}
	return &blobs{r, l}, nil
}

func appender() func(m *message, v any) ([]byte, error) {
	id := jsonrpc.NewID(7654321)
	var buf []byte
	return func(m *message, v any) ([]byte, error) {
		switch m.kind {
		case call:
			buf = jsonrpc.AppendRequest(buf[:0], id, legacy.MethodToolsCall, v.(codec))
		case progress:
			buf = jsonrpc.AppendNotification(buf[:0], legacy.MethodNotificationsProgress, v.(codec))
		default:
			if l, ok := v.(*blobs); ok {
				for i, c := range l.result.Contents {
					if c, ok := c.(*legacy.BlobResourceContents); ok {
						c.SetBytes(l.bytes[i])
					}
				}
				v = l.result
			}
			buf = jsonrpc.AppendResult(buf[:0], id, v.(codec))
		}
		return buf, nil
	}
}
