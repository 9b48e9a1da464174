//go:build !goexperiment.jsonv2

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	mcpgotransport "github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
	segmentio "github.com/segmentio/encoding/json"
)

// goSDK takes the steps of v1.8.0. Its server and client read a message with
// jsonrpc.DecodeMessage; a server then reads params with an internal function
// (a check of the depth, then segmentio's decoder on a reader, unmarshalParams
// here), a client reads results with encoding/json. To write, params or result
// are made JSON first and then put into the message.
func goSDK() impl {
	id, err := jsonrpc.MakeID(float64(7654321))
	if err != nil {
		panic(err)
	}
	return impl{
		name: "go-sdk",
		decode: func(m *message) (any, error) {
			msg, err := jsonrpc.DecodeMessage(m.data)
			if err != nil {
				return nil, err
			}
			switch msg := msg.(type) {
			case *jsonrpc.Request:
				var v any = new(gosdk.ProgressNotificationParams)
				if m.kind == call {
					v = new(gosdk.CallToolParamsRaw)
				}
				return v, unmarshalParams(msg.Params, v)
			case *jsonrpc.Response:
				var v any
				switch m.kind {
				case result:
					v = new(gosdk.CallToolResult)
				case tools:
					v = new(gosdk.ListToolsResult)
				default:
					v = new(gosdk.ReadResourceResult)
				}
				return v, json.Unmarshal(msg.Result, v)
			}
			return nil, fmt.Errorf("a %T", msg)
		},
		encode: func(m *message, v any) ([]byte, error) {
			var buf bytes.Buffer
			e := json.NewEncoder(&buf)
			e.SetEscapeHTML(false)
			if err := e.Encode(v); err != nil {
				return nil, err
			}
			raw := bytes.TrimRight(buf.Bytes(), "\n")
			switch m.kind {
			case call:
				return jsonrpc.EncodeMessage(&jsonrpc.Request{ID: id, Method: "tools/call", Params: raw})
			case progress:
				return jsonrpc.EncodeMessage(&jsonrpc.Request{Method: "notifications/progress", Params: raw})
			}
			return jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Result: raw})
		},
	}
}

func unmarshalParams(data []byte, v any) error {
	depth, inside, escaped := 0, false, false
	for _, x := range data {
		switch {
		case escaped:
			escaped = false
		case inside:
			escaped = x == '\\'
			inside = x != '"'
		case x == '"':
			inside = true
		case x == '{', x == '[':
			if depth++; depth > 1000 {
				return fmt.Errorf("nested deeper than 1000")
			}
		case x == '}', x == ']':
			depth--
		}
	}
	d := segmentio.NewDecoder(bytes.NewReader(data))
	d.DontMatchCaseInsensitiveStructFields()
	return d.Decode(v)
}

// mcpGo takes the steps of v1.2.1, each message counted once: its server looks
// at the envelope and then reads the whole message as the request it is; its
// client reads the envelope, then the result with the parser for it.
func mcpGo() impl {
	id := mcpgo.NewRequestId(int64(7654321))
	return impl{
		name: "mcp-go",
		decode: func(m *message) (any, error) {
			switch m.kind {
			case call:
				var head struct {
					JSONRPC string          `json:"jsonrpc"`
					Method  mcpgo.MCPMethod `json:"method"`
					ID      any             `json:"id,omitempty"`
					Result  any             `json:"result,omitempty"`
				}
				if err := json.Unmarshal(m.data, &head); err != nil {
					return nil, err
				}
				v := new(mcpgo.CallToolRequest)
				return v, json.Unmarshal(m.data, v)
			case progress:
				v := new(mcpgo.JSONRPCNotification)
				return v, json.Unmarshal(m.data, v)
			}
			var r mcpgotransport.JSONRPCResponse
			if err := json.Unmarshal(m.data, &r); err != nil {
				return nil, err
			}
			switch m.kind {
			case result:
				return mcpgo.ParseCallToolResult(&r.Result)
			case tools:
				v := new(mcpgo.ListToolsResult)
				return v, json.Unmarshal(r.Result, v)
			}
			v, err := mcpgo.ParseReadResourceResult(&r.Result)
			if err != nil || !m.bytes {
				return v, err
			}
			return mcpGoBlobs(v)
		},
		encode: func(m *message, v any) ([]byte, error) {
			switch v := v.(type) {
			case *mcpgo.CallToolRequest:
				return json.Marshal(mcpgotransport.JSONRPCRequest{JSONRPC: "2.0", ID: id, Method: "tools/call", Params: v.Params})
			case *mcpgo.JSONRPCNotification:
				return json.Marshal(v)
			case *mcpgo.CallToolResult:
				return json.Marshal(mcpgo.NewJSONRPCResultResponse(id, *v))
			case *mcpgo.ListToolsResult:
				return json.Marshal(mcpgo.NewJSONRPCResultResponse(id, *v))
			case *mcpgo.ReadResourceResult:
				return json.Marshal(mcpgo.NewJSONRPCResultResponse(id, *v))
			case *mcpGoBytes:
				return v.encode(id)
			}
			return nil, fmt.Errorf("a %T", v)
		},
	}
}

// mcpGoBytes is a result of which the program has the blobs as bytes; mcp-go
// itself leaves them in base64.
type mcpGoBytes struct {
	result *mcpgo.ReadResourceResult
	bytes  [][]byte
}

func mcpGoBlobs(r *mcpgo.ReadResourceResult) (*mcpGoBytes, error) {
	l := make([][]byte, len(r.Contents))
	for i, c := range r.Contents {
		if c, ok := c.(mcpgo.BlobResourceContents); ok {
			var err error
			if l[i], err = base64.StdEncoding.DecodeString(c.Blob); err != nil {
				return nil, err
			}
		}
	}
	return &mcpGoBytes{r, l}, nil
}

func (b *mcpGoBytes) encode(id mcpgo.RequestId) ([]byte, error) {
	for i, c := range b.result.Contents {
		if c, ok := c.(mcpgo.BlobResourceContents); ok {
			c.Blob = base64.StdEncoding.EncodeToString(b.bytes[i])
			b.result.Contents[i] = c
		}
	}
	return json.Marshal(mcpgo.NewJSONRPCResultResponse(id, *b.result))
}
