package old

import (
	"context"
	"errors"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20251125"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// codeResourceNotFound is what stateful revisions answer for an unknown
// resource (server/resources, error handling).
const codeResourceNotFound = -32002

// Legacy is the reference server in revision 2025-11-25.
func Legacy() mcp.Server {
	return mcp.Server{
		Info:         mcp.Implementation{Name: Name, Title: new("Goldwire reference server"), Version: Version},
		Instructions: instructions,

		ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true,

		ListTools: func(_ context.Context, p *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			if err := page(p.Cursor); err != nil {
				return nil, err
			}
			return &mcp.ListToolsResult{Tools: legacyTools()}, nil
		},
		CallTool: func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			out, err := asResult(callTool(ctx, legacyHost{mcp.Peer(ctx)}, p.Name, p.Arguments))
			var lacks *unsupported
			if errors.As(err, &lacks) {
				out, err = &outcome{text: lacks.Error(), failed: true}, nil
			}
			if err != nil {
				return nil, err
			}
			res := &mcp.CallToolResult{
				Content:           []mcp.ContentBlock{&mcp.TextContent{Text: out.text}},
				StructuredContent: out.structured,
			}
			if out.failed {
				res.IsError = new(true)
			}
			return res, nil
		},

		ListPrompts: func(_ context.Context, p *mcp.ListPromptsParams) (*mcp.ListPromptsResult, error) {
			if err := page(p.Cursor); err != nil {
				return nil, err
			}
			return &mcp.ListPromptsResult{Prompts: []mcp.Prompt{{
				Name: promptName, Title: new(promptTitle), Description: new(promptDescription),
				Arguments: []mcp.PromptArgument{{Name: promptArgument, Description: new("who is greeted"), Required: new(true)}},
			}}}, nil
		},
		GetPrompt: func(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			text, err := greet(p.Name, p.Arguments)
			if err != nil {
				return nil, err
			}
			return &mcp.GetPromptResult{
				Description: new(promptDescription),
				Messages:    []mcp.PromptMessage{{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: text}}},
			}, nil
		},

		ListResources: func(_ context.Context, p *mcp.ListResourcesParams) (*mcp.ListResourcesResult, error) {
			if err := page(p.Cursor); err != nil {
				return nil, err
			}
			res := &mcp.ListResourcesResult{}
			for _, r := range resources {
				res.Resources = append(res.Resources, mcp.Resource{URI: r.uri, Name: r.name, Title: new(r.title), MIMEType: new(r.mime)})
			}
			return res, nil
		},
		ListResourceTemplates: func(_ context.Context, p *mcp.ListResourceTemplatesParams) (*mcp.ListResourceTemplatesResult, error) {
			if err := page(p.Cursor); err != nil {
				return nil, err
			}
			return &mcp.ListResourceTemplatesResult{ResourceTemplates: []mcp.ResourceTemplate{{
				URITemplate: templateURI, Name: templateName, Title: new(templateTitle), MIMEType: new(templateMIME),
			}}}, nil
		},
		ReadResource: func(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			r, ok := read(p.URI)
			if !ok {
				return nil, noResource(codeResourceNotFound, p.URI)
			}
			if r.blob != "" {
				return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.BlobResourceContents{URI: r.uri, MIMEType: new(r.mime), Blob: r.blob}}}, nil
			}
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: r.uri, MIMEType: new(r.mime), Text: r.text}}}, nil
		},
		Subscribe: func(_ context.Context, p *mcp.SubscribeParams) (*mcp.EmptyResult, error) {
			if _, ok := read(p.URI); !ok {
				return nil, noResource(codeResourceNotFound, p.URI)
			}
			return &mcp.EmptyResult{}, nil
		},
		Unsubscribe: func(context.Context, *mcp.UnsubscribeParams) (*mcp.EmptyResult, error) {
			return &mcp.EmptyResult{}, nil
		},

		Complete: func(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
			var kind, ref string
			switch r := p.Ref.(type) {
			case *mcp.PromptReference:
				kind, ref = "ref/prompt", r.Name
			case *mcp.ResourceTemplateReference:
				kind, ref = "ref/resource", r.URI
			default:
				return nil, invalidParams("ref.type: want ref/prompt or ref/resource")
			}
			values, err := complete(kind, ref, p.Argument.Name, p.Argument.Value)
			if err != nil {
				return nil, err
			}
			return &mcp.CompleteResult{Completion: mcp.Completion{Values: values, Total: new(int64(len(values))), HasMore: new(false)}}, nil
		},
		SetLevel: func(_ context.Context, p *mcp.SetLevelParams) (*mcp.EmptyResult, error) {
			if p.Level.Severity() < 0 {
				return nil, invalidParams("level: no level %q", p.Level)
			}
			return &mcp.EmptyResult{}, nil
		},
	}
}

