package everything

//lint:file-ignore SA1019 The reference server offers the features that the revision retires, too.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/args"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

const (
	said    = `{"action":"accept","content":{"name":"Ada","username":"Ada","email":"ada@example.com","answer":"Ada","color":"blue","ok":true,"confirm":true}}`
	modeled = `{"role":"assistant","content":{"type":"text","text":"Hi"},"model":"m"}`
	rooted  = `{"roots":[{"uri":"file:///work"}]}`
)

// able is a client that can do everything, and leaves it to the test: a request
// for input comes back as it is.
func able() mcp.Client {
	return mcp.Client{
		Info:   mcp.Implementation{Name: "test", Version: "1"},
		Elicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, errLater },
		CreateMessage: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return nil, errLater
		},
		ListRoots: func(context.Context, *mcp.ListRootsParams) (*mcp.ListRootsResult, error) { return nil, errLater },
	}
}

var errLater = errors.New("the test answers")

// session is a client of the reference server.
type session struct {
	*mcp.RemoteServer
	t *testing.T
}

func start(t *testing.T, c mcp.Client) *session {
	t.Helper()
	here, there := jsonl.InMemory()
	served := make(chan error, 1)
	go func() { served <- jsonrpc.Serve(context.Background(), there, New()) }()
	s, err := mcp.Connect(t.Context(), here, c)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, <-served)
	})
	return &session{s, t}
}

func (s *session) try(name, arguments string, answers mcp.InputResponses, state *string) (*mcp.CallToolResult, error) {
	return s.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: wire.Raw(arguments), InputResponses: answers, RequestState: state})
}

// asks makes a call that asks for something.
func (s *session) asks(name, arguments string, answers mcp.InputResponses, state *string) *mcp.InputRequiredError {
	s.t.Helper()
	_, err := s.try(name, arguments, answers, state)
	e, ok := errors.AsType[*mcp.InputRequiredError](err)
	require.True(s.t, ok, "%v", err)
	require.NoError(s.t, e.Validate())
	return e
}

// answerAll answers what a result asks for.
func answerAll(t *testing.T, e *mcp.InputRequiredError) mcp.InputResponses {
	t.Helper()
	answers := mcp.InputResponses{}
	for key, q := range e.InputRequests {
		switch q.(type) {
		case *mcp.ElicitRequest:
			answers[key] = mcp.InputResponse{Raw: wire.Raw(said)}
		case *mcp.CreateMessageRequest:
			answers[key] = mcp.InputResponse{Raw: wire.Raw(modeled)}
		case *mcp.ListRootsRequest:
			answers[key] = mcp.InputResponse{Raw: wire.Raw(rooted)}
		default:
			t.Fatalf("%T", q)
		}
	}
	return answers
}

func codeOf(err error) int64 {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e.Code
	}
	return 0
}

// TestToolsThatAsk holds what each tool asks for in its rounds, and what it makes
// of the answers.
func TestToolsThatAsk(t *testing.T) {
	for _, c := range []struct {
		name, arguments string
		rounds          [][]string // keys
		state           bool
		text            string
	}{
		{"ask", `{"question":"Who?"}`, [][]string{{"answer"}}, true, "answer: Ada"},
		{"sample", `{"prompt":"Say hi"}`, [][]string{{"sample"}}, true, "Hi"},
		{"roots", `{}`, [][]string{{"roots"}}, true, "file:///work"},
		{"test_sampling", `{"prompt":"Say hi"}`, [][]string{{"answer"}}, false, "The model says: Hi"},
		{"test_elicitation", `{"message":"Who?"}`, [][]string{{"answer"}}, false, "The user's answer: accept, answer: Ada, color: blue, confirm: true, email: ada@example.com, name: Ada, ok: true, username: Ada"},
		{"test_input_required_result_elicitation", `{}`, [][]string{{"user_name"}}, false, "Hello, Ada!"},
		{"test_input_required_result_sampling", `{}`, [][]string{{"capital"}}, false, "The model says: Hi"},
		{"test_input_required_result_list_roots", `{}`, [][]string{{"roots"}}, false, "The roots are file:///work"},
		{"test_input_required_result_request_state", `{}`, [][]string{{"confirm"}}, true, "state-ok, the user said accept"},
		{"test_input_required_result_multiple_inputs", `{}`, [][]string{{"greeting", "roots", "user_name"}}, true, "Hi, Ada: file:///work"},
		{"test_input_required_result_multi_round", `{}`, [][]string{{"step1"}, {"step2"}}, true, "Ada likes blue."},
		{"test_input_required_result_capabilities", `{}`, [][]string{{"greeting", "roots", "user_name"}}, false, "The client said: Ada, Hi, file:///work"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, able())
			var answers mcp.InputResponses
			var state *string
			for _, keys := range c.rounds {
				e := s.asks(c.name, c.arguments, answers, state)
				require.Equal(t, keys, slices.Sorted(maps.Keys(e.InputRequests)))
				require.Equal(t, c.state, e.RequestState != nil)
				require.False(t, state != nil && *state == *e.RequestState, "a state of its own for each round")
				answers, state = answerAll(t, e), e.RequestState
			}
			res, err := s.try(c.name, c.arguments, answers, state)
			require.NoError(t, err)
			require.Equal(t, c.text, res.Content[0].(*mcp.TextContent).Text)

			_, err = start(t, mcp.Client{}).try(c.name, c.arguments, nil, nil)
			if c.name != "test_input_required_result_capabilities" {
				require.Equal(t, jsonrpc.CodeMissingClientCapability, codeOf(err), "%v", err)
			}
		})
	}
}

