package everything

//lint:file-ignore SA1019 The reference server offers the features that the revision retires, too.

import (
	"context"
	"fmt"
	"slices"
	"time"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/args"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// tool is a tool and what it does.
type tool struct {
	mcp.Tool
	call func(context.Context, *call) (*mcp.CallToolResult, error)
}

// call is a call of a tool.
type call struct {
	round
	mcp.RemoteClient // who calls; nobody in a task
	*common
	*mcp.CallToolParams
}

func newCall(ctx context.Context, c *common, p *mcp.CallToolParams) *call {
	return &call{
		round:        round{ctx: ctx, sealer: c.sealer, can: &p.Meta.ClientCapabilities, answers: p.InputResponses, came: p.RequestState},
		RemoteClient: mcp.Peer(ctx), common: c, CallToolParams: p,
	}
}

// newTool makes a tool whose arguments are an A. Wrong arguments are an error
// that the runtime turns into what the revision wants.
func newTool[A any](t mcp.Tool, f func(context.Context, *call, A) (*mcp.CallToolResult, error)) tool {
	if t.InputSchema == nil {
		t.InputSchema = args.MustSchema[A]()
	}
	t.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}
	return tool{t, func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		a, err := args.Decode[A](c.Arguments)
		if err != nil {
			return nil, err
		}
		return f(ctx, c, a)
	}}
}

// say is a tool's result of one text.
func say(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.ContentBlock{text(s)}}
}

func text(s string) *mcp.TextContent { return &mcp.TextContent{Text: s} }

type (
	none        struct{}
	messageArgs struct {
		Message string `json:"message" jsonschema:"the text to give back"`
	}
	addArgs struct {
		A float64 `json:"a" jsonschema:"the first number"`
		B float64 `json:"b" jsonschema:"the second number"`
	}
	sum struct {
		Sum float64 `json:"sum" jsonschema:"the two numbers added"`
	}
	countArgs struct {
		Steps   args.Int `json:"steps" minimum:"0" maximum:"1000000" jsonschema:"how many steps to count"`
		DelayMs args.Int `json:"delayMs,omitzero" minimum:"0" maximum:"3600000" jsonschema:"milliseconds to wait before each step"`
	}
	logArgs struct {
		Level   string `json:"level" jsonschema:"a logging level, as debug or warning"`
		Message string `json:"message" jsonschema:"the text to log"`
	}
	askArgs struct {
		Question string `json:"question" jsonschema:"what the user is asked"`
	}
	sampleArgs struct {
		Prompt string `json:"prompt" jsonschema:"what the model is asked"`
	}
	touchArgs struct {
		URI string `json:"uri" jsonschema:"the resource to announce as updated"`
	}
	changeArgs struct {
		List string `json:"list" jsonschema:"tools, prompts or resources"`
	}
)

