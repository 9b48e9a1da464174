package mcp_test

import (
	"fmt"
	"log"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20241105"
	"github.com/goldwire/goldwire/runtime/wire"
)

// A union is an interface; a switch over its members needs a default, for what
// this revision does not know.
func ExampleContentBlock() {
	var res mcp.CallToolResult
	text := `{"content":[{"type":"text","text":"High water at 04:12."},{"type":"hologram","frames":2}]}`
	if err := wire.Decode([]byte(text), wire.Options{Lenient: true}, &res); err != nil {
		log.Fatal(err)
	}
	for _, block := range res.Content {
		switch block := block.(type) {
		case *mcp.TextContent:
			fmt.Println(block.Text)
		case *mcp.ImageContent:
			fmt.Println("an image,", block.MIMEType)
		case *mcp.UnknownContentBlock:
			fmt.Println("unknown:", block.Tag)
		default:
			fmt.Printf("not shown: %T\n", block)
		}
	}
	// Output:
	// High water at 04:12.
	// unknown: hologram
}

// An optional member is a pointer: nil is absent, and what is set is written,
// also when it is empty.
func ExampleTool() {
	tool := mcp.Tool{Name: "tides", InputSchema: wire.Raw(`{"type":"object"}`)}
	fmt.Println(string(tool.AppendJSON(nil)))
	tool.Description = new("")
	fmt.Println(string(tool.AppendJSON(nil)))
	// Output:
	// {"name":"tides","inputSchema":{"type":"object"}}
	// {"name":"tides","inputSchema":{"type":"object"},"description":""}
}

// A member that this revision does not know is kept, and is written again.
func ExampleTool_unknownMember() {
	var tool mcp.Tool
	text := `{"name":"tides","inputSchema":{"type":"object"},"x-owner":"harbour"}`
	if err := wire.Decode([]byte(text), wire.Options{}, &tool); err != nil {
		log.Fatal(err)
	}
	owner, _ := tool.Extra.Get("x-owner").Str()
	fmt.Println(owner)
	if err := tool.SetExtra("x-rank", wire.Raw("1")); err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(tool.AppendJSON(nil)))
	// Output:
	// harbour
	// {"name":"tides","inputSchema":{"type":"object"},"x-owner":"harbour","x-rank":1}
}
