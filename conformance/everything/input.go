package everything

//lint:file-ignore SA1019 The reference server offers the features that the revision retires, too.

import (
	"context"
	"strings"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/args"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/wire"
)

// round is one round of a request that needs something from the client: its
// methods give what the client has answered, and remember what it still has to
// be asked for. Specification: basic/patterns/mrtr (2026-07-28).
type round struct {
	ctx     context.Context // the handler's
	sealer  *compat.Sealer
	can     *mcp.ClientCapabilities
	answers mcp.InputResponses
	came    *string // the state that came with the request
	asks    mcp.InputRequests
	err     error
}

// fail keeps the first error.
func (r *round) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// lacks fails the round for want of a capability (-32021; basic/index,
// capabilities of a request).
func (r *round) lacks(c mcp.ClientCapabilities) {
	r.fail(mcp.NewMissingRequiredClientCapabilityError(&mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: c}))
}

func (r *round) ask(key string, q mcp.InputRequest) {
	if r.asks == nil {
		r.asks = mcp.InputRequests{}
	}
	r.asks[key] = q
}

// canElicit reports whether the client shows forms. {} means that it does.
func (r *round) canElicit() bool {
	e := r.can.Elicitation
	return e != nil && (e.Form != nil || e.URL == nil)
}

// elicit is what the user answered to a form, nil when that is still asked for.
func (r *round) elicit(key string, form *mcp.ElicitFormParams) *mcp.ElicitResult {
	if !r.canElicit() {
		r.lacks(mcp.ClientCapabilities{Elicitation: &mcp.ClientCapabilitiesElicitation{Form: wire.Raw("{}")}})
		return nil
	}
	res, err := r.answers.Elicit(key)
	if err != nil {
		r.fail(invalidParams("inputResponses.%s: %s", key, err))
	} else if res == nil {
		r.ask(key, &mcp.ElicitRequest{Params: form})
	} else if err := args.CheckAnswer(form, res); err != nil {
		r.fail(invalidParams("inputResponses.%s.%s", key, err))
	}
	return res
}

// sample is what the client's model wrote, nil when that is still asked for.
func (r *round) sample(key, prompt string) *mcp.CreateMessageResult {
	if r.can.Sampling == nil {
		r.lacks(mcp.ClientCapabilities{Sampling: &mcp.ClientCapabilitiesSampling{}})
		return nil
	}
	res, err := r.answers.Sampling(key)
	if err != nil {
		r.fail(invalidParams("inputResponses.%s: %s", key, err))
	} else if res == nil {
		r.ask(key, &mcp.CreateMessageRequest{Params: mcp.CreateMessageParams{MaxTokens: 100, Messages: []mcp.SamplingMessage{{
			Role: mcp.RoleUser, Content: mcp.NewSamplingContent(text(prompt)),
		}}}})
	}
	return res
}

// roots are the client's roots, nil when they are still asked for.
func (r *round) roots(key string) *mcp.ListRootsResult {
	if r.can.Roots == nil {
		r.lacks(mcp.ClientCapabilities{Roots: wire.Raw("{}")})
		return nil
	}
	res, err := r.answers.Roots(key)
	if err != nil {
		r.fail(invalidParams("inputResponses.%s: %s", key, err))
	} else if res == nil {
		r.ask(key, &mcp.ListRootsRequest{})
	}
	return res
}

// pending is nil when the client has answered all that was asked for, and
// otherwise what the request is answered with.
func (r *round) pending() error { return r.pendingWith(nil) }

// pendingWith is pending with a state, nil for none, that the client brings back.
func (r *round) pendingWith(state wire.Raw) error {
	if r.err != nil || len(r.asks) == 0 {
		return r.err
	}
	if state == nil {
		return mcp.NewInputRequiredError(r.asks, nil)
	}
	sealed, err := r.sealer.Seal(r.ctx, state)
	if err != nil {
		return err
	}
	return mcp.NewInputRequiredError(r.asks, &sealed)
}

// resume gives the state that this request brought back, nil in a first round.
// One that was not given out for it, a request that answers without one, and
// one that is too old fail the round.
func (r *round) resume() wire.Raw {
	if r.came == nil {
		if len(r.answers) > 0 {
			r.fail(invalidParams("requestState: missing"))
		}
		return nil
	}
	state, err := r.sealer.Open(r.ctx, *r.came)
	if err != nil {
		r.fail(err)
	}
	return state
}

// form is a form of one text.
func form(message, name string) *mcp.ElicitFormParams {
	return fields(message, map[string]mcp.PrimitiveSchemaDefinition{name: &mcp.StringSchema{}}, name)
}

// fields is a form of several fields.
func fields(message string, all map[string]mcp.PrimitiveSchemaDefinition, required ...string) *mcp.ElicitFormParams {
	return &mcp.ElicitFormParams{Message: message, RequestedSchema: mcp.ElicitSchema{Properties: all, Required: required}}
}

// field is the text that the user gave to a field, "" for none.
func field(r *mcp.ElicitResult, name string) string {
	s, _ := r.Content[name].Str()
	return s
}

// written is the text that the model wrote.
func written(r *mcp.CreateMessageResult) string {
	for _, b := range r.Content.Items {
		if t, ok := b.(*mcp.TextContent); ok {
			return t.Text
		}
	}
	return ""
}

// uris are those of the roots.
func uris(r *mcp.ListRootsResult) string {
	list := make([]string, len(r.Roots))
	for i, root := range r.Roots {
		list[i] = root.URI
	}
	return strings.Join(list, " ")
}
