package everything

import (
	"context"
	"strings"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
)

const (
	greetPrompt = "greet"
	argsPrompt  = "test_prompt_with_arguments"
)

var promptList = []mcp.Prompt{
	{Name: greetPrompt, Title: new("Greet"), Description: new("Greets someone by name"), Arguments: []mcp.PromptArgument{
		{Name: "name", Description: new("who is greeted"), Required: new(true)},
	}},
	{Name: "test_simple_prompt", Title: new("Simple"), Description: new("One message")},
	{Name: argsPrompt, Title: new("With arguments"), Description: new("One message that repeats its arguments"), Arguments: []mcp.PromptArgument{
		{Name: "arg1", Description: new("any text"), Required: new(true)},
		{Name: "arg2", Description: new("any text"), Required: new(true)},
	}},
	{Name: "test_prompt_with_embedded_resource", Title: new("With a resource"), Description: new("A message that holds a resource"), Arguments: []mcp.PromptArgument{
		{Name: "resourceUri", Description: new("the URI of the resource"), Required: new(true)},
	}},
	{Name: "test_prompt_with_image", Title: new("With a picture"), Description: new("A message that holds a picture")},
	{Name: "test_input_required_result_prompt", Title: new("With a question"), Description: new("Asks the user for a context and repeats it")},
}

// getPrompt fills in a prompt. An unknown one, and an argument that is missing,
// are protocol errors (server/prompts, error handling).
func getPrompt(r *round, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	for i := range promptList {
		prompt := &promptList[i]
		if prompt.Name != p.Name {
			continue
		}
		for _, a := range prompt.Arguments {
			if _, ok := p.Arguments[a.Name]; !ok {
				return nil, invalidParams("arguments.%s: missing", a.Name)
			}
		}
		blocks, err := fill(r, p)
		if err != nil {
			return nil, err
		}
		res := &mcp.GetPromptResult{Description: prompt.Description}
		for _, b := range blocks {
			res.Messages = append(res.Messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: b})
		}
		return res, nil
	}
	return nil, invalidParams("name: no prompt %q", p.Name)
}

func fill(r *round, p *mcp.GetPromptParams) ([]mcp.ContentBlock, error) {
	switch p.Name {
	case greetPrompt:
		return []mcp.ContentBlock{text("Say hello to " + p.Arguments["name"] + ".")}, nil
	case argsPrompt:
		return []mcp.ContentBlock{text("The arguments are " + p.Arguments["arg1"] + " and " + p.Arguments["arg2"] + ".")}, nil
	case "test_prompt_with_embedded_resource":
		uri := p.Arguments["resourceUri"]
		return []mcp.ContentBlock{
			&mcp.EmbeddedResource{Resource: &mcp.TextResourceContents{URI: uri, MIMEType: new("text/plain"), Text: "What " + uri + " holds."}},
			text("Look at the resource above."),
		}, nil
	case "test_prompt_with_image":
		return []mcp.ContentBlock{&mcp.ImageContent{Data: pixel, MIMEType: "image/png"}, text("Look at the picture above.")}, nil
	case "test_input_required_result_prompt":
		answer := r.elicit("user_context", form("What is the context?", "context"))
		if err := r.pending(); err != nil {
			return nil, err
		}
		return []mcp.ContentBlock{text("The context is: " + field(answer, "context"))}, nil
	}
	return []mcp.ContentBlock{text("A simple prompt.")}, nil
}

var people = []string{"Ada", "Alan", "Grace"}

// complete proposes values for the arguments of prompts and templates: people
// for the names, nothing where anything goes.
func complete(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	known, found := []string(nil), false
	switch ref := p.Ref.(type) {
	case *mcp.PromptReference:
		for _, prompt := range promptList {
			if prompt.Name == ref.Name {
				found = true
				for _, a := range prompt.Arguments {
					known = append(known, a.Name)
				}
			}
		}
		if !found {
			return nil, invalidParams("ref.name: no prompt %q", ref.Name)
		}
	case *mcp.ResourceTemplateReference:
		for _, t := range templateList {
			if t.URITemplate == ref.URI {
				found = true
				_, rest, _ := strings.Cut(ref.URI, "{")
				name, _, _ := strings.Cut(rest, "}")
				known = append(known, name)
			}
		}
		if !found {
			return nil, invalidParams("ref.uri: no template %q", ref.URI)
		}
	default:
		return nil, invalidParams("ref.type: want ref/prompt or ref/resource")
	}
	values := []string{}
	for _, name := range known {
		if name != p.Argument.Name {
			continue
		}
		for _, who := range people {
			if v := p.Argument.Value; name == "name" && len(who) >= len(v) && strings.EqualFold(who[:len(v)], v) {
				values = append(values, who)
			}
		}
		return &mcp.CompleteResult{Completion: mcp.Completion{Values: values, Total: new(int64(len(values))), HasMore: new(false)}}, nil
	}
	return nil, invalidParams("argument.name: no argument %q", p.Argument.Name)
}
