package everything

import (
	"context"
	"fmt"
	"strings"
	"time"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/args"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

type (
	nameArgs struct {
		Name string `json:"name" jsonschema:"who is greeted"`
	}
	computeArgs struct {
		Seconds args.Int `json:"seconds" minimum:"0" maximum:"3600" jsonschema:"how long it takes"`
		Label   string   `json:"label,omitempty" jsonschema:"any text, which the result repeats"`
	}
	fileArgs struct {
		Filename string `json:"filename" jsonschema:"what is to be deleted; nothing is"`
	}
)

// inBackground are the tools that the official suite calls for tasks, and one that
// never becomes one.
var inBackground = []tool{
	newTool(mcp.Tool{Name: "greet", Description: new("Greets somebody, at once.")},
		func(_ context.Context, _ *call, a nameArgs) (*mcp.CallToolResult, error) {
			return say("Hello, " + a.Name + "!"), nil
		}),
	task(optional, suite("slow_compute", "Takes its time, as a task where the client knows tasks.",
		func(ctx context.Context, _ *call, a computeArgs) (*mcp.CallToolResult, error) {
			if err := wait(ctx, time.Duration(a.Seconds)*time.Second); err != nil {
				return nil, err
			}
			return say(fmt.Sprintf("Computed %s for %d s.", a.Label, a.Seconds)), nil
		})),
	task(required, suite("failing_job", "A task whose tool fails.",
		func(ctx context.Context, _ *call, _ none) (*mcp.CallToolResult, error) {
			res := say("The job failed.")
			res.IsError = new(true)
			return res, wait(ctx, jobTime)
		})),
	task(required, suite("protocol_error_job", "A task that ends with an error of the protocol.",
		func(ctx context.Context, _ *call, _ none) (*mcp.CallToolResult, error) {
			if err := wait(ctx, jobTime); err != nil {
				return nil, err
			}
			return nil, jsonrpc.NewError(jsonrpc.CodeInternalError, "the job broke")
		})),
	task(optional, suite("confirm_delete", "Asks the user before it would delete a file.",
		func(_ context.Context, c *call, a fileArgs) (*mcp.CallToolResult, error) {
			answer := c.elicit("confirm", fields("Delete "+a.Filename+"?", map[string]mcp.PrimitiveSchemaDefinition{"confirm": &mcp.BooleanSchema{}}, "confirm"))
			if err := c.pending(); err != nil {
				return nil, err
			}
			if sure, _ := answer.Content["confirm"].Bool(); !sure {
				return say(a.Filename + " stays."), nil
			}
			return say("Deleted " + a.Filename + "."), nil
		})),
	task(optional, suite("multi_input", "Asks the user two questions at once.",
		func(_ context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
			one, two := c.elicit("first", form("What is your first name?", "name")), c.elicit("second", form("What is your second name?", "name"))
			if err := c.pending(); err != nil {
				return nil, err
			}
			return say("Hello, " + field(one, "name") + " " + field(two, "name") + "!"), nil
		})),
	suite("test_tool_with_task", "Asks the user, and goes on as a task.",
		func(ctx context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
			if !c.Tasks() {
				return nil, noTasks()
			}
			user := c.elicit("user_name", form("What is your name?", "name"))
			if err := c.pending(); err != nil {
				return nil, err
			}
			name := strings.Clone(field(user, "name")) // it outlives the request
			return nil, c.tasks.Start(ctx, c.CallToolParams, func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
				return say("Hello, " + name + "!"), nil
			})
		}),
}

// jobTime is how long the jobs take that fail.
const jobTime = 200 * time.Millisecond

// How a tool runs for a client that does not know tasks.
type support bool

const (
	optional support = false // at once
	required support = true  // not at all
)

// task makes a tool a task for clients that know tasks. Its func gets no peer
// then; when it asks for something, the task waits for the answer.
func task(s support, t tool) tool {
	do := t.call
	t.call = func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		switch {
		case c.Tasks():
			return nil, c.tasks.Start(ctx, c.CallToolParams, func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
				return do(ctx, newCall(ctx, c.common, p))
			})
		case s == required:
			return nil, noTasks()
		}
		return do(ctx, c)
	}
	return t
}

// noTasks refuses a client that does not know tasks.
func noTasks() error {
	return mcp.NewMissingRequiredClientCapabilityError(&mcp.MissingRequiredClientCapabilityData{
		RequiredCapabilities: mcp.ClientCapabilities{Extensions: map[string]wire.Raw{mcp.ExtensionTasks: wire.Raw("{}")}},
	})
}
