package everything

//lint:file-ignore SA1019 The reference client offers the features that the revision retires, too.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/args"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Scenario is what the reference client does.
type Scenario struct {
	// Name is the official suite's name of it; "" lists what the server offers.
	Name string
	// Context is what the suite hands to some scenarios, nil for none.
	Context wire.Raw
}

// UnknownScenarioError is a name that the reference client has no scenario for.
type UnknownScenarioError struct{ Name string }

// Error names the scenarios that there are.
func (e *UnknownScenarioError) Error() string {
	return fmt.Sprintf("no scenario is called %q; there are %s", e.Name, strings.Join(slices.Sorted(maps.Keys(scenarios)), ", "))
}

var scenarios = map[string]func(context.Context, *client) error{
	"initialize":                          func(context.Context, *client) error { return nil }, // the handshake is all
	"request-metadata":                    func(context.Context, *client) error { return nil },
	"tools_call":                          addNumbers,
	"elicitation-sep1034-client-defaults": callNamed("test_client_elicitation_defaults"),
	"sse-retry":                           callNamed("test_reconnection"),
	"http-standard-headers":               useAll,
	"http-custom-headers":                 callGiven,
	"http-invalid-tool-headers":           useAll,
	"json-schema-ref-no-deref":            func(ctx context.Context, c *client) error { _, err := c.tools(ctx); return err },
	"sep-2322-client-request-state":       answerRounds,
	"json-schema-2020-12-preservation":    echoSchema,
}

// Run connects to a server in the newest revision that it speaks, does what the
// scenario asks and closes the connection. What it lists is summed up in a line
// to out.
func Run(ctx context.Context, d jsonrpc.Dialer, s Scenario, out io.Writer) error {
	do := listAll
	if s.Name != "" {
		if do = scenarios[s.Name]; do == nil {
			return &UnknownScenarioError{s.Name}
		}
	}
	c := &client{context: s.Context, out: out, heard: make(chan struct{})}
	if endpoint, ok := d.(*streamhttp.Endpoint); ok {
		endpoint.Notices = append(endpoint.Notices, c.notice)
	} else {
		close(c.heard)
	}
	var err error
	if c.RemoteServer, err = compat.Dial(ctx, d, c.side()); err != nil {
		return err
	}
	return errors.Join(do(ctx, c), c.Close())
}

// client is the client in one scenario.
type client struct {
	*mcp.RemoteServer
	context wire.Raw
	out     io.Writer
	heard   chan struct{}                   // closed when it is settled whether the server can be heard outside of calls
	between func(ctx context.Context) error // called before the user answers
}

// notice waits for the stream of what the server sends outside of calls.
func (c *client) notice(n streamhttp.Notice) {
	switch n.Kind {
	case streamhttp.StreamOpened, streamhttp.StreamGivenUp:
		select {
		case <-c.heard:
		default:
			close(c.heard)
		}
	}
}

// side is what the server may ask: a client that answers whatever it is asked.
func (c *client) side() mcp.Client {
	return mcp.Client{
		Info: mcp.Implementation{Name: Name + "-client", Title: new("Goldwire reference client"), Version: Version},
		Elicit: func(ctx context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if c.between != nil {
				if err := c.between(ctx); err != nil {
					return nil, err
				}
			}
			f, ok := p.(*mcp.ElicitFormParams)
			if !ok {
				return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "this client has forms only")
			}
			content, ok := fillIn(&f.RequestedSchema)
			if !ok {
				return &mcp.ElicitResult{Action: mcp.ElicitActionDecline}, nil
			}
			return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: content}, nil
		},
		CreateMessage: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			if p.Tools != nil || p.ToolChoice != nil {
				return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "this client's model calls no tools")
			}
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "fixture", Content: mcp.NewSamplingContent(text("An answer."))}, nil
		},
		ListRoots: func(context.Context, *mcp.ListRootsParams) (*mcp.ListRootsResult, error) {
			return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///work"}}}, nil
		},
	}
}

// fillIn fills in a form: the default of each field, or else some value that
// fits it; a field that neither does stays empty. It reports false where one of
// these is required.
func fillIn(s *mcp.ElicitSchema) (map[string]mcp.ElicitValue, bool) {
	values := map[string]mcp.ElicitValue{}
	for name, f := range s.Properties {
		form := &mcp.ElicitFormParams{RequestedSchema: mcp.ElicitSchema{Properties: map[string]mcp.PrimitiveSchemaDefinition{name: f}}}
		for _, v := range samples(f) {
			content := map[string]mcp.ElicitValue{name: v}
			if args.CheckAnswer(form, &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: content}) == nil {
				values[name] = v
				break
			}
		}
	}
	for _, name := range s.Required {
		if _, ok := values[name]; !ok {
			return nil, false
		}
	}
	return values, true
}

