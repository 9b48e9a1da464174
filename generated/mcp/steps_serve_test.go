package mcp_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/generated/mcp/step20250326"
	"github.com/goldwire/goldwire/generated/mcp/step20250618"
	"github.com/goldwire/goldwire/generated/mcp/step20251125"
	"github.com/goldwire/goldwire/generated/mcp/step20260728"
	v20241105 "github.com/goldwire/goldwire/generated/mcp/v20241105"
	v20250326 "github.com/goldwire/goldwire/generated/mcp/v20250326"
	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// sideConverters are the functions that wrap whole servers and clients.
var sideConverters = map[string][]any{
	"step20250326": {step20250326.UpgradeServer, step20250326.DowngradeServer, step20250326.UpgradeClient, step20250326.DowngradeClient},
	"step20250618": {step20250618.UpgradeServer, step20250618.DowngradeServer, step20250618.UpgradeClient, step20250618.DowngradeClient},
	"step20251125": {step20251125.UpgradeServer, step20251125.DowngradeServer, step20251125.UpgradeClient, step20251125.DowngradeClient},
	"step20260728": {step20260728.UpgradeServer, step20260728.DowngradeServer, step20260728.UpgradeClient, step20260728.DowngradeClient},
}

// TestWrappedSidesHaveWhatBothRevisionsHave holds that a func is there when the
// wrapped side has it, and only then; and that flags and the like are copied.
func TestWrappedSidesHaveWhatBothRevisionsHave(t *testing.T) {
	apart := map[string]bool{"GetTask": true, "CancelTask": true, "TaskStatus": true} // of 2026-07-28: another conversation
	for name, list := range sideConverters {
		for _, f := range list {
			f := reflect.ValueOf(f)
			from, to := f.Type().In(0), f.Type().Out(0)
			t.Run(name+"/"+from.PkgPath()[len(from.PkgPath())-9:]+"."+from.Name(), func(t *testing.T) {
				require.Equal(t, "", set(f.Call([]reflect.Value{reflect.Zero(from)})[0]), "of nothing")
				in := reflect.New(from).Elem()
				for i := range in.NumField() {
					switch fl := in.Field(i); fl.Kind() {
					case reflect.Func:
						fl.Set(reflect.MakeFunc(fl.Type(), func([]reflect.Value) []reflect.Value { panic("not called") }))
					case reflect.Bool:
						fl.SetBool(true)
					case reflect.String:
						fl.SetString("x")
					case reflect.Map:
						fl.Set(reflect.ValueOf(map[string]wire.Raw{"x": wire.Raw("{}")}))
					case reflect.Pointer:
						fl.Set(reflect.New(fl.Type().Elem()))
					}
				}
				out := f.Call([]reflect.Value{in})[0]
				for i := range out.NumField() {
					name := to.Field(i).Name
					_, both := from.FieldByName(name)
					if name == "Info" || name == "Options" || apart[name] {
						continue
					}
					require.Equal(t, both, !out.Field(i).IsZero(), name)
				}
			})
		}
	}
}

// set names the first field of a struct that is set.
func set(v reflect.Value) string {
	for i := range v.NumField() {
		if k := v.Field(i).Kind(); k != reflect.Struct && !v.Field(i).IsZero() {
			return v.Type().Field(i).Name
		}
	}
	return ""
}

