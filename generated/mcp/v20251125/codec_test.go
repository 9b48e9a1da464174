package mcp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20251125"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestZeroValuesAreWritten holds exact bytes for what only this revision has.
func TestZeroValuesAreWritten(t *testing.T) {
	for _, c := range []struct {
		v    wire.Appender
		want string
	}{
		{&mcp.Task{}, `{"createdAt":"","lastUpdatedAt":"","status":"","taskId":"","ttl":null}`},
		{&mcp.Task{TTL: new(int64(0)), PollInterval: new(int64(0))}, `{"createdAt":"","lastUpdatedAt":"","status":"","taskId":"","ttl":0,"pollInterval":0}`},
		{&mcp.TaskMetadata{}, `{}`},
		{&mcp.TaskMetadata{TTL: new(int64(0))}, `{"ttl":0}`},
		{&mcp.CancelledParams{}, `{}`},
		{&mcp.CancelledParams{RequestID: jsonrpc.NewID(0)}, `{"requestId":0}`},
		{&mcp.CancelledParams{RequestID: jsonrpc.StringID("")}, `{"requestId":""}`},
		{&mcp.ListTasksResult{}, `{"tasks":[]}`},
		{&mcp.InitializeResult{}, `{"capabilities":{},"protocolVersion":"","serverInfo":{"name":"","version":""}}`},
		{&mcp.CreateMessageResult{}, `{"content":[],"model":"","role":""}`},
		{&mcp.EmptyResult{}, `{}`},
		{(*mcp.EmptyResult)(nil), `{}`},
		{&mcp.GetTaskPayloadResult{}, `{}`},
		{&mcp.CallToolParams{Task: &mcp.TaskMetadata{}}, `{"name":"","task":{}}`},
		{&mcp.ClientCapabilities{Tasks: &mcp.ClientCapabilitiesTasks{Requests: &mcp.ClientCapabilitiesTasksRequests{Sampling: &mcp.ClientCapabilitiesTasksRequestsSampling{}}}},
			`{"tasks":{"requests":{"sampling":{}}}}`},
	} {
		require.True(t, wire.Equal(wire.Raw(c.want), c.v.AppendJSON(nil)), "%T: %s", c.v, c.v.AppendJSON(nil))
	}
}

// TestTaskResultsGoByTheRequest holds that a result with a task member is a
// task only when the request asked for one.
func TestTaskResultsGoByTheRequest(t *testing.T) {
	answer := jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"task":{"taskId":"1","status":"working","createdAt":"","lastUpdatedAt":"","ttl":null}}}`)}
	plain := &mcp.CallToolRequest{Params: &mcp.CallToolParams{}}
	m, err := plain.DecodeResponse(answer)
	require.NoError(t, err)
	r := m.(*mcp.CallToolResponse)
	require.Nil(t, r.Task)
	require.NotNil(t, r.Result.Extra.Get("task"))

	asked := &mcp.CallToolRequest{Params: &mcp.CallToolParams{Task: &mcp.TaskMetadata{}}}
	m, err = asked.DecodeResponse(answer)
	require.NoError(t, err)
	r = m.(*mcp.CallToolResponse)
	require.Nil(t, r.Result)
	require.Equal(t, "1", r.Task.Task.TaskID)

	elicit := &mcp.ElicitRequest{Params: &mcp.ElicitURLParams{Task: &mcp.TaskMetadata{}}}
	m, err = elicit.DecodeResponse(answer)
	require.NoError(t, err)
	require.NotNil(t, m.(*mcp.ElicitResponse).Task)
}

// TestUnionParamsInEnvelopes holds that a request whose params are a union is
// read and written like any other.
func TestUnionParamsInEnvelopes(t *testing.T) {
	text := `{"jsonrpc":"2.0","id":"x","method":"elicitation/create","params":{"mode":"url","elicitationId":"e","message":"m","url":"u"}}`
	m, err := mcp.Decode(jsonrpc.Frame{Data: []byte(text)})
	require.NoError(t, err)
	q := m.(*mcp.ElicitRequest)
	require.IsType(t, &mcp.ElicitURLParams{}, q.Params)
	require.Equal(t, text, string(q.AppendJSON(nil)))
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}`, string((&mcp.ElicitRequest{ID: jsonrpc.NewID(1)}).AppendJSON(nil)))
	m, err = mcp.Decode(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)})
	require.NoError(t, err)
	require.Nil(t, m.(*mcp.PingRequest).Params)
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, string(m.AppendJSON(nil)))
}

// TestSetMetadataReplacesAndNeverWrites holds that the params that a caller
// gave stay as they are when the runtime adds a progress token to a copy.
func TestSetMetadataReplacesAndNeverWrites(t *testing.T) {
	params := &mcp.CallToolParams{Name: "a", Meta: &mcp.RequestMeta{Extra: wire.Members{{Name: "x", Value: wire.Raw("1")}}}}
	c := *params
	c.SetMetadata(jsonrpc.Metadata{ProgressToken: jsonrpc.NewID(7), ProtocolVersion: "ignored"})
	require.Equal(t, `{"name":"a","_meta":{"x":1}}`, string(params.AppendJSON(nil)))
	require.Equal(t, `{"name":"a","_meta":{"progressToken":7,"x":1}}`, string(c.AppendJSON(nil)))
	require.Equal(t, jsonrpc.NewID(7), c.Metadata().ProgressToken)
	var none mcp.PingParams
	none.SetMetadata(jsonrpc.Metadata{})
	require.Nil(t, none.Meta)
	require.Equal(t, jsonrpc.Metadata{}, (*mcp.PingParams)(nil).Metadata())
}
