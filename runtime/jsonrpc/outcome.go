package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// maxRounds bounds how often one call is answered with a request for input.
const maxRounds = 10

// inputOutcome decodes a result by its resultType.
type inputOutcome[R, I any, PR interface {
	*R
	wire.Decoder
}, PI interface {
	*I
	wire.Decoder
	ResultError
}] struct {
	result PR
	input  PI
	other  *ResultTypeError
}

// DecodeJSON decodes the result that resultType names.
func (o *inputOutcome[R, I, PR, PI]) DecodeJSON(d *wire.Dec) error {
	switch t, ok, err := d.Disc("resultType"); {
	case err != nil:
		return err
	case !ok || t == "complete":
		o.result = new(R)
		return o.result.DecodeJSON(d)
	case t == "input_required":
		o.input = new(I)
		return o.input.DecodeJSON(d)
	default:
		raw, err := d.RawObject()
		o.other = &ResultTypeError{Type: t, Raw: raw.Clone()}
		return err
	}
}

// roundOutcome is inputOutcome where resultType may be task as well.
type roundOutcome[R, I, T any, PR interface {
	*R
	wire.Decoder
}, PI interface {
	*I
	wire.Decoder
	ResultError
}, PT interface {
	*T
	wire.Decoder
	ResultError
}] struct {
	inputOutcome[R, I, PR, PI]
	task     PT
	declared bool // a task may come
}

// DecodeJSON decodes the result that resultType names.
func (o *roundOutcome[R, I, T, PR, PI, PT]) DecodeJSON(d *wire.Dec) error {
	if t, _, err := d.Disc("resultType"); err != nil || t != "task" || !o.declared {
		return o.inputOutcome.DecodeJSON(d)
	}
	o.task = new(T)
	return o.task.DecodeJSON(d)
}

// CallInput is CallTyped for methods whose result may ask for input: with
// resultType input_required the error is a PI, with any other that is not
// complete a *ResultTypeError.
func CallInput[R, I, P any, PR interface {
	*R
	wire.Decoder
}, PI interface {
	*I
	wire.Decoder
	ResultError
}, PP Params[P]](ctx context.Context, c *Conn, method string, params PP) (PR, error) {
	if c != nil && c.local != nil {
		return localResult[R, PR](ctx, c, method, params)
	}
	o := new(inputOutcome[R, I, PR, PI])
	if err := callInto(ctx, c, method, o, params); err != nil {
		return nil, err
	}
	switch {
	case o.input != nil:
		return nil, o.input
	case o.other != nil:
		return nil, o.other
	}
	return o.result, nil
}

// taskOutcome decodes a result that is a task when it has that member.
type taskOutcome[R, T any, PR interface {
	*R
	wire.Decoder
}, PT interface {
	*T
	wire.Decoder
	ResultError
}] struct {
	result PR
	task   PT
}

// DecodeJSON decodes a task or the result.
func (o *taskOutcome[R, T, PR, PT]) DecodeJSON(d *wire.Dec) error {
	is, err := d.Has("task")
	if err != nil {
		return err
	}
	if is {
		o.task = new(T)
		return o.task.DecodeJSON(d)
	}
	o.result = new(R)
	return o.result.DecodeJSON(d)
}

// CallTask is CallTyped for calls that asked for a task: when the result has a
// task member the error is a PT.
func CallTask[R, T, P any, PR interface {
	*R
	wire.Decoder
}, PT interface {
	*T
	wire.Decoder
	ResultError
}, PP Params[P]](ctx context.Context, c *Conn, method string, params PP) (PR, error) {
	if c != nil && c.local != nil {
		return localResult[R, PR](ctx, c, method, params)
	}
	o := new(taskOutcome[R, T, PR, PT])
	if err := callInto(ctx, c, method, o, params); err != nil {
		return nil, err
	}
	if o.task != nil {
		return nil, o.task
	}
	return o.result, nil
}

// InputRequest is one entry of inputRequests.
type InputRequest struct {
	Method string   // "elicitation/create"
	Params wire.Raw // nil if absent
}

