// Package old is the reference server: it offers every feature that
// the checker looks at, in both eras of the protocol, and is what the golden
// transcripts and the checker itself are tried on.
//
// What a tool, a prompt or a resource does is written once, in terms of a
// host; each revision's file turns its messages into calls of these functions.
package old

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goldwire/goldwire/runtime/args"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Name is how the reference server introduces itself.
const Name = "goldwire-everything"

// Version is the reference server's version.
const Version = "1.0.0"

const instructions = "A server for testing clients. Its tools do what their names say and keep nothing."

// host is what the revision under which a tool runs can do for it.
type host interface {
	// progress reports a step to a caller that asked for progress.
	progress(ctx context.Context, done, total float64, message string) error
	// log sends a log message to a client that wants that level.
	log(ctx context.Context, level, message string) error
	// updated and changed announce a resource and a list.
	updated(ctx context.Context, uri string) error
	changed(ctx context.Context, list string) error
	// elicit asks the user for an answer, sample a model for a text, and
	// roots the client for its roots. A host that cannot wait for the client
	// answers with an error that makes the client call again; a client that
	// does not offer the feature is an *unsupported.
	elicit(ctx context.Context, question string) (action, answer string, err error)
	sample(ctx context.Context, prompt string) (string, error)
	roots(ctx context.Context) ([]string, error)
}

// unsupported says that the client lacks a capability that a tool needs.
type unsupported struct{ capability string }

func (e *unsupported) Error() string { return "this tool needs a client with " + e.capability }

// tool is a tool in any revision.
type tool struct {
	name, title, description string
	readOnly, idempotent     bool
	input, output            wire.Raw
	call                     func(ctx context.Context, h host, arguments wire.Raw) (*outcome, error)
}

// outcome is a tool result in any revision.
type outcome struct {
	text       string
	structured wire.Raw
	failed     bool
}

// newTool makes a tool whose arguments are an A.
func newTool[A any](t tool, f func(context.Context, host, A) (*outcome, error)) tool {
	t.input = args.MustSchema[A]()
	t.call = func(ctx context.Context, h host, raw wire.Raw) (*outcome, error) {
		a, err := args.Decode[A](raw)
		if err != nil {
			return nil, err
		}
		return f(ctx, h, a)
	}
	return t
}

