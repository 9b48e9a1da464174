package everything

//lint:file-ignore SA1019 The reference server offers the features that the revision retires, too.

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Lists and contents of the reference server never change by themselves and
// are the same for everyone.
const (
	ttlMs = 60_000
	scope = mcp.CacheScopePublic
)

// Modern is the reference server in revision 2026-07-28.
func Modern() mcp.Server {
	return mcp.Server{
		Info:         mcp.Implementation{Name: Name, Title: new("Goldwire reference server"), Version: Version},
		Instructions: instructions,

		ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourcesSubscribe: true, Logging: true,

		ListTools: func(_ context.Context, p *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			if err := page(p.Cursor); err != nil {
				return nil, err
			}
			return &mcp.ListToolsResult{Tools: modernTools(), TTLMs: ttlMs, CacheScope: scope}, nil
		},
		CallTool: func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			out, err := asResult(callTool(ctx, modernHost{mcp.Peer(ctx), p}, p.Name, p.Arguments))
			var lacks *unsupported
			if errors.As(err, &lacks) {
				err = missingCapability(lacks.capability)
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
			return &mcp.ListPromptsResult{TTLMs: ttlMs, CacheScope: scope, Prompts: []mcp.Prompt{{
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
			res := &mcp.ListResourcesResult{TTLMs: ttlMs, CacheScope: scope}
			for _, r := range resources {
				res.Resources = append(res.Resources, mcp.Resource{URI: r.uri, Name: r.name, Title: new(r.title), MIMEType: new(r.mime)})
			}
			return res, nil
		},
		ListResourceTemplates: func(_ context.Context, p *mcp.ListResourceTemplatesParams) (*mcp.ListResourceTemplatesResult, error) {
			if err := page(p.Cursor); err != nil {
				return nil, err
			}
			return &mcp.ListResourceTemplatesResult{TTLMs: ttlMs, CacheScope: scope, ResourceTemplates: []mcp.ResourceTemplate{{
				URITemplate: templateURI, Name: templateName, Title: new(templateTitle), MIMEType: new(templateMIME),
			}}}, nil
		},
		ReadResource: func(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			r, ok := read(p.URI)
			if !ok {
				return nil, noResource(jsonrpc.CodeInvalidParams, p.URI)
			}
			res := &mcp.ReadResourceResult{TTLMs: ttlMs, CacheScope: scope}
			if r.blob != "" {
				res.Contents = []mcp.ResourceContents{&mcp.BlobResourceContents{URI: r.uri, MIMEType: new(r.mime), Blob: r.blob}}
			} else {
				res.Contents = []mcp.ResourceContents{&mcp.TextResourceContents{URI: r.uri, MIMEType: new(r.mime), Text: r.text}}
			}
			return res, nil
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
	}
}

func modernTools() []mcp.Tool {
	list := make([]mcp.Tool, len(tools))
	for i, t := range tools {
		list[i] = mcp.Tool{
			Name: t.name, Title: new(t.title), Description: new(t.description), InputSchema: t.input, OutputSchema: t.output,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(t.readOnly), IdempotentHint: new(t.idempotent), OpenWorldHint: new(false)},
		}
	}
	return list
}

// missingCapability is the error for a request that cannot be served without
// a capability that it does not declare (-32021).
func missingCapability(name string) error {
	caps := mcp.ClientCapabilities{}
	empty := wire.Raw("{}")
	switch name {
	case "elicitation":
		caps.Elicitation = &mcp.ClientCapabilitiesElicitation{Form: empty}
	case "sampling":
		caps.Sampling = &mcp.ClientCapabilitiesSampling{}
	case "roots":
		caps.Roots = empty
	}
	return mcp.NewMissingRequiredClientCapabilityError(&mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: caps})
}

// modernHost cannot wait for the client: what it needs comes with a second
// call, and until then the first is answered with what is missing.
type modernHost struct {
	peer mcp.RemoteClient
	call *mcp.CallToolParams
}

func (h modernHost) progress(ctx context.Context, done, total float64, message string) error {
	return h.peer.Progress(ctx, done, &total, message)
}

func (h modernHost) log(ctx context.Context, level, message string) error {
	return h.peer.LoggingMessage(ctx, &mcp.LoggingMessageParams{Level: mcp.LoggingLevel(level), Logger: new("everything"), Data: wire.Quote(message)})
}

func (h modernHost) updated(ctx context.Context, uri string) error {
	return h.peer.ResourceUpdated(ctx, uri)
}

func (h modernHost) changed(ctx context.Context, list string) error {
	switch list {
	case "tools":
		return h.peer.ToolListChanged(ctx)
	case "prompts":
		return h.peer.PromptListChanged(ctx)
	}
	return h.peer.ResourceListChanged(ctx)
}

func (h modernHost) elicit(_ context.Context, question string) (action, answer string, err error) {
	caps := h.call.Meta.ClientCapabilities.Elicitation
	if caps == nil || caps.Form == nil && caps.URL != nil { // {} means forms
		return "", "", &unsupported{"elicitation"}
	}
	in, err := h.input("answer", &mcp.ElicitRequest{Params: &mcp.ElicitFormParams{Message: question, RequestedSchema: mcp.ElicitSchema{
		Properties: map[string]mcp.PrimitiveSchemaDefinition{"answer": &mcp.StringSchema{}}, Required: []string{"answer"},
	}}})
	if err != nil {
		return "", "", err
	}
	res, err := in.Elicit("answer")
	if err != nil {
		return "", "", invalidParams("inputResponses.answer: %s", err)
	}
	answer, _ = res.Content["answer"].Str()
	return string(res.Action), answer, nil
}

func (h modernHost) sample(_ context.Context, prompt string) (string, error) {
	if h.call.Meta.ClientCapabilities.Sampling == nil {
		return "", &unsupported{"sampling"}
	}
	in, err := h.input("sample", &mcp.CreateMessageRequest{Params: mcp.CreateMessageParams{MaxTokens: 100, Messages: []mcp.SamplingMessage{{
		Role: mcp.RoleUser, Content: mcp.NewSamplingContent(&mcp.TextContent{Text: prompt}),
	}}}})
	if err != nil {
		return "", err
	}
	res, err := in.Sampling("sample")
	if err != nil {
		return "", invalidParams("inputResponses.sample: %s", err)
	}
	for _, b := range res.Content.Items {
		if t, ok := b.(*mcp.TextContent); ok {
			return t.Text, nil
		}
	}
	return "", nil
}

func (h modernHost) roots(context.Context) ([]string, error) {
	if h.call.Meta.ClientCapabilities.Roots == nil {
		return nil, &unsupported{"roots"}
	}
	in, err := h.input("roots", &mcp.ListRootsRequest{})
	if err != nil {
		return nil, err
	}
	res, err := in.Roots("roots")
	if err != nil {
		return nil, invalidParams("inputResponses.roots: %s", err)
	}
	uris := []string{}
	for _, r := range res.Roots {
		uris = append(uris, r.URI)
	}
	return uris, nil
}

// input gives the client's answers if the one under key is there, and
// otherwise the error that asks for it. An answer counts only with the state
// that was handed out for this very call; missing answers are asked for again.
func (h modernHost) input(key string, req mcp.InputRequest) (mcp.InputResponses, error) {
	state := seal(h.call.Name, h.call.Arguments)
	if _, ok := h.call.InputResponses[key]; ok {
		if h.call.RequestState == nil || !hmac.Equal([]byte(*h.call.RequestState), []byte(state)) {
			return nil, invalidParams("requestState: not what was given out for this call")
		}
		return h.call.InputResponses, nil
	}
	return nil, mcp.NewInputRequiredError(mcp.InputRequests{key: req}, &state)
}

var sealKey = func() []byte {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	return key
}()

// seal binds a round to its tool and arguments, for the life of the process.
// White space between the tokens of the arguments does not count.
func seal(tool string, arguments wire.Raw) string {
	var compact bytes.Buffer
	_ = json.Compact(&compact, arguments) // they were read before, so they are JSON
	mac := hmac.New(sha256.New, sealKey)
	mac.Write(wire.Quote(tool))
	mac.Write(compact.Bytes())
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