// TestAnswersThatDoNotFit holds that a missing answer is asked for again, an
// answer of another kind refused, and one that nobody asked for passed over.
func TestAnswersThatDoNotFit(t *testing.T) {
	const name = "test_input_required_result_elicitation"
	answer := func(pairs ...string) mcp.InputResponses {
		r := mcp.InputResponses{}
		for i := 0; i < len(pairs); i += 2 {
			r[pairs[i]] = mcp.InputResponse{Raw: wire.Raw(pairs[i+1])}
		}
		return r
	}
	s := start(t, able())
	s.asks(name, "{}", answer("user", said), nil)
	_, err := s.try(name, "{}", answer("user_name", "12345"), nil)
	require.Equal(t, jsonrpc.CodeInvalidParams, codeOf(err), "%v", err)
	res, err := s.try(name, "{}", answer("user_name", said, "other", "1"), nil)
	require.NoError(t, err)
	require.Equal(t, "Hello, Ada!", res.Content[0].(*mcp.TextContent).Text)
	for _, c := range []struct{ name, key, content, want string }{
		{name, "user_name", `{"name":7}`, "inputResponses.user_name.content.name: want a string, got a number"},
		{name, "user_name", `{}`, "inputResponses.user_name.content.name: missing"},
		{"test_elicitation_sep1034_defaults", "answer", `{"age":30.5}`, "inputResponses.answer.content.age: want an integer, got a fraction"},
		{"test_elicitation_sep1330_enums", "answer", `{"titledMulti":["One"]}`, `inputResponses.answer.content.titledMulti[0]: want one of "value1", "value2", "value3"`},
	} {
		_, err := s.try(c.name, "{}", answer(c.key, `{"action":"accept","content":`+c.content+`}`), nil)
		e, ok := errors.AsType[*jsonrpc.Error](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, jsonrpc.CodeInvalidParams, e.Code)
		require.Equal(t, c.want, e.Message)
		_, err = s.try(c.name, "{}", answer(c.key, `{"action":"decline","content":`+c.content+`}`), nil)
		require.NoError(t, err)
	}
}

// TestCapabilitiesDecideWhatIsAsked holds that a client is asked for nothing that
// it does not declare.
func TestCapabilitiesDecideWhatIsAsked(t *testing.T) {
	const name = "test_input_required_result_capabilities"
	e := start(t, mcp.Client{CreateMessage: able().CreateMessage}).asks(name, "{}", nil, nil)
	require.Equal(t, []string{"greeting"}, slices.Sorted(maps.Keys(e.InputRequests)))
	_, err := start(t, mcp.Client{Elicit: able().Elicit, ElicitationURL: true}).try("ask", `{"question":"Who?"}`, nil, nil)
	require.Equal(t, jsonrpc.CodeMissingClientCapability, codeOf(err), "a client that sends its user to pages shows no forms")
}