// samples are values that may fit a field, the best one first.
func samples(f mcp.PrimitiveSchemaDefinition) []mcp.ElicitValue {
	switch f := f.(type) {
	case *mcp.StringSchema:
		return each(mcp.ElicitValueString, f.Default, texts(f)...)
	case *mcp.NumberSchema:
		var numbers []float64
		if f.Minimum != nil {
			numbers = append(numbers, *f.Minimum, math.Ceil(*f.Minimum))
		}
		if f.Maximum != nil {
			numbers = append(numbers, *f.Maximum, math.Floor(*f.Maximum))
		}
		return each(mcp.ElicitValueFloat, f.Default, append(numbers, 1)...)
	case *mcp.BooleanSchema:
		return each(mcp.ElicitValueBool, f.Default, true)
	case *mcp.UntitledSingleSelectEnumSchema:
		return each(mcp.ElicitValueString, f.Default, f.Enum...)
	case *mcp.LegacyTitledEnumSchema:
		return each(mcp.ElicitValueString, f.Default, f.Enum...)
	case *mcp.TitledSingleSelectEnumSchema:
		return each(mcp.ElicitValueString, f.Default, consts(f.OneOf)...)
	case *mcp.UntitledMultiSelectEnumSchema:
		return choices(f.Default, f.Items.Enum, f.MinItems, f.MaxItems)
	case *mcp.TitledMultiSelectEnumSchema:
		return choices(f.Default, consts(f.Items.AnyOf), f.MinItems, f.MaxItems)
	}
	return nil
}

// each are the values of a field: the default, where there is one, and others.
func each[T any](value func(T) mcp.ElicitValue, byDefault *T, others ...T) []mcp.ElicitValue {
	var out []mcp.ElicitValue
	if byDefault != nil {
		out = append(out, value(*byDefault))
	}
	for _, v := range others {
		out = append(out, value(v))
	}
	return out
}

// choices chooses the first of several values: one, where that may be.
func choices(byDefault, all []string, least, most *int64) []mcp.ElicitValue {
	n := min(max(1, or(least, 0)), or(most, math.MaxInt64), int64(len(all)))
	chosen := all[:max(0, n)]
	if byDefault == nil {
		return each(mcp.ElicitValueStrings, nil, chosen)
	}
	return each(mcp.ElicitValueStrings, &byDefault, chosen)
}

func consts(options []mcp.EnumOption) []string {
	out := make([]string, len(options))
	for i, o := range options {
		out[i] = o.Const
	}
	return out
}

// texts are texts for a field: examples of its format, or else one of a length
// that is allowed.
func texts(f *mcp.StringSchema) []string {
	least := int(min(max(0, or(f.MinLength, 0)), maxSample))
	long := func(head, tail string) string {
		return head + strings.Repeat("a", max(1, least-len(head)-len(tail))) + tail
	}
	switch or(f.Format, "") {
	case mcp.StringFormatEmail:
		return []string{"user@example.com", long("", "@b.co")}
	case mcp.StringFormatURI:
		return []string{"https://example.com/", long("a:", "")}
	case mcp.StringFormatDate:
		return []string{"2026-01-31"}
	case mcp.StringFormatDateTime:
		return []string{"2026-01-31T12:00:00Z", "2026-01-31T12:00:00." + strings.Repeat("0", max(1, least-len("2026-01-31T12:00:00.Z"))) + "Z"}
	}
	n := max(0, max(least, int(min(int64(len("text")), or(f.MaxLength, math.MaxInt64)))))
	return []string{strings.Repeat("text", n/len("text")+1)[:n]}
}

// maxSample bounds the texts that a client makes up, in characters.
const maxSample = 1 << 16