// own are the tools that are not there for the official suite.
var own = []tool{
	newTool(mcp.Tool{Name: "echo", Title: new("Echo"), Description: new("Gives its message back.")},
		func(_ context.Context, _ *call, a messageArgs) (*mcp.CallToolResult, error) {
			return say(a.Message), nil
		}),
	newTool(mcp.Tool{Name: "add", Title: new("Add"), Description: new("Adds two numbers."), OutputSchema: args.MustSchema[sum]()},
		func(_ context.Context, _ *call, a addArgs) (*mcp.CallToolResult, error) {
			s, err := args.Encode(sum{a.A + a.B})
			if err != nil {
				return nil, &args.Error{Msg: "the sum is no JSON number"}
			}
			res := say(string(s))
			res.StructuredContent = s
			return res, nil
		}),
	newTool(mcp.Tool{Name: "count", Title: new("Count"), Description: new("Counts in steps and reports progress at each.")}, count),
	newTool(mcp.Tool{Name: "log", Title: new("Log"), Description: new("Sends one log message.")},
		func(ctx context.Context, c *call, a logArgs) (*mcp.CallToolResult, error) {
			level := mcp.LoggingLevel(a.Level)
			if level.Severity() < 0 {
				return nil, &args.Error{Path: "level", Msg: "no such level"}
			}
			return say("logged"), c.log(ctx, level, a.Message)
		}),
	newTool(mcp.Tool{Name: "fail", Title: new("Fail"), Description: new("Fails with its message.")},
		func(_ context.Context, _ *call, a messageArgs) (*mcp.CallToolResult, error) {
			res := say(a.Message)
			res.IsError = new(true)
			return res, nil
		}),
	newTool(mcp.Tool{Name: "ask", Title: new("Ask"), Description: new("Asks the user a question.")},
		func(_ context.Context, c *call, a askArgs) (*mcp.CallToolResult, error) {
			c.resume()
			answer := c.elicit("answer", form(a.Question, "answer"))
			if err := c.pendingWith(asked); err != nil {
				return nil, err
			}
			switch answer.Action {
			case mcp.ElicitActionAccept:
				return say("answer: " + field(answer, "answer")), nil
			case mcp.ElicitActionDecline:
				return say("declined"), nil
			}
			return say("cancelled"), nil
		}),
	newTool(mcp.Tool{Name: "sample", Title: new("Sample"), Description: new("Asks the client's model.")},
		func(_ context.Context, c *call, a sampleArgs) (*mcp.CallToolResult, error) {
			c.resume()
			answer := c.sample("sample", a.Prompt)
			if err := c.pendingWith(asked); err != nil {
				return nil, err
			}
			return say(written(answer)), nil
		}),
	newTool(mcp.Tool{Name: "roots", Title: new("Roots"), Description: new("Lists the client's roots.")},
		func(_ context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
			c.resume()
			roots := c.roots("roots")
			if err := c.pendingWith(asked); err != nil {
				return nil, err
			}
			return say(uris(roots)), nil
		}),
	newTool(mcp.Tool{Name: "touch", Title: new("Touch"), Description: new("Announces that a resource was updated.")},
		func(ctx context.Context, c *call, a touchArgs) (*mcp.CallToolResult, error) {
			return say("touched"), c.ResourceUpdated(ctx, a.URI)
		}),
	newTool(mcp.Tool{Name: "change", Title: new("Change"), Description: new("Announces that a list has changed.")},
		func(ctx context.Context, c *call, a changeArgs) (*mcp.CallToolResult, error) {
			announce, ok := map[string]func(context.Context) error{
				"tools": c.ToolListChanged, "prompts": c.PromptListChanged, "resources": c.ResourceListChanged,
			}[a.List]
			if !ok {
				return nil, &args.Error{Path: "list", Msg: "want tools, prompts or resources"}
			}
			return say("changed"), announce(ctx)
		}),
}

// asked is the state of a call that asks once: that it did.
var asked = wire.Raw("true")

// tools are all tools. The first of the list takes no arguments: clients try
// that one.
var tools = slices.Concat(official, inBackground, own)

var toolList = func() []mcp.Tool {
	list := make([]mcp.Tool, len(tools))
	for i := range tools {
		list[i] = tools[i].Tool
	}
	return list
}()

var toolsByName = func() map[string]*tool {
	m := map[string]*tool{}
	for i := range tools {
		m[tools[i].Name] = &tools[i]
	}
	return m
}()

// callTool runs a tool by name. An unknown tool is a protocol error
// (server/tools, error handling).
func callTool(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
	t := toolsByName[c.Name]
	if t == nil {
		return nil, invalidParams("name: no tool %q", c.Name)
	}
	return t.call(ctx, c)
}

func (c *call) log(ctx context.Context, level mcp.LoggingLevel, message string) error {
	return c.LoggingMessage(ctx, &mcp.LoggingMessageParams{Level: level, Logger: new("everything"), Data: wire.Quote(message)})
}

func count(ctx context.Context, c *call, a countArgs) (*mcp.CallToolResult, error) {
	for i := range int64(a.Steps) {
		if err := wait(ctx, time.Duration(a.DelayMs)*time.Millisecond); err != nil {
			return nil, err
		}
		if err := c.Progress(ctx, float64(i+1), new(float64(a.Steps)), fmt.Sprintf("step %d of %d", i+1, a.Steps)); err != nil {
			return nil, err
		}
	}
	return say(fmt.Sprintf("counted %d", a.Steps)), nil
}

func wait(ctx context.Context, d time.Duration) error {
	if d > 0 {
		jsonrpc.PeerOf(ctx).Detach()
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}