// TestStateIsHeld holds that a tool that gives out a state wants it back, for the
// same call and unchanged.
func TestStateIsHeld(t *testing.T) {
	const name, arguments = "ask", `{"question":"Who?"}`
	s := start(t, able())
	e := s.asks(name, arguments, nil, nil)
	state, answers := *e.RequestState, answerAll(t, e)
	_, err := s.try(name, arguments, answers, &state)
	require.NoError(t, err)
	for why, c := range map[string]struct {
		name, arguments string
		state           *string
	}{
		"other arguments": {name, `{"question":"When?"}`, &state},
		"another tool":    {"test_input_required_result_request_state", `{}`, &state},
		"no state":        {name, arguments, nil},
		"longer":          {name, arguments, new(state + "x")},
		"shorter":         {name, arguments, new(state[:len(state)-1])},
		"empty":           {name, arguments, new("")},
	} {
		_, err := s.try(c.name, c.arguments, answers, c.state)
		require.Equal(t, jsonrpc.CodeInvalidParams, codeOf(err), "%s: %v", why, err)
	}
}

// TestEveryFixtureWorks uses all that the server lists as a client that answers
// whatever it is asked.
func TestEveryFixtureWorks(t *testing.T) {
	c := &client{}
	c.RemoteServer = start(t, c.side()).RemoteServer
	list, err := c.tools(t.Context())
	require.NoError(t, err)
	require.Len(t, list, len(tools))
	_, err = c.call(t.Context(), list[0].Name, wire.Raw("{}"))
	require.NoError(t, err, "the first tool takes no arguments")
	arguments := map[string]string{"log": `{"level":"info","message":"x"}`, "change": `{"list":"tools"}`}
	fails := []string{"fail", "test_error_handling"}
	refuses := []string{"failing_job", "protocol_error_job", "test_tool_with_task"} // a client that does not know tasks
	for _, tool := range list {
		a := anyArguments(tool.InputSchema)
		if given, ok := arguments[tool.Name]; ok {
			a = wire.Raw(given)
		}
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: a})
		if slices.Contains(refuses, tool.Name) {
			require.Equal(t, jsonrpc.CodeMissingClientCapability, codeOf(err), "%s: %v", tool.Name, err)
			continue
		}
		require.NoError(t, err, tool.Name)
		require.NoError(t, res.Validate(), tool.Name)
		require.NotEmpty(t, res.Content, tool.Name)
		require.Equal(t, slices.Contains(fails, tool.Name), or(res.IsError, false), "%s: %s", tool.Name, res.AppendJSON(nil))
	}
	for p, err := range c.Prompts(t.Context(), nil) {
		require.NoError(t, err)
		given := map[string]string{}
		for _, a := range p.Arguments {
			given[a.Name] = "x-" + a.Name
		}
		res, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: p.Name, Arguments: given})
		require.NoError(t, err, p.Name)
		require.NoError(t, res.Validate(), p.Name)
		for _, value := range given {
			require.Contains(t, string(res.AppendJSON(nil)), value)
		}
		for name := range given {
			_, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.PromptReference{Name: p.Name}, Argument: mcp.CompleteArgument{Name: name}})
			require.NoError(t, err)
		}
	}
	for r, err := range c.Resources(t.Context(), nil) {
		require.NoError(t, err)
		res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: r.URI})
		require.NoError(t, err, r.URI)
		require.NoError(t, res.Validate(), r.URI)
	}
}

// TestToolsThatBecomeTasks holds how each of them goes on, and ends.
func TestToolsThatBecomeTasks(t *testing.T) {
	for _, c := range []struct {
		name, arguments string
		asks            []string
		status          mcp.TaskStatus
		says            string // in the result or the error
	}{
		{"slow_compute", `{"seconds":5,"label":"it"}`, nil, mcp.TaskStatusCompleted, "Computed it for 5 s."},
		{"slow_compute", `{"seconds":-1}`, nil, mcp.TaskStatusCompleted, "seconds: "},
		{"failing_job", `{}`, nil, mcp.TaskStatusCompleted, `"isError":true`},
		{"protocol_error_job", `{}`, nil, mcp.TaskStatusFailed, "the job broke"},
		{"confirm_delete", `{"filename":"x.txt"}`, []string{"confirm"}, mcp.TaskStatusCompleted, "Deleted x.txt."},
		{"multi_input", `{}`, []string{"first", "second"}, mcp.TaskStatusCompleted, "Hello, Ada Ada!"},
		{"test_tool_with_task", `{}`, nil, mcp.TaskStatusCompleted, "Hello, Ada!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := able()
				client.Tasks = true
				s := start(t, client)
				var answers mcp.InputResponses
				if c.name == "test_tool_with_task" {
					answers = answerAll(t, s.asks(c.name, c.arguments, nil, nil))
				}
				_, err := s.try(c.name, c.arguments, answers, nil)
				created, ok := errors.AsType[*mcp.TaskCreated](err)
				require.True(t, ok, "%v", err)
				id := created.Task().TaskID
				get := func() *mcp.GetTaskResult {
					time.Sleep(10 * time.Second)
					r, err := s.GetTask(t.Context(), &mcp.GetTaskParams{TaskID: id})
					require.NoError(t, err)
					require.NoError(t, r.Validate())
					return r
				}
				r := get()
				if c.asks != nil {
					require.Equal(t, mcp.TaskStatusInputRequired, r.Status)
					require.Equal(t, c.asks, slices.Sorted(maps.Keys(r.InputRequests)))
					_, err := s.UpdateTask(t.Context(), &mcp.UpdateTaskParams{TaskID: id, InputResponses: answerAll(t, mcp.NewInputRequiredError(r.InputRequests, nil))})
					require.NoError(t, err)
					r = get()
				}
				require.Equal(t, c.status, r.Status)
				require.Contains(t, string(r.AppendJSON(nil)), c.says)
			})
		})
	}
}

