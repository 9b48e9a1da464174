package everything

//lint:file-ignore SA1019 The reference server offers the features that the revision retires, too.

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/wire"
)

// round is one round of a request that needs something from the client: its
// methods give what the client has answered, and remember what it still has to
// be asked for. Specification: basic/patterns/mrtr (2026-07-28).
type round struct {
	can       *mcp.ClientCapabilities
	answers   mcp.InputResponses
	came      *string // the state that came with the request
	name      string  // of the tool or prompt: a state belongs to it and to its arguments
	arguments wire.Raw
	asks      mcp.InputRequests
	err       error
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
	return mcp.NewInputRequiredError(r.asks, new(r.seal(state)))
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
	state, ok := r.open(*r.came)
	if !ok {
		r.fail(invalidParams("requestState: not what was given out for this request"))
	}
	return state
}

// stateTime is how long a client may take for a round.
const stateTime = time.Hour

var sealKey = func() []byte {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	return key
}()

// seal signs a state and binds it to the request and to the time, for the life
// of the process.
func (r *round) seal(state wire.Raw) string {
	text := strconv.FormatInt(time.Now().Unix(), 10) + "." + base64.RawURLEncoding.EncodeToString(state)
	return text + "." + base64.RawURLEncoding.EncodeToString(r.sign(text))
}

// open undoes seal; false when it is not what seal gave out for this request.
func (r *round) open(sealed string) (wire.Raw, bool) {
	i := strings.LastIndexByte(sealed, '.')
	if i < 0 {
		return nil, false
	}
	text := sealed[:i]
	if sig, err := base64.RawURLEncoding.Strict().DecodeString(sealed[i+1:]); err != nil || !hmac.Equal(sig, r.sign(text)) {
		return nil, false
	}
	since, encoded, _ := strings.Cut(text, ".") // whoever signed it made it well-formed
	sec, _ := strconv.ParseInt(since, 10, 64)
	state, err := base64.RawURLEncoding.DecodeString(encoded)
	return state, err == nil && time.Since(time.Unix(sec, 0)) < stateTime
}

func (r *round) sign(text string) []byte {
	// White space between the tokens of the arguments does not count.
	subject := bytes.NewBuffer(append(wire.Quote(r.name), '\n'))
	_ = json.Compact(subject, r.arguments) // they were read before, so they are JSON
	mac := hmac.New(sha256.New, sealKey)
	mac.Write(subject.Bytes())
	mac.Write([]byte{'\n'})
	mac.Write([]byte(text))
	return mac.Sum(nil)
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
