package main

import (
	"bytes"
	"encoding/json"

	goccy "github.com/goccy/go-json"
)

// What somebody declares who uses a JSON library without an SDK. Zero values
// are left out when writing, unions are one struct, and what is not named is
// lost.

type plainEnvelope struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitzero"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitzero"`
	Result  json.RawMessage `json:"result,omitzero"`
	Error   json.RawMessage `json:"error,omitzero"`
}

type plainRequest[P any] struct {
	JSONRPC string `json:"jsonrpc"`
	ID      int64  `json:"id"`
	Method  string `json:"method"`
	Params  P      `json:"params"`
}

type plainNotification[P any] struct {
	JSONRPC string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  P      `json:"params"`
}

type plainAnswer[R any] struct {
	JSONRPC string `json:"jsonrpc"`
	ID      int64  `json:"id"`
	Result  R      `json:"result"`
}

type plainCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitzero"`
	Meta      json.RawMessage `json:"_meta,omitzero"`
}

type plainProgress struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress float64         `json:"progress"`
	Total    float64         `json:"total,omitzero"`
	Message  string          `json:"message,omitempty"`
}

type plainContent struct {
	Type        string          `json:"type"`
	Text        string          `json:"text,omitempty"`
	MIMEType    string          `json:"mimeType,omitempty"`
	Data        string          `json:"data,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitzero"`
	Meta        json.RawMessage `json:"_meta,omitzero"`
}

type plainResult struct {
	Content    []plainContent  `json:"content"`
	Structured json.RawMessage `json:"structuredContent,omitzero"`
	IsError    bool            `json:"isError,omitzero"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

type plainTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitzero"`
	Annotations  *plainHints     `json:"annotations,omitzero"`
	Meta         json.RawMessage `json:"_meta,omitzero"`
}

type plainHints struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    bool   `json:"readOnlyHint,omitzero"`
	Idempotent  bool   `json:"idempotentHint,omitzero"`
	Destructive *bool  `json:"destructiveHint,omitzero"`
	OpenWorld   *bool  `json:"openWorldHint,omitzero"`
}

type plainTools struct {
	Tools      []plainTool `json:"tools"`
	NextCursor string      `json:"nextCursor,omitempty"`
}

type plainRead[B any] struct {
	Contents []plainContents[B] `json:"contents"`
}

// plainContents has a blob as a string or as []byte.
type plainContents[B any] struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     B      `json:"blob,omitzero"`
}

// plain is a library used on these structs: the envelope first, then the params
// or the result of what it turns out to be.
func plain(name string, unmarshal func([]byte, any) error, marshal func(any) ([]byte, error)) impl {
	return impl{
		name: name,
		decode: func(m *message) (any, error) {
			var e plainEnvelope
			if err := unmarshal(m.data, &e); err != nil {
				return nil, err
			}
			var v any
			body := e.Result
			switch m.kind {
			case call:
				v, body = new(plainCall), e.Params
			case progress:
				v, body = new(plainProgress), e.Params
			case result:
				v = new(plainResult)
			case tools:
				v = new(plainTools)
			case read:
				v = new(plainRead[string])
				if m.bytes {
					v = new(plainRead[[]byte])
				}
			}
			return v, unmarshal(body, v)
		},
		encode: func(m *message, v any) ([]byte, error) {
			switch v := v.(type) {
			case *plainCall:
				return marshal(&plainRequest[*plainCall]{"2.0", 7654321, "tools/call", v})
			case *plainProgress:
				return marshal(&plainNotification[*plainProgress]{"2.0", "notifications/progress", v})
			case *plainResult:
				return marshal(&plainAnswer[*plainResult]{"2.0", 7654321, v})
			case *plainTools:
				return marshal(&plainAnswer[*plainTools]{"2.0", 7654321, v})
			case *plainRead[string]:
				return marshal(&plainAnswer[*plainRead[string]]{"2.0", 7654321, v})
			}
			return marshal(&plainAnswer[*plainRead[[]byte]]{"2.0", 7654321, v.(*plainRead[[]byte])})
		},
	}
}

func goccyPlain() impl {
	return plain("goccy", goccy.Unmarshal, func(v any) ([]byte, error) { return goccy.MarshalWithOption(v, goccy.DisableHTMLEscape()) })
}

// goccyOnce reads a message whose type is known before its first byte is looked
// at, which no receiver has, in one pass.
func goccyOnce() impl {
	p := goccyPlain()
	return impl{
		name: "goccy, type known",
		decode: func(m *message) (v any, err error) {
			switch m.kind {
			case call:
				e := plainRequest[*plainCall]{}
				err = goccy.Unmarshal(m.data, &e)
				v = e.Params
			case progress:
				e := plainNotification[*plainProgress]{}
				err = goccy.Unmarshal(m.data, &e)
				v = e.Params
			case result:
				e := plainAnswer[*plainResult]{}
				err = goccy.Unmarshal(m.data, &e)
				v = e.Result
			case tools:
				e := plainAnswer[*plainTools]{}
				err = goccy.Unmarshal(m.data, &e)
				v = e.Result
			case read:
				if m.bytes {
					e := plainAnswer[*plainRead[[]byte]]{}
					err = goccy.Unmarshal(m.data, &e)
					return e.Result, err
				}
				e := plainAnswer[*plainRead[string]]{}
				err = goccy.Unmarshal(m.data, &e)
				v = e.Result
			}
			return v, err
		},
		encode: p.encode,
	}
}

func standard() impl {
	var buf bytes.Buffer
	return plain("encoding/json", json.Unmarshal, func(v any) ([]byte, error) {
		buf.Reset()
		e := json.NewEncoder(&buf)
		e.SetEscapeHTML(false)
		err := e.Encode(v)
		return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
	})
}