// TestFormThatNothingFitsIsDeclined holds that no answer is made up for a form
// that asks for what there is not.
func TestFormThatNothingFitsIsDeclined(t *testing.T) {
	field := &mcp.UntitledSingleSelectEnumSchema{Enum: []string{}}
	p := &mcp.ElicitFormParams{RequestedSchema: mcp.ElicitSchema{Properties: map[string]mcp.PrimitiveSchemaDefinition{"f": field}, Required: []string{"f"}}}
	res, err := (&client{}).side().Elicit(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, &mcp.ElicitResult{Action: mcp.ElicitActionDecline}, res)
}

// TestTemplates holds which URIs the templates make.
func TestTemplates(t *testing.T) {
	for uri, text := range map[string]string{
		"note:///Ada":              "A note about Ada.",
		"test://template/123/data": `{"id":"123"}`,
		"test://static-text":       "This text never changes.",
	} {
		c, ok := read(uri).(*mcp.TextResourceContents)
		require.True(t, ok, uri)
		require.Equal(t, text, c.Text)
		require.Equal(t, uri, c.URI)
	}
	for _, uri := range []string{"", "note:///", "note:///a/b", "test://template//data", "test://template/123/dat", "test://template/a/b/data", "test://other"} {
		require.Nil(t, read(uri), uri)
	}
}

// TestRun holds that the client lists what the server offers, and what it says of
// scenarios and servers that are not there.
func TestRun(t *testing.T) {
	h := streamhttp.NewHandler(New())
	srv := httptest.NewServer(h)
	defer srv.Close()
	defer h.Close()
	var out strings.Builder
	require.NoError(t, Run(t.Context(), streamhttp.URL(srv.URL), Scenario{}, &out))
	require.Equal(t, fmt.Sprintf("%s %s, %d tools, %d prompts, %d resources\n", Name, Version, len(tools), len(promptList), len(resourceList)), out.String())
	require.ErrorContains(t, Run(t.Context(), streamhttp.URL(srv.URL), Scenario{Name: "tools_call"}, io.Discard), "add_numbers")
	err := Run(t.Context(), streamhttp.URL(srv.URL), Scenario{Name: "auth/dpop"}, io.Discard)
	_, ok := errors.AsType[*UnknownScenarioError](err)
	require.True(t, ok, "%v", err)
	require.ErrorContains(t, err, "http-custom-headers")
	require.Error(t, Run(t.Context(), streamhttp.URL("nonsense"), Scenario{}, io.Discard))
}

