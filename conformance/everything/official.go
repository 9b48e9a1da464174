package everything

//lint:file-ignore SA1019 The reference server offers the features that the revision retires, too.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// The files that the fixtures hand out, in base64.
const (
	pixel   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAAEElEQVR4nGK6st4cEAAA//8EHQG9VPI3KwAAAABJRU5ErkJggg==" // a PNG of one pixel
	silence = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="                                     // a WAV of one sample
)

// schema2020 uses what JSON Schema 2020-12 has beyond properties.
const schema2020 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
	`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},` +
	`"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],` +
	`"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},` +
	`"additionalProperties":false}`

// headerSchema has an argument that HTTP requests repeat in a header
// (2026-07-28, basic/transports/streamable-http, custom headers).
const headerSchema = `{"type":"object","properties":{"region":{"type":"string","description":"any text","x-mcp-header":"Region"}}}`

type (
	promptOnly struct {
		Prompt string `json:"prompt" jsonschema:"what the model is asked"`
	}
	messageOnly struct {
		Message string `json:"message" jsonschema:"what the user is asked"`
	}
)

// official are the tools that the official conformance suite calls, under the
// names that it knows.
var official = []tool{
	content("test_simple_text", "Gives one text.", text("This is a simple text.")),
	content("test_image_content", "Gives a picture.", &mcp.ImageContent{Data: pixel, MIMEType: "image/png"}),
	content("test_audio_content", "Gives a sound.", &mcp.AudioContent{Data: silence, MIMEType: "audio/wav"}),
	content("test_embedded_resource", "Gives a resource.", embedded()),
	content("test_multiple_content_types", "Gives a text, a picture and a resource.",
		text("A picture and a resource follow."), &mcp.ImageContent{Data: pixel, MIMEType: "image/png"}, embedded()),
	suite("test_error_handling", "Always fails.", func(context.Context, *call, none) (*mcp.CallToolResult, error) {
		res := say("This tool always fails.")
		res.IsError = new(true)
		return res, nil
	}),
	suite("test_tool_with_progress", "Reports progress three times.", func(ctx context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
		for _, done := range []float64{0, 50, 100} {
			if err := c.Progress(ctx, done, new(100.0), fmt.Sprintf("%v of 100", done)); err != nil {
				return nil, err
			}
		}
		return say("Done."), nil
	}),
	suite("test_tool_with_logging", "Logs three times.", logs("Starting.", "Working.", "Done.")),
	suite("test_logging_tool", "Logs once.", logs("Called.")),
	suite("test_sampling", "Asks the client's model.", func(_ context.Context, c *call, a promptOnly) (*mcp.CallToolResult, error) {
		answer := c.sample("answer", a.Prompt)
		if err := c.pending(); err != nil {
			return nil, err
		}
		return say("The model says: " + written(answer)), nil
	}),
	suite("test_elicitation", "Asks the user.", func(_ context.Context, c *call, a messageOnly) (*mcp.CallToolResult, error) {
		return c.answered(fields(a.Message, map[string]mcp.PrimitiveSchemaDefinition{
			"username": &mcp.StringSchema{Description: new("your name")},
			"email":    &mcp.StringSchema{Description: new("your address"), Format: new(mcp.StringFormatEmail)},
		}, "username", "email"))
	}),
	suite("test_elicitation_sep1034_defaults", "Asks the user with defaults of every kind.", func(_ context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
		return c.answered(fields("Please look at the defaults.", map[string]mcp.PrimitiveSchemaDefinition{
			"name":     &mcp.StringSchema{Default: new("John Doe")},
			"age":      &mcp.NumberSchema{Type: mcp.NumberTypeInteger, Default: new(30.0)},
			"score":    &mcp.NumberSchema{Type: mcp.NumberTypeNumber, Default: new(95.5)},
			"status":   &mcp.UntitledSingleSelectEnumSchema{Enum: []string{"active", "inactive", "pending"}, Default: new("active")},
			"verified": &mcp.BooleanSchema{Default: new(true)},
		}))
	}),
	suite("test_elicitation_sep1330_enums", "Asks the user to choose, in every form of an enumeration.", func(_ context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
		// The suite knows the values.
		untitled, titled, legacy := []string{"option1", "option2", "option3"}, []string{"value1", "value2", "value3"}, []string{"opt1", "opt2", "opt3"}
		labels := []string{"One", "Two", "Three"}
		options := make([]mcp.EnumOption, len(titled))
		for i := range titled {
			options[i] = mcp.EnumOption{Const: titled[i], Title: labels[i]}
		}
		return c.answered(fields("Please choose.", map[string]mcp.PrimitiveSchemaDefinition{
			"untitledSingle": &mcp.UntitledSingleSelectEnumSchema{Enum: untitled},
			"titledSingle":   &mcp.TitledSingleSelectEnumSchema{OneOf: options},
			"legacyEnum":     &mcp.LegacyTitledEnumSchema{Enum: legacy, EnumNames: labels},
			"untitledMulti":  &mcp.UntitledMultiSelectEnumSchema{Items: mcp.UntitledEnumItems{Enum: untitled}},
			"titledMulti":    &mcp.TitledMultiSelectEnumSchema{Items: mcp.TitledEnumItems{AnyOf: options}},
		}))
	}),
	suite("test_missing_capability", "Needs a client with sampling.", func(_ context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
		if c.can.Sampling == nil {
			c.lacks(mcp.ClientCapabilities{Sampling: &mcp.ClientCapabilitiesSampling{}})
		}
		return say("The client has sampling."), c.err
	}),
	suite("test_streaming_elicitation", "Asks the user.", func(_ context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
		return c.answered(form("What is your name?", "name"))
	}),
	suite("test_trigger_tool_change", "Announces that the list of tools has changed.", func(ctx context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
		return say("Announced."), c.ToolListChanged(ctx)
	}),
	suite("test_trigger_prompt_change", "Announces that the list of prompts has changed.", func(ctx context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
		return say("Announced."), c.PromptListChanged(ctx)
	}),
	suite("test_reconnection", "Closes the stream of its call, and answers after the client has come back.", func(ctx context.Context, _ *call, _ none) (*mcp.CallToolResult, error) {
		err := streamhttp.CloseStream(ctx, 100*time.Millisecond)
		if err != nil && !errors.Is(err, streamhttp.ErrNotHTTP) && !errors.Is(err, streamhttp.ErrNotPolling) {
			return nil, err
		}
		return say("Answered after the stream was closed."), wait(ctx, 200*time.Millisecond)
	}),
	newTool(mcp.Tool{Name: "json_schema_2020_12_tool", Description: new("Takes arguments that fit an elaborate schema."), InputSchema: wire.Raw(schema2020)},
		func(_ context.Context, c *call, _ wire.Raw) (*mcp.CallToolResult, error) {
			return say("Called with " + string(c.Arguments)), nil
		}),
	newTool(mcp.Tool{Name: "test_x_mcp_header", Description: new("Takes an argument that HTTP requests repeat in a header."), InputSchema: wire.Raw(headerSchema)},
		func(_ context.Context, _ *call, a struct {
			Region string `json:"region,omitempty"`
		}) (*mcp.CallToolResult, error) {
			return say("Region: " + a.Region), nil
		}),

	suite("test_input_required_result_elicitation", "Asks the user, without a state.", func(_ context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
		user := c.elicit("user_name", form("What is your name?", "name"))
		if err := c.pending(); err != nil {
			return nil, err
		}
		return say("Hello, " + field(user, "name") + "!"), nil
	}),
	suite("test_input_required_result_sampling", "Asks the client's model, without a state.", func(_ context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
		answer := c.sample("capital", "What is the capital of France?")
		if err := c.pending(); err != nil {
			return nil, err
		}
		return say("The model says: " + written(answer)), nil
	}),
	suite("test_input_required_result_list_roots", "Asks for the roots, without a state.", func(_ context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
		roots := c.roots("roots")
		if err := c.pending(); err != nil {
			return nil, err
		}
		return say("The roots are " + uris(roots)), nil
	}),
	suite("test_input_required_result_request_state", "Asks the user, with a state.", confirm),
	suite("test_input_required_result_tampered_state", "Asks the user, with a state that must come back as it was.", confirm),
	suite("test_input_required_result_multiple_inputs", "Asks the user, the model and for the roots at once.", func(_ context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
		c.resume()
		user, greeting, roots := c.elicit("user_name", form("What is your name?", "name")), c.sample("greeting", "Greet somebody."), c.roots("roots")
		if err := c.pendingWith(asked); err != nil {
			return nil, err
		}
		return say(fmt.Sprintf("%s, %s: %s", written(greeting), field(user, "name"), uris(roots))), nil
	}),
	suite("test_input_required_result_multi_round", "Asks the user twice, one question after the other.", func(_ context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
		state := c.resume()
		name, ok := state.Get("name").Str()
		if !ok {
			user := c.elicit("step1", form("What is your name?", "name"))
			if err := c.pendingWith(wire.Raw("{}")); err != nil {
				return nil, err
			}
			name = field(user, "name")
		}
		color := c.elicit("step2", form("What is your favourite colour?", "color"))
		if err := c.pendingWith(wire.Raw(`{"name":` + string(wire.Quote(name)) + `}`)); err != nil {
			return nil, err
		}
		return say(name + " likes " + field(color, "color") + "."), nil
	}),
	suite("test_input_required_result_capabilities", "Asks for all that the client declares.", func(_ context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
		var said []string
		if c.canElicit() {
			if r := c.elicit("user_name", form("What is your name?", "name")); r != nil {
				said = append(said, field(r, "name"))
			}
		}
		if c.can.Sampling != nil {
			if r := c.sample("greeting", "Greet somebody."); r != nil {
				said = append(said, written(r))
			}
		}
		if c.can.Roots != nil {
			if r := c.roots("roots"); r != nil {
				said = append(said, uris(r))
			}
		}
		if err := c.pending(); err != nil {
			return nil, err
		}
		return say("The client said: " + strings.Join(said, ", ")), nil
	}),
}

