package mcp_test

import (
	"fmt"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// gateway lets messages through as they came, and looks into the calls of
// tools and their results on the way.
type gateway struct {
	toServer, toClient func(frame []byte)
	open               map[jsonrpc.ID]mcp.Request // that have no answer yet
}

// fromClient takes a frame of the client.
func (g *gateway) fromClient(f jsonrpc.Frame) {
	m, err := mcp.Decode(f)
	if err != nil { // it says where: params.name: want a string, got a number
		g.refuse(f, err)
		return
	}
	switch m := m.(type) {
	case *mcp.CallToolRequest:
		fmt.Println("a call of", m.Params.Name)
	case mcp.Notification:
		fmt.Println("a notification of", m.MessageMethod())
	}
	if q, ok := m.(mcp.Request); ok {
		g.open[q.MessageID()] = q
	}
	g.toServer(f.Data)
}

// refuse answers a frame that is no message of the revision. What is a request all
// the same gets its answer under its id.
func (g *gateway) refuse(f jsonrpc.Frame, why error) {
	env, err := jsonrpc.ParseEnvelope(f.Data)
	switch {
	case err != nil: // whose it is cannot be told
		g.toClient(jsonrpc.AppendError(nil, jsonrpc.ID{}, true, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%w", err)))
	case !env.IsRequest():
		fmt.Println("dropped:", why)
	default:
		g.toClient(jsonrpc.AppendError(nil, env.ID, false, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%w", why)))
	}
}

// fromServer takes a frame of the server.
func (g *gateway) fromServer(f jsonrpc.Frame) {
	m, err := mcp.Decode(f)
	if err != nil {
		fmt.Println("dropped:", err)
		return
	}
	if q := g.open[m.MessageID()]; q != nil && m.MessageMethod() == "" {
		delete(g.open, q.MessageID())
		a, err := q.DecodeResponse(f)
		if err != nil {
			fmt.Println("dropped:", err)
			return
		}
		for _, p := range a.Problems() {
			fmt.Println("problem:", p)
		}
		if r, ok := a.(*mcp.CallToolResponse); ok && r.Result != nil {
			fmt.Println("a result of", len(r.Result.Content), "blocks")
		}
	}
	g.toClient(f.Data)
}

// A gateway reads frames without being a party to them: it goes by their types,
// and passes on the bytes that came. What it writes with AppendJSON instead
// holds everything that came too, members that nobody knows included.
func ExampleDecode_gateway() {
	g := &gateway{
		toServer: func(b []byte) { fmt.Printf("-> %s\n", b) },
		toClient: func(b []byte) { fmt.Printf("<- %s\n", b) },
		open:     map[jsonrpc.ID]mcp.Request{},
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	g.fromClient(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"add",` + meta + `},"hop":1}`)})
	g.fromServer(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","content":[{"type":"text","text":"5"},{"type":"text"}]}}`)})
	g.fromClient(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`)})
	g.fromClient(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":7,` + meta + `}}`)})
	// Output:
	// a call of add
	// -> {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"add","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}},"hop":1}
	// problem: result.content[1].text: missing
	// a result of 1 blocks
	// <- {"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","content":[{"type":"text","text":"5"},{"type":"text"}]}}
	// a notification of notifications/cancelled
	// -> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}
	// <- {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"params.name: want a string, got a number"}}
}