// TestFillIn holds that a form's defaults win, that what has none gets a value
// that fits, and that a field which none fits stays empty, or has the form
// declined where it is required.
func TestFillIn(t *testing.T) {
	form := func(text string) *mcp.ElicitSchema {
		s := &mcp.ElicitSchema{}
		require.NoError(t, s.UnmarshalJSON([]byte(text)))
		return s
	}
	for text, want := range map[string]string{
		`{"type":"string"}`:                                                    `"text"`,
		`{"type":"string","default":""}`:                                       `""`,
		`{"type":"string","minLength":5}`:                                      `"textt"`,
		`{"type":"string","maxLength":1}`:                                      `"t"`,
		`{"type":"string","minLength":-2,"maxLength":-1}`:                      `""`,
		`{"type":"string","format":"email"}`:                                   `"user@example.com"`,
		`{"type":"integer"}`:                                                   `1`,
		`{"type":"number","minimum":2.5}`:                                      `2.5`,
		`{"type":"number","maximum":-1}`:                                       `-1`,
		`{"type":"number","default":95.5,"minimum":1}`:                         `95.5`,
		`{"type":"boolean"}`:                                                   `true`,
		`{"type":"boolean","default":false}`:                                   `false`,
		`{"type":"string","enum":["a","b"]}`:                                   `"a"`,
		`{"type":"string","enum":["a","b"],"default":"b"}`:                     `"b"`,
		`{"type":"string","enum":["a","b"],"enumNames":["A","B"]}`:             `"a"`,
		`{"type":"string","oneOf":[{"const":"a","title":"A"}]}`:                `"a"`,
		`{"type":"array","items":{"type":"string","enum":["a","b"]}}`:          `["a"]`,
		`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}`:       `["a"]`,
		`{"type":"array","items":{"type":"string","enum":["a"]},"default":[]}`: `[]`,

		`{"type":"integer","minimum":2.5}`:                                                                      `3`,
		`{"type":"integer","minimum":0.5,"maximum":1.5}`:                                                        `1`,
		`{"type":"integer","maximum":-1.5}`:                                                                     `-2`,
		`{"type":"integer","minimum":0.2,"maximum":0.8}`:                                                        ``,
		`{"type":"number","minimum":2,"maximum":1}`:                                                             ``,
		`{"type":"number","default":5,"maximum":1}`:                                                             `1`,
		`{"type":"array","items":{"type":"string","enum":["a","b","c"]},"minItems":2}`:                          `["a","b"]`,
		`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]},"minItems":2}`: `["a","b"]`,
		`{"type":"array","items":{"type":"string","enum":["a"]},"minItems":2}`:                                  ``,
		`{"type":"array","items":{"type":"string","enum":["a"]},"maxItems":0}`:                                  `[]`,
		`{"type":"array","items":{"type":"string","enum":["a","b"]},"default":[],"minItems":1}`:                 `["a"]`,
		`{"type":"array","items":{"type":"string","enum":[]}}`:                                                  `[]`,
		`{"type":"array","items":{"type":"string","enum":[]},"minItems":1}`:                                     ``,
		`{"type":"array","items":{"type":"string","enum":["a"]},"minItems":-1,"maxItems":-1}`:                   `[]`,
		`{"type":"string","enum":[]}`:                                                                           ``,
		`{"type":"string","enum":[],"enumNames":[]}`:                                                            ``,
		`{"type":"string","oneOf":[]}`:                                                                          ``,
		`{"type":"string","format":"email","maxLength":10}`:                                                     `"a@b.co"`,
		`{"type":"string","format":"email","maxLength":5}`:                                                      ``,
		`{"type":"string","format":"email","minLength":20}`:                                                     `"aaaaaaaaaaaaaaa@b.co"`,
		`{"type":"string","format":"uri","maxLength":3}`:                                                        `"a:a"`,
		`{"type":"string","format":"uri","minLength":21}`:                                                       `"a:aaaaaaaaaaaaaaaaaaa"`,
		`{"type":"string","format":"date","maxLength":9}`:                                                       ``,
		`{"type":"string","format":"date-time","minLength":22}`:                                                 `"2026-01-31T12:00:00.0Z"`,
		`{"type":"string","minLength":3,"maxLength":2}`:                                                         ``,
		`{"type":"string","minLength":9000000000}`:                                                              ``,
		`{"type":"string","pattern":"^[0-9]+$"}`:                                                                ``,
	} {
		s := form(`{"type":"object","properties":{"f":` + text + `}}`)
		got, ok := fillIn(s)
		require.True(t, ok, text)
		f, filled := got["f"]
		s.Required = []string{"f"}
		_, ok = fillIn(s)
		require.Equal(t, want != "", ok, text)
		require.Equal(t, want != "", filled, "%s: %s", text, f.Raw)
		if !filled {
			continue
		}
		require.JSONEq(t, want, string(f.AppendJSON(nil)), text)
		require.NoError(t, args.CheckAnswer(&mcp.ElicitFormParams{RequestedSchema: *s}, &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: got}), text)
	}
}
