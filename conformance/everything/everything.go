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
	"fmt"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
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

// New is the reference server in the newest revision.
func New() mcp.Server {
	return mcp.Server{
		Info:         mcp.Implementation{Name: Name, Title: new("Goldwire reference server"), Version: Version},
		Instructions: instructions,

		ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourcesSubscribe: true, Logging: true,

		ListTools: func(_ context.Context, p *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			if err := page(p.Cursor); err != nil {
				return nil, err
			}
			return &mcp.ListToolsResult{Tools: toolList, TTLMs: ttlMs, CacheScope: scope}, nil
		},
		CallTool: callTool,

		ListPrompts: func(_ context.Context, p *mcp.ListPromptsParams) (*mcp.ListPromptsResult, error) {
			if err := page(p.Cursor); err != nil {
				return nil, err
			}
			return &mcp.ListPromptsResult{Prompts: promptList, TTLMs: ttlMs, CacheScope: scope}, nil
		},
		GetPrompt: getPrompt,

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
	}
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