type (
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
		Steps   args.Int `json:"steps" jsonschema:"how many steps to count, 0 to 1,000,000"`
		DelayMs args.Int `json:"delayMs,omitzero" jsonschema:"milliseconds to wait before each step"`
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

// levels in the order of severity.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

var tools = []tool{
	newTool(tool{name: "echo", title: "Echo", description: "Gives its message back.", readOnly: true, idempotent: true},
		func(_ context.Context, _ host, a messageArgs) (*outcome, error) {
			return &outcome{text: a.Message}, nil
		}),
	newTool(tool{name: "add", title: "Add", description: "Adds two numbers.", readOnly: true, idempotent: true, output: args.MustSchema[sum]()},
		func(_ context.Context, _ host, a addArgs) (*outcome, error) {
			s, err := args.Encode(sum{a.A + a.B})
			if err != nil {
				return nil, &args.Error{Msg: "the sum is no JSON number"}
			}
			return &outcome{text: string(s), structured: s}, nil
		}),
	newTool(tool{name: "count", title: "Count", description: "Counts in steps and reports progress at each.", readOnly: true, idempotent: true}, count),
	newTool(tool{name: "log", title: "Log", description: "Sends one log message.", readOnly: true},
		func(ctx context.Context, h host, a logArgs) (*outcome, error) {
			if !slices.Contains(levels, a.Level) {
				return nil, &args.Error{Path: "level", Msg: "want one of " + strings.Join(levels, ", ")}
			}
			return &outcome{text: "logged"}, h.log(ctx, a.Level, a.Message)
		}),
	newTool(tool{name: "fail", title: "Fail", description: "Fails with its message.", readOnly: true},
		func(_ context.Context, _ host, a messageArgs) (*outcome, error) {
			return &outcome{text: a.Message, failed: true}, nil
		}),
	newTool(tool{name: "ask", title: "Ask", description: "Asks the user a question.", readOnly: true},
		func(ctx context.Context, h host, a askArgs) (*outcome, error) {
			action, answer, err := h.elicit(ctx, a.Question)
			if err != nil {
				return nil, err
			}
			switch action {
			case "accept":
				return &outcome{text: "answer: " + answer}, nil
			case "decline":
				return &outcome{text: "declined"}, nil
			}
			return &outcome{text: "cancelled"}, nil
		}),
	newTool(tool{name: "sample", title: "Sample", description: "Asks the client's model.", readOnly: true},
		func(ctx context.Context, h host, a sampleArgs) (*outcome, error) {
			text, err := h.sample(ctx, a.Prompt)
			return &outcome{text: text}, err
		}),
	newTool(tool{name: "roots", title: "Roots", description: "Lists the client's roots.", readOnly: true},
		func(ctx context.Context, h host, _ struct{}) (*outcome, error) {
			uris, err := h.roots(ctx)
			return &outcome{text: strings.Join(uris, " ")}, err
		}),
	newTool(tool{name: "touch", title: "Touch", description: "Announces that a resource was updated.", readOnly: true},
		func(ctx context.Context, h host, a touchArgs) (*outcome, error) {
			return &outcome{text: "touched"}, h.updated(ctx, a.URI)
		}),
	newTool(tool{name: "change", title: "Change", description: "Announces that a list has changed.", readOnly: true},
		func(ctx context.Context, h host, a changeArgs) (*outcome, error) {
			if !slices.Contains([]string{"tools", "prompts", "resources"}, a.List) {
				return nil, &args.Error{Path: "list", Msg: "want tools, prompts or resources"}
			}
			return &outcome{text: "changed"}, h.changed(ctx, a.List)
		}),
}

func count(ctx context.Context, h host, a countArgs) (*outcome, error) {
	switch {
	case a.Steps < 0 || a.Steps > 1_000_000:
		return nil, &args.Error{Path: "steps", Msg: "want 0 to 1,000,000"}
	case a.DelayMs < 0 || a.DelayMs > args.Int(time.Hour/time.Millisecond):
		return nil, &args.Error{Path: "delayMs", Msg: "want 0 to an hour"}
	}
	for i := range int64(a.Steps) {
		if err := wait(ctx, time.Duration(a.DelayMs)*time.Millisecond); err != nil {
			return nil, err
		}
		if err := h.progress(ctx, float64(i+1), float64(a.Steps), fmt.Sprintf("step %d of %d", i+1, a.Steps)); err != nil {
			return nil, err
		}
	}
	return &outcome{text: fmt.Sprintf("counted %d", a.Steps)}, nil
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

// callTool runs a tool by name. An unknown tool is a protocol error in every
// revision (server/tools, error handling).
func callTool(ctx context.Context, h host, name string, arguments wire.Raw) (*outcome, error) {
	for i := range tools {
		if tools[i].name == name {
			return tools[i].call(ctx, h, arguments)
		}
	}
	return nil, invalidParams("name: no tool %q", name)
}

// asResult turns errors that the model can mend or should know into a failed
// result: wrong arguments (from 2025-11-25 on) and clients without a feature.
func asResult(out *outcome, err error) (*outcome, error) {
	var wrong *args.Error
	if errors.As(err, &wrong) {
		return &outcome{text: wrong.Error(), failed: true}, nil
	}
	return out, err
}

// prompt is the one prompt of the server.
const (
	promptName        = "greet"
	promptTitle       = "Greet"
	promptDescription = "Greets someone by name"
	promptArgument    = "name"
)

func greet(name string, arguments map[string]string) (string, error) {
	if name != promptName {
		return "", invalidParams("name: no prompt %q", name)
	}
	who, ok := arguments[promptArgument]
	if !ok {
		return "", invalidParams("arguments.%s: missing", promptArgument)
	}
	return "Say hello to " + who + ".", nil
}

// resource is a listed resource; exactly one of text and blob is set.
type resource struct {
	uri, name, title, mime string
	text, blob             string
}

var resources = []resource{
	{uri: "note:///hello", name: "hello", title: "Hello", mime: "text/plain", text: "Hello, world!"},
	{uri: "note:///bytes", name: "bytes", title: "Bytes", mime: "application/octet-stream", blob: "AAECAw=="},
}

const (
	templateURI   = "note:///{name}"
	templateName  = "note"
	templateTitle = "Note"
	templateMIME  = "text/plain"
)

// read finds a resource, listed or by the template. ok is false for a URI
// that names none; each revision has its own error code for that.
func read(uri string) (resource, bool) {
	for _, r := range resources {
		if r.uri == uri {
			return r, true
		}
	}
	name, ok := strings.CutPrefix(uri, "note:///")
	if !ok || name == "" || strings.ContainsAny(name, "/?#") {
		return resource{}, false
	}
	return resource{uri: uri, name: name, mime: templateMIME, text: "A note about " + name + "."}, true
}

// noResource is the error for a URI that names nothing. data.uri tells which.
func noResource(code int64, uri string) error {
	return &jsonrpc.Error{Code: code, Message: "resource not found", Data: wire.Raw(`{"uri":` + string(wire.Quote(uri)) + `}`)}
}

var people = []string{"Ada", "Alan", "Grace"}

// complete proposes people for the prompt's and the template's argument.
func complete(kind, ref, argument, value string) ([]string, error) {
	switch {
	case kind == "ref/prompt" && ref != promptName:
		return nil, invalidParams("ref.name: no prompt %q", ref)
	case kind == "ref/resource" && ref != templateURI:
		return nil, invalidParams("ref.uri: no template %q", ref)
	case argument != promptArgument:
		return nil, invalidParams("argument.name: no argument %q", argument)
	}
	values := []string{}
	for _, p := range people {
		if len(p) >= len(value) && strings.EqualFold(p[:len(value)], value) {
			values = append(values, p)
		}
	}
	return values, nil
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