// TestWrappedServerTellsOfLosses holds where losses are told, and what becomes
// of params and results that the other revision cannot say.
func TestWrappedServerTellsOfLosses(t *testing.T) {
	newer := v20251125.Server{
		Info: v20251125.Implementation{Name: "s", Version: "1", Description: new("lost")},
		ListTools: func(context.Context, *v20251125.ListToolsParams) (*v20251125.ListToolsResult, error) {
			return &v20251125.ListToolsResult{Tools: []v20251125.Tool{
				{Name: "a", InputSchema: wire.Raw(`{"type":"object"}`), Icons: []v20251125.Icon{{Src: "data:,"}}},
				{Name: "b", InputSchema: wire.Raw(`{"type":"object"}`), Execution: &v20251125.ToolExecution{TaskSupport: new(v20251125.TaskSupportRequired)}},
				{Name: "c", InputSchema: wire.Raw(`{"type":"object"}`)},
			}}, nil
		},
	}
	older := step20251125.DowngradeServer(newer)
	require.Equal(t, v20250618.Implementation{Name: "s", Version: "1"}, older.Info)
	var told []wire.Loss
	ctx := wire.WithEnv(context.Background(), &wire.Env{OnLoss: func(l wire.Loss) { told = append(told, l) }})
	res, err := older.ListTools(ctx, &v20250618.ListToolsParams{})
	require.NoError(t, err)
	require.Len(t, res.Tools, 2)
	require.Equal(t, "c", res.Tools[1].Name)
	require.Equal(t, []wire.Loss{
		{Path: "tools/list result.tools[0].icons", Why: "no member of revision 2025-06-18"},
		{Path: "tools/list result.tools[1]", Why: "the tool runs as a task only, and 2025-06-18 has no tasks"},
	}, told)

	// a result that cannot be said is an internal error, params are invalid ones
	audio := step20250326.DowngradeServer(v20250326.Server{
		CallTool: func(context.Context, *v20250326.CallToolParams) (*v20250326.CallToolResult, error) {
			return &v20250326.CallToolResult{Content: []v20250326.ContentBlock{&v20250326.AudioContent{Data: "QUJD", MIMEType: "audio/wav"}}}, nil
		},
	})
	strict := wire.WithEnv(context.Background(), &wire.Env{Policy: wire.Fail})
	_, err = audio.CallTool(strict, &v20241105.CallToolParams{Name: "speak"})
	var e *jsonrpc.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, jsonrpc.CodeInternalError, e.Code)
	require.Equal(t, "result.content[0]: 2024-11-05 has no audio", e.Message)
	var cannot *wire.ConvertError
	require.ErrorAs(t, err, &cannot)
	said, err := audio.CallTool(context.Background(), &v20241105.CallToolParams{Name: "speak"})
	require.NoError(t, err)
	require.Equal(t, "audio/wav, 3 B", said.Content[0].(*v20241105.TextContent).Text)

	asked := step20251125.UpgradeClient(v20250618.Client{
		Elicit: func(context.Context, v20250618.ElicitParams) (*v20250618.ElicitResult, error) { panic("not asked") },
	})
	_, err = asked.Elicit(context.Background(), &v20251125.ElicitURLParams{URL: "https://example.com", ElicitationID: "1"})
	require.ErrorAs(t, err, &e)
	require.Equal(t, jsonrpc.CodeInvalidParams, e.Code)
	require.Equal(t, "params.mode: 2025-06-18 elicits by form only", e.Message)
}

// TestWrappedClientByURLAlone holds that a client which elicits by URL alone
// does not elicit where there is no other way than by form.
func TestWrappedClientByURLAlone(t *testing.T) {
	elicit := func(context.Context, v20251125.ElicitParams) (*v20251125.ElicitResult, error) { return nil, nil }
	require.Nil(t, step20251125.DowngradeClient(v20251125.Client{Elicit: elicit, ElicitationURL: true}).Elicit)
	require.NotNil(t, step20251125.DowngradeClient(v20251125.Client{Elicit: elicit, ElicitationURL: true, ElicitationForm: true}).Elicit)
	require.NotNil(t, step20251125.DowngradeClient(v20251125.Client{Elicit: elicit}).Elicit)
}

// TestWrappedServerKeepsUnknownMethodsApart holds that what one revision names
// does not reach the other's func for what nobody names.
func TestWrappedServerKeepsUnknownMethodsApart(t *testing.T) {
	var got []string
	older := step20251125.DowngradeServer(v20251125.Server{
		Unknown: func(_ context.Context, method string, _ wire.Raw) (wire.Raw, error) {
			got = append(got, method)
			return wire.Raw("{}"), nil
		},
		UnknownNotification: func(_ context.Context, method string, _ wire.Raw) { got = append(got, method) },
	})
	ctx := context.Background()
	_, err := older.Unknown(ctx, "tasks/get", nil)
	require.ErrorIs(t, err, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound})
	_, err = older.Unknown(ctx, "x/y", nil)
	require.NoError(t, err)
	older.UnknownNotification(ctx, "notifications/tasks/status", nil)
	older.UnknownNotification(ctx, "notifications/x", nil)
	require.Equal(t, []string{"x/y", "notifications/x"}, got)
}