func legacyTools() []mcp.Tool {
	list := make([]mcp.Tool, len(tools))
	for i, t := range tools {
		list[i] = mcp.Tool{
			Name: t.name, Title: new(t.title), Description: new(t.description), InputSchema: t.input, OutputSchema: t.output,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(t.readOnly), IdempotentHint: new(t.idempotent), OpenWorldHint: new(false)},
		}
	}
	return list
}

// legacyHost asks the client in the middle of a call.
type legacyHost struct{ peer mcp.RemoteClient }

func (h legacyHost) progress(ctx context.Context, done, total float64, message string) error {
	return h.peer.Progress(ctx, done, &total, message)
}

func (h legacyHost) log(ctx context.Context, level, message string) error {
	return h.peer.LoggingMessage(ctx, &mcp.LoggingMessageParams{Level: mcp.LoggingLevel(level), Logger: new("everything"), Data: wire.Quote(message)})
}

func (h legacyHost) updated(ctx context.Context, uri string) error {
	return h.peer.ResourceUpdated(ctx, uri)
}

func (h legacyHost) changed(ctx context.Context, list string) error {
	switch list {
	case "tools":
		return h.peer.ToolListChanged(ctx)
	case "prompts":
		return h.peer.PromptListChanged(ctx)
	}
	return h.peer.ResourceListChanged(ctx)
}

// lacking turns the refusal to ask a client that offers nothing into ours.
func lacking(err error, capability string) error {
	if errors.Is(err, jsonrpc.ErrNotAdvertised) {
		return &unsupported{capability}
	}
	return err
}

func (h legacyHost) elicit(ctx context.Context, question string) (action, answer string, err error) {
	res, err := h.peer.Elicit(ctx, &mcp.ElicitFormParams{Message: question, RequestedSchema: mcp.ElicitSchema{
		Properties: map[string]mcp.PrimitiveSchemaDefinition{"answer": &mcp.StringSchema{}}, Required: []string{"answer"},
	}})
	if err != nil {
		return "", "", lacking(err, "elicitation")
	}
	answer, _ = res.Content["answer"].Str()
	return string(res.Action), answer, nil
}

func (h legacyHost) sample(ctx context.Context, prompt string) (string, error) {
	res, err := h.peer.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 100, Messages: []mcp.SamplingMessage{{
		Role: mcp.RoleUser, Content: mcp.NewSamplingContent(&mcp.TextContent{Text: prompt}),
	}}})
	if err != nil {
		return "", lacking(err, "sampling")
	}
	for _, b := range res.Content.Items {
		if t, ok := b.(*mcp.TextContent); ok {
			return t.Text, nil
		}
	}
	return "", nil
}

func (h legacyHost) roots(ctx context.Context) ([]string, error) {
	res, err := h.peer.ListRoots(ctx, nil)
	if err != nil {
		return nil, lacking(err, "roots")
	}
	uris := []string{}
	for _, r := range res.Roots {
		uris = append(uris, r.URI)
	}
	return uris, nil
}
