package main

import (
	"context"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20250618"
	"github.com/goldwire/goldwire/runtime/jsonrpc"

	"github.com/goldwire/goldwire/testdata/peers/matrix/script"
)

// The files of the revisions with a handshake differ in their dates only:
// this one is written by hand, go generate writes the others, and a test holds
// that they are the same.

func server20250618() jsonrpc.Binder {
	return mcp.Server{
		Info: mcp.Implementation{Name: "goldwire", Version: "1.0.0"},
		Hub:  &hub,
		ListTools: func(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			var r mcp.ListToolsResult
			for _, name := range script.Tools {
				r.Tools = append(r.Tools, mcp.Tool{Name: name})
			}
			return &r, nil
		},
		CallTool: func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			if p.Name == script.ToolAsk {
				r, err := mcp.Peer(ctx).ListRoots(ctx, nil)
				if err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: r.Roots[0].URI}}}, nil
			}
			text, err := run(ctx, p.Name)
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: text}}}, nil
		},
		ListResources: func(context.Context, *mcp.ListResourcesParams) (*mcp.ListResourcesResult, error) {
			return &mcp.ListResourcesResult{Resources: []mcp.Resource{{URI: script.NoteURI, Name: "note"}}}, nil
		},
		ReadResource: func(context.Context, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: script.NoteURI, Text: script.NoteText}}}, nil
		},
		Subscribe:   jsonrpc.AllowNil(func(context.Context, *mcp.SubscribeParams) (*mcp.EmptyResult, error) { return nil, nil }),
		Unsubscribe: jsonrpc.AllowNil(func(context.Context, *mcp.UnsubscribeParams) (*mcp.EmptyResult, error) { return nil, nil }),
	}
}

func client20250618(updated func(uri string)) mcp.Client {
	return mcp.Client{
		Info: mcp.Implementation{Name: "goldwire", Version: "1.0.0"},
		ResourceUpdated: func(_ context.Context, p *mcp.ResourceUpdatedParams) error {
			updated(p.URI)
			return nil
		},
		ListRoots: func(context.Context, *mcp.ListRootsParams) (*mcp.ListRootsResult, error) {
			return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: script.RootURI}}}, nil
		},
	}
}

// connect20250618 joins a connection, or dials if it is nil.
func connect20250618(ctx context.Context, d jsonrpc.Dialer, conn *jsonrpc.Conn, updated func(uri string)) (*script.Client, error) {
	var s *mcp.RemoteServer
	var err error
	if conn != nil {
		s, err = mcp.Join(ctx, conn, client20250618(updated))
	} else {
		s, err = mcp.Connect(ctx, d, client20250618(updated))
	}
	if err != nil {
		return nil, err
	}
	return &script.Client{
		Revision: s.Revision(),
		ListTools: func(ctx context.Context) (names []string, err error) {
			for tool, err := range s.Tools(ctx, nil) {
				if err != nil {
					return nil, err
				}
				names = append(names, tool.Name)
			}
			return names, nil
		},
		Call: func(ctx context.Context, tool string, f func(float64)) (string, error) {
			r, err := s.CallTool(withProgress(ctx, f), &mcp.CallToolParams{Name: tool})
			if err != nil {
				return "", err
			}
			return r.Content[0].(*mcp.TextContent).Text, nil
		},
		Read: func(ctx context.Context, uri string) (string, error) {
			r, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
			if err != nil {
				return "", err
			}
			return r.Contents[0].(*mcp.TextResourceContents).Text, nil
		},
		Subscribe: func(ctx context.Context, uri string) error {
			_, err := s.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
			return err
		},
		Close: s.Close,
	}, nil
}