func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// tools lists the tools.
func (c *client) tools(ctx context.Context) ([]*mcp.Tool, error) {
	var list []*mcp.Tool
	for t, err := range c.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// call calls a tool; a failed result is an error.
func (c *client) call(ctx context.Context, name string, arguments wire.Raw) (*mcp.CallToolResult, error) {
	res, err := c.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err == nil && or(res.IsError, false) {
		err = fmt.Errorf("%s failed: %s", name, res.AppendJSON(nil))
	}
	return res, err
}

// listAll counts what the server lists.
func listAll(ctx context.Context, c *client) error {
	_, err := fmt.Fprintf(c.out, "%s %s", c.Server.Info.Name, c.Server.Info.Version)
	if err == nil && c.Server.ListTools != nil {
		err = counted(c, "tools", c.Tools(ctx, nil))
	}
	if err == nil && c.Server.ListPrompts != nil {
		err = counted(c, "prompts", c.Prompts(ctx, nil))
	}
	if err == nil && c.Server.ListResources != nil {
		err = counted(c, "resources", c.Resources(ctx, nil))
	}
	_, werr := fmt.Fprintln(c.out)
	return errors.Join(err, werr)
}

func counted[T any](c *client, what string, list iter.Seq2[T, error]) error {
	n := 0
	for _, err := range list {
		if err != nil {
			return err
		}
		n++
	}
	_, err := fmt.Fprintf(c.out, ", %d %s", n, what)
	return err
}

// useAll calls every tool, reads every resource and gets every prompt that the
// server lists.
func useAll(ctx context.Context, c *client) error {
	if c.Server.ListTools != nil {
		list, err := c.tools(ctx)
		if err != nil {
			return err
		}
		for _, t := range list {
			if _, err := c.call(ctx, t.Name, anyArguments(t.InputSchema)); err != nil {
				return err
			}
		}
	}
	if c.Server.ListResources != nil {
		for r, err := range c.Resources(ctx, nil) {
			if err != nil {
				return err
			}
			if _, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.URI}); err != nil {
				return err
			}
		}
	}
	if c.Server.ListPrompts != nil {
		for p, err := range c.Prompts(ctx, nil) {
			if err != nil {
				return err
			}
			arguments := map[string]string{}
			for _, a := range p.Arguments {
				arguments[a.Name] = "text"
			}
			if _, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: p.Name, Arguments: arguments}); err != nil {
				return err
			}
		}
	}
	return nil
}

// anyArguments has a value for each required member that is a text, a number or
// a truth value.
func anyArguments(schema wire.Raw) wire.Raw {
	b := []byte("{")
	for name := range schema.Get("required").Elems() {
		key, _ := name.Str()
		value := `"text"`
		switch t, _ := schema.Get("properties").Get(key).Get("type").Str(); t {
		case "integer", "number":
			value = "1"
		case "boolean":
			value = "true"
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}')
}

func addNumbers(ctx context.Context, c *client) error {
	if _, err := c.tools(ctx); err != nil {
		return err
	}
	_, err := c.call(ctx, "add_numbers", wire.Raw(`{"a":5,"b":3}`))
	return err
}

// callNamed lists the tools and calls one without arguments, once the server can
// be heard outside of the call.
func callNamed(name string) func(context.Context, *client) error {
	return func(ctx context.Context, c *client) error {
		if _, err := c.tools(ctx); err != nil {
			return err
		}
		select {
		case <-c.heard:
		case <-ctx.Done():
			return ctx.Err()
		}
		_, err := c.call(ctx, name, nil)
		return err
	}
}

// callGiven makes the calls that the context lists: their arguments have to be
// repeated in headers, by what the list of tools says.
func callGiven(ctx context.Context, c *client) error {
	if _, err := c.tools(ctx); err != nil {
		return err
	}
	for given := range c.context.Get("toolCalls").Elems() {
		name, _ := given.Get("name").Str()
		if _, err := c.call(ctx, name, given.Get("arguments")); err != nil {
			return err
		}
	}
	return nil
}

// answerRounds calls tools that ask before they answer, and one that has nothing
// to do with them while an answer is awaited.
func answerRounds(ctx context.Context, c *client) error {
	if _, err := c.tools(ctx); err != nil {
		return err
	}
	c.between = func(ctx context.Context) error {
		_, err := c.call(ctx, "test_mrtr_unrelated", nil)
		return err
	}
	for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_no_result_type"} {
		if _, err := c.call(ctx, name, nil); err != nil {
			return err
		}
	}
	return nil
}

// echoSchema hands back a schema as it was listed.
func echoSchema(ctx context.Context, c *client) error {
	list, err := c.tools(ctx)
	if err != nil {
		return err
	}
	for _, t := range list {
		if t.Name == "json_schema_2020_12_tool" {
			_, err = c.call(ctx, "json_schema_echo", wire.Raw(`{"schema":`+string(t.InputSchema)+`}`))
			return err
		}
	}
	return errors.New("no tool json_schema_2020_12_tool is listed")
}