// suite is a tool of the official suite.
func suite[A any](name, description string, f func(context.Context, *call, A) (*mcp.CallToolResult, error)) tool {
	return newTool(mcp.Tool{Name: name, Description: new(description)}, f)
}

// content is a tool that always gives the same.
func content(name, description string, blocks ...mcp.ContentBlock) tool {
	return suite(name, description, func(context.Context, *call, none) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: blocks}, nil
	})
}

func embedded() *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.TextResourceContents{URI: "test://embedded-resource", MIMEType: new("text/plain"), Text: "This resource stands in a result."}}
}

func logs(messages ...string) func(context.Context, *call, none) (*mcp.CallToolResult, error) {
	return func(ctx context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
		for _, m := range messages {
			if err := c.log(ctx, mcp.LoggingLevelInfo, m); err != nil {
				return nil, err
			}
		}
		return say("Logged."), nil
	}
}

// answered asks the user, and gives what came of it.
func (c *call) answered(f *mcp.ElicitFormParams) (*mcp.CallToolResult, error) {
	user := c.elicit("answer", f)
	if err := c.pending(); err != nil {
		return nil, err
	}
	s := string(user.Action)
	for _, name := range slices.Sorted(maps.Keys(user.Content)) {
		s += ", " + name + ": " + user.Content[name].String()
	}
	return say("The user's answer: " + s), nil
}

func confirm(_ context.Context, c *call, _ none) (*mcp.CallToolResult, error) {
	c.resume()
	answer := c.elicit("confirm", fields("Do you confirm?", map[string]mcp.PrimitiveSchemaDefinition{"ok": &mcp.BooleanSchema{}}, "ok"))
	if err := c.pendingWith(asked); err != nil {
		return nil, err
	}
	return say("state-ok, the user said " + string(answer.Action)), nil
}
