// Package everything is the reference server and the reference client. The
// server offers every feature that the checker looks at, in every revision of
// the protocol, and the fixtures that the official conformance suite calls for;
// the golden transcripts and the checker itself are tried on it. The client
// does what the suite's client scenarios ask for.
//
// Both are written once, on the newest revision; package compat makes them
// speak the others.
package everything

//lint:file-ignore SA1019 The reference server offers the features that the revision retires, too.

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// Name is how the reference server introduces itself.
const Name = "goldwire-everything"

// Version is the reference server's version.
const Version = "1.0.0"

const instructions = "A server for testing clients. Its tools do what their names say and keep nothing."

// Lists and contents of the reference server never change by themselves and
// are the same for everyone.
const (
	ttlMs = 60_000
	scope = mcp.CacheScopePublic
)

// Options of the reference server. The zero value works.
type Options struct {
	// Sealer seals what tools remember between the rounds of a call: replicas
	// whose sealers share their keys take up one another's calls. nil makes one
	// of a key of its own.
	Sealer *compat.Sealer
	// Tasks runs the tools that become tasks; nil makes one, whose tasks end with
	// their time at the latest.
	Tasks *compat.Tasks
}

// New is the reference server in the newest revision. At most one Options counts.
func New(o ...Options) mcp.Server {
	var c common
	if len(o) > 0 {
		c = common{o[0].Sealer, o[0].Tasks}
	}
	if c.sealer == nil {
		key := make([]byte, 32)
		_, _ = rand.Read(key)                  // never fails
		c.sealer, _ = compat.NewSealer(0, key) // the key is long enough
	}
	if c.tasks == nil {
		c.tasks = &compat.Tasks{Poll: 500 * time.Millisecond}
	}
	if c.tasks.Hub == nil {
		c.tasks.Hub = &jsonrpc.Hub{}
	}
	return c.tasks.Attach(mcp.Server{
		Hub:          c.tasks.Hub,
		Info:         mcp.Implementation{Name: Name, Title: new("Goldwire reference server"), Version: Version},
		Instructions: instructions,

		ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourcesSubscribe: true, Logging: true,

		ListTools: func(_ context.Context, p *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			if err := page(p.Cursor); err != nil {
				return nil, err
			}
			return &mcp.ListToolsResult{Tools: toolList, TTLMs: ttlMs, CacheScope: scope}, nil
		},
		CallTool: func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			return callTool(ctx, newCall(ctx, &c, p))
		},

		ListPrompts: func(_ context.Context, p *mcp.ListPromptsParams) (*mcp.ListPromptsResult, error) {
			if err := page(p.Cursor); err != nil {
				return nil, err
			}
			return &mcp.ListPromptsResult{Prompts: promptList, TTLMs: ttlMs, CacheScope: scope}, nil
		},
		GetPrompt: func(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			return getPrompt(&round{ctx: ctx, sealer: c.sealer, can: &p.Meta.ClientCapabilities, answers: p.InputResponses, came: p.RequestState}, p)
		},

		ListResources: func(_ context.Context, p *mcp.ListResourcesParams) (*mcp.ListResourcesResult, error) {
			if err := page(p.Cursor); err != nil {
				return nil, err
			}
			return &mcp.ListResourcesResult{Resources: resourceList, TTLMs: ttlMs, CacheScope: scope}, nil
		},
		ListResourceTemplates: func(_ context.Context, p *mcp.ListResourceTemplatesParams) (*mcp.ListResourceTemplatesResult, error) {
			if err := page(p.Cursor); err != nil {
				return nil, err
			}
			return &mcp.ListResourceTemplatesResult{ResourceTemplates: templateList, TTLMs: ttlMs, CacheScope: scope}, nil
		},
		ReadResource: func(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			contents := read(p.URI)
			if contents == nil {
				return nil, noResource(p.URI)
			}
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}, TTLMs: ttlMs, CacheScope: scope}, nil
		},

		Complete: complete,
	})
}

// common is what the calls of one server share.
type common struct {
	sealer *compat.Sealer
	tasks  *compat.Tasks
}

// Server is the reference server in every revision, for one connection or many,
// all of which hear of the same changes.
func Server(o ...Options) jsonrpc.Binder {
	return compat.Server(New(o...))
}

// page refuses every cursor: the lists fit one page, so none was ever issued
// (server/utilities/pagination, error handling).
func page(cursor *string) error {
	if cursor != nil {
		return invalidParams("cursor: not one of ours")
	}
	return nil
}

func invalidParams(format string, a ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, a...)}
}