// TestErrorsChangeWithTheHandshake holds which code an error has in 2025-11-25
// and in 2026-07-28.
func TestErrorsChangeWithTheHandshake(t *testing.T) {
	code := func(err error) int64 {
		var e *jsonrpc.Error
		require.ErrorAs(t, err, &e)
		return e.Code
	}
	for _, c := range []struct {
		method   string
		in       int64
		up, down int64 // 0: as it is
	}{
		{"resources/read", jsonrpc.CodeResourceNotFound, jsonrpc.CodeInvalidParams, 0},
		{"resources/read", jsonrpc.CodeInvalidParams, 0, jsonrpc.CodeResourceNotFound},
		{"tools/call", jsonrpc.CodeResourceNotFound, 0, 0},
		{"tools/call", jsonrpc.CodeInvalidParams, 0, 0},
		{"tools/call", jsonrpc.CodeHeaderMismatch, 0, jsonrpc.CodeInvalidRequest},
		{"tools/call", jsonrpc.CodeMissingClientCapability, 0, jsonrpc.CodeInvalidRequest},
		{"tools/call", jsonrpc.CodeUnsupportedProtocolVersion, 0, jsonrpc.CodeInvalidRequest},
		{"tools/call", -32603, 0, 0},
	} {
		in := &jsonrpc.Error{Code: c.in, Message: "m", Data: wire.Raw(`{"uri":"x"}`)}
		for name, f := range map[string]func(string, error) error{"up": step20260728.UpgradeError, "down": step20260728.DowngradeError} {
			want := map[string]int64{"up": c.up, "down": c.down}[name]
			if want == 0 {
				want = c.in
			}
			out := f(c.method, in)
			require.Equal(t, want, code(out), "%s %d %s", c.method, c.in, name)
			require.ErrorContains(t, out, "m")
			require.Equal(t, c.in, in.Code, "the error that was given is not changed")
		}
	}
	plain := errors.New("x")
	require.Equal(t, plain, step20260728.UpgradeError("tools/call", plain))

	visit := v20251125.NewURLElicitationRequiredError(&v20251125.URLElicitationRequiredData{Elicitations: []v20251125.ElicitURLParams{
		{ElicitationID: "login", Message: "log in", URL: "https://example.com"}, {ElicitationID: "login", Message: "again", URL: "https://example.com/2"},
	}})
	var need *v20260728.InputRequiredError
	require.ErrorAs(t, step20260728.UpgradeError("tools/call", visit), &need)
	require.Len(t, need.InputRequests, 2)
	require.Equal(t, "https://example.com", need.InputRequests["login"].(*v20260728.ElicitRequest).Params.(*v20260728.ElicitURLParams).URL)
	require.Equal(t, error(need), step20260728.DowngradeError("tools/call", need), "what becomes of it is not for a conversion to say")
	visit.Data = wire.Raw(`{}`)
	require.Equal(t, error(visit), step20260728.UpgradeError("tools/call", visit), "nothing to visit")
}

// TestWrappedHandlerSeesItsOwnPeer lets a server of 2025-11-25 ask a client of
// 2025-03-26 and of 2024-11-05 in the middle of a call, two and three revisions
// apart.
func TestWrappedHandlerSeesItsOwnPeer(t *testing.T) {
	var info *v20251125.Implementation
	var caps *v20251125.ClientCapabilities
	newer := v20251125.Server{
		Info:      v20251125.Implementation{Name: "s", Version: "1"},
		ListTools: func(context.Context, *v20251125.ListToolsParams) (*v20251125.ListToolsResult, error) { return nil, nil },
		CallTool: func(ctx context.Context, _ *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
			peer := v20251125.Peer(ctx)
			info, caps = peer.Info(), peer.Capabilities()
			r, err := peer.CreateMessage(ctx, &v20251125.CreateMessageParams{MaxTokens: 1, Messages: []v20251125.SamplingMessage{
				{Role: v20251125.RoleUser, Content: v20251125.NewSamplingContent(&v20251125.TextContent{Text: "hello"})},
			}})
			if err != nil {
				return nil, err
			}
			return &v20251125.CallToolResult{Content: []v20251125.ContentBlock{r.Content.Items[0].(*v20251125.TextContent)}}, nil
		},
	}
	older := step20250326.DowngradeServer(step20250618.DowngradeServer(step20251125.DowngradeServer(newer)))
	here, there := jsonl.InMemory()
	done := make(chan error, 1)
	go func() { done <- jsonrpc.Serve(context.Background(), there, older) }()
	remote, err := v20241105.Connect(t.Context(), here, v20241105.Client{
		Info: v20241105.Implementation{Name: "c", Version: "2"},
		CreateMessage: func(_ context.Context, p *v20241105.CreateMessageParams) (*v20241105.CreateMessageResult, error) {
			return &v20241105.CreateMessageResult{Role: v20241105.RoleAssistant, Model: "m", Content: &v20241105.TextContent{
				Text: p.Messages[0].Content.(*v20241105.TextContent).Text + " back",
			}}, nil
		},
	})
	require.NoError(t, err)
	res, err := remote.CallTool(t.Context(), &v20241105.CallToolParams{Name: "ask"})
	require.NoError(t, err)
	require.Equal(t, "hello back", res.Content[0].(*v20241105.TextContent).Text)
	require.Equal(t, "c", info.Name)
	require.NotNil(t, caps.Sampling)
	require.Nil(t, caps.Elicitation)

	// what a remote server does not advertise has no func after a conversion either
	young := step20250326.UpgradeServer(remote.Server)
	require.NotNil(t, young.CallTool)
	require.Nil(t, young.GetPrompt)
	require.Equal(t, "s", young.Info.Name)
	again, err := young.CallTool(t.Context(), &v20250326.CallToolParams{Name: "ask"})
	require.NoError(t, err)
	require.Len(t, again.Content, 1)

	require.NoError(t, remote.Close())
	require.NoError(t, <-done)
}