// InputRequired is what the generated InputRequiredError implements.
type InputRequired interface {
	ResultError
	// Inputs yields the requests, in a stable order.
	Inputs() iter.Seq2[string, InputRequest]
	// State returns requestState and whether it is there.
	State() (string, bool)
}

// DeclaredResult is a result that only a client may be given which declares a
// capability with the request: the TaskCreated of the tasks extension is one. For
// another client the request is answered with CodeMissingClientCapability.
type DeclaredResult interface {
	ResultError
	// ClientCapability is its path, of a nil pointer too.
	ClientCapability() string
}

// declared are the capabilities that the client declared with the request.
func (in *inbound) declared() wire.Raw {
	if a := in.metadata().ClientCapabilities; a != nil {
		return a.AppendJSON(nil)
	}
	return nil
}

// mustDeclare refuses a request whose client does not declare a capability.
func (in *inbound) mustDeclare(paths ...string) *Error {
	if len(paths) == 0 {
		return nil
	}
	declared := in.declared()
	var lacks []string
	for _, path := range paths {
		if !advertised(declared, path) {
			lacks = append(lacks, path)
		}
	}
	return lacking(lacks)
}

// lacking is the error that names the capabilities that a client lacks, by their
// paths; nil for none.
func lacking(paths []string) *Error {
	if len(paths) == 0 {
		return nil
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	lacks := map[string]any{}
	for _, path := range paths {
		addPath(lacks, path)
	}
	data, err := json.Marshal(map[string]any{"requiredCapabilities": lacks})
	if err != nil {
		return internalError(err)
	}
	return &Error{Code: CodeMissingClientCapability, Message: "the request needs what the client does not declare: " + strings.Join(paths, ", "), Data: data}
}

// mayAsk holds that a request for input asks for something, and that only what
// the client declared in the request's own capabilities is asked for or given.
// Another result is let through.
func (in *inbound) mayAsk(re ResultError) error {
	if !in.svc.rules.Stateless {
		return nil
	}
	if given, ok := re.(DeclaredResult); ok {
		if e := in.mustDeclare(given.ClientCapability()); e != nil {
			return e
		}
		return nil
	}
	need, ok := re.(InputRequired)
	if !ok {
		return nil
	}
	return mayAsk(func(name string) *Method { return in.svc.methods[name] }, in.metadata().ClientCapabilities, need)
}

// MayAsk holds that a request for input asks for something, and only for what a
// client declared in its capabilities, nil for none: otherwise it returns an
// *Error, CodeMissingClientCapability. methods is the table of the revision that
// the request for input is written in.
func MayAsk(methods []Method, capabilities wire.Appender, need InputRequired) error {
	return mayAsk(func(name string) *Method {
		if i := slices.IndexFunc(methods, func(m Method) bool { return m.Name == name }); i >= 0 {
			return &methods[i]
		}
		return nil
	}, capabilities, need)
}

func mayAsk(method func(name string) *Method, capabilities wire.Appender, need InputRequired) error {
	var declared wire.Raw
	if capabilities != nil {
		declared = capabilities.AppendJSON(nil)
	}
	asks := false
	var lacks []string
	for key, q := range need.Inputs() {
		asks = true
		m := method(q.Method)
		if m == nil {
			continue // an extension's
		}
		if !m.Embedded {
			return fmt.Errorf("the handler asks for %s (%q), which a client cannot be asked for", q.Method, key)
		}
		for _, path := range m.Capabilities {
			if side, bare := capabilitySide(path, ServerSide, false); side == ClientSide && bare != "" && !advertised(declared, bare) {
				lacks = append(lacks, bare)
			}
		}
		for i := range m.Gates {
			if g := &m.Gates[i]; g.asked(q.Params) && !grants(declared, g.Capability, g.OrEmpty) {
				lacks = append(lacks, g.Capability)
			}
		}
	}
	if _, state := need.State(); !asks && !state {
		return errors.New("the handler asks for input with neither requests nor state")
	}
	if e := lacking(lacks); e != nil {
		return e
	}
	return nil
}

// addPath makes an object for each name of a path, one in the other.
func addPath(at map[string]any, path string) {
	for _, name := range pathNames(path) {
		next, _ := at[name].(map[string]any)
		if next == nil {
			next = map[string]any{}
			at[name] = next
		}
		at = next
	}
}

// InputParams is what generated params of methods that may ask for input
// implement.
type InputParams[P any] interface {
	Params[P]
	// SetInputs sets inputResponses (nil: none) and requestState (nil:
	// none). It is called on a shallow copy.
	SetInputs(responses map[string]wire.Raw, state *string)
}

// CallRounds is CallInput that answers the server's requests for input with
// the handlers of the connection's own service, one after the other, and calls
// again, with a new id, until the result is complete or ten rounds have
// passed. When there is no handler for one of the requests it returns the
// InputRequired to the caller, and so it does when a handler fails, with the
// handler's error joined (*InputError). Specification: basic/patterns/mrtr
// (2026-07-28).
func CallRounds[R, I, P any, PR interface {
	*R
	wire.Decoder
}, PI interface {
	*I
	wire.Decoder
	InputRequired
}, PP InputParams[P]](ctx context.Context, c *Conn, method string, params PP) (PR, error) {
	return rounds[R, I, P, PR, PI](ctx, c, method, params, CallInput[R, I, P, PR, PI, PP])
}

// CallRoundsTask is CallRounds for methods that a server may go on with as a
// task: with resultType task the error is a PT. For a client that does not
// declare what a PT asks for such a result is a *ResultTypeError, as any other
// that it does not know. Specification: the tasks extension of 2026-07-28.
func CallRoundsTask[R, I, T, P any, PR interface {
	*R
	wire.Decoder
}, PI interface {
	*I
	wire.Decoder
	InputRequired
}, PT interface {
	*T
	wire.Decoder
	DeclaredResult
}, PP InputParams[P]](ctx context.Context, c *Conn, method string, params PP) (PR, error) {
	return rounds[R, I, P, PR, PI](ctx, c, method, params, func(ctx context.Context, c *Conn, method string, params PP) (PR, error) {
		if c != nil && c.local != nil {
			return localResult[R, PR](ctx, c, method, params)
		}
		o := new(roundOutcome[R, I, T, PR, PI, PT])
		var own Metadata
		if params != nil {
			own = params.Metadata()
		}
		o.declared = c.declares(ctx, own, PT(nil).ClientCapability())
		if err := callInto(ctx, c, method, o, params); err != nil {
			return nil, err
		}
		switch {
		case o.task != nil:
			return nil, o.task
		case o.input != nil:
			return nil, o.input
		case o.other != nil:
			return nil, o.other
		}
		return o.result, nil
	})
}

// declares reports whether a call declares an extension: by the _meta of its own
// params, else by that of the connection, unless it is passed on for a client
// that declares nothing.
func (c *Conn) declares(ctx context.Context, own Metadata, path string) bool {
	if c == nil {
		return false
	}
	caps := own.ClientCapabilities
	if caps == nil || declaresNothing(caps) {
		if in := inboundOf(ctx); in != nil && in.c != c && passedOn(in, own) {
			return false
		}
		caps = c.metadata().ClientCapabilities
	}
	return caps != nil && advertised(caps.AppendJSON(nil), path)
}

// rounds calls until the result is complete.
func rounds[R, I, P any, PR interface {
	*R
	wire.Decoder
}, PI interface {
	*I
	wire.Decoder
	InputRequired
}, PP InputParams[P]](ctx context.Context, c *Conn, method string, params PP, call func(context.Context, *Conn, string, PP) (PR, error)) (PR, error) {
	for round := 1; ; round++ {
		r, err := call(ctx, c, method, params)
		if err == nil {
			return r, nil
		}
		need, ok := err.(PI)
		if !ok {
			return nil, err
		}
		if round == maxRounds {
			return nil, fmt.Errorf("%s: still asked for input after %d rounds: %w", method, maxRounds, err)
		}
		responses, ok, aerr := c.answerInputs(ctx, need)
		switch {
		case aerr != nil:
			return nil, &InputError{Err: aerr, Required: need}
		case !ok:
			return nil, need
		}
		q := PP(new(P))
		if params != nil {
			*q = *params
		}
		var state *string
		if s, has := need.State(); has {
			state = &s
		}
		q.SetInputs(responses, state)
		params = q
	}
}

// InputError is a request for input that a handler failed to answer. Both the
// handler's error and the InputRequired can be found with errors.As.
type InputError struct {
	Err      error         // the handler's
	Required InputRequired // what the server asked for
}

// Error says what the handler failed with.
func (e *InputError) Error() string { return fmt.Sprintf("answering a request for input: %v", e.Err) }

// Unwrap returns both errors.
func (e *InputError) Unwrap() []error { return []error{e.Err, e.Required} }

// answerInputs answers all requests with the service's handlers. It is false
// when one has none, before any is asked.
func (c *Conn) answerInputs(ctx context.Context, need InputRequired) (map[string]wire.Raw, bool, error) {
	svc := c.Service()
	if svc == nil {
		return nil, false, nil
	}
	for _, q := range need.Inputs() {
		if e := svc.entries[q.Method]; e == nil || e.call == nil {
			return nil, false, nil
		}
	}
	var responses map[string]wire.Raw
	for key, q := range need.Inputs() {
		r, err := c.AnswerInput(ctx, q)
		if err != nil {
			return nil, false, fmt.Errorf("%s (%q): %w", q.Method, key, err)
		}
		if responses == nil {
			responses = make(map[string]wire.Raw)
		}
		responses[key] = r
	}
	return responses, true, nil
}

// AnswerInput runs the handler that the connection's own service has for an
// embedded request, and returns its bare result. Without one the error has
// CodeMethodNotFound.
func (c *Conn) AnswerInput(ctx context.Context, q InputRequest) (wire.Raw, error) {
	svc := c.Service()
	if svc == nil {
		return nil, methodNotFound(q.Method)
	}
	e := svc.entries[q.Method]
	if e == nil || e.call == nil {
		return nil, methodNotFound(q.Method)
	}
	in := &inbound{parent: ctx, c: c, svc: svc, method: q.Method, data: q.Params}
	defer in.release()
	if q.Params != nil {
		p, err := decodeParams(e, q.Params, c.o.MaxDepth)
		if err != nil {
			return nil, invalidParams(err)
		}
		in.params = p
	} else if e.required {
		return nil, Errorf(CodeInvalidParams, "%s: params are required", q.Method)
	}
	out, err := c.invoke(e, in, nil)
	return out, err
}

const (
	maxPages = 1_000
	maxItems = 10_000
)

// Pages iterates over the items of a paginated list. call fetches one page,
// items and next read it, and set puts a cursor into the copy of the params
// that the next call gets. It ends with an error on a repeated cursor, and
// after 1,000 pages or 10,000 items when there are more. Specification:
// server/utilities/pagination.
func Pages[P, R, T any](ctx context.Context, params *P, call func(context.Context, *P) (*R, error), items func(*R) []T, next func(*R) *string, set func(*P, *string)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		seen := map[string]bool{}
		count := 0
		p := params
		for page := 1; ; page++ {
			r, err := call(ctx, p)
			if err != nil {
				yield(nil, err)
				return
			}
			list := items(r)
			for i := range list {
				if count++; count > maxItems {
					yield(nil, &OverloadError{What: "items of a list", Limit: maxItems})
					return
				}
				if !yield(&list[i], nil) {
					return
				}
			}
			cursor := next(r)
			if cursor == nil {
				return
			}
			if seen[*cursor] {
				yield(nil, &CursorError{Cursor: *cursor})
				return
			}
			if page == maxPages {
				yield(nil, &OverloadError{What: "pages of a list", Limit: maxPages})
				return
			}
			seen[*cursor] = true
			q := new(P)
			if params != nil {
				*q = *params
			}
			set(q, cursor)
			p = q
		}
	}
}

// CursorError is a list whose cursor came a second time: it would never end.
type CursorError struct {
	Cursor string // that came twice
}

// Error names the cursor.
func (e *CursorError) Error() string { return fmt.Sprintf("the cursor %q came twice", e.Cursor) }
