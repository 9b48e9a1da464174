package streamhttp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestTasksAreNamed: the requests about one task carry its id in Mcp-Name, and a
// server holds it against the body (the tasks extension of 2026-07-28).
func TestTasksAreNamed(t *testing.T) {
	const id = "tästk" // it has to be encoded
	_, m := servers(nil)
	m.GetTask = func(_ context.Context, p *modern.GetTaskParams) (*modern.GetTaskResult, error) {
		return &modern.GetTaskResult{TaskID: p.TaskID, Status: "working", CreatedAt: "2026-07-28T00:00:00Z", LastUpdatedAt: "2026-07-28T00:00:00Z"}, nil
	}
	m.UpdateTask = func(context.Context, *modern.UpdateTaskParams) (*modern.UpdateTaskResult, error) {
		return &modern.UpdateTaskResult{}, nil
	}
	m.CancelTask = func(context.Context, *modern.CancelTaskParams) (*modern.CancelTaskResult, error) {
		return &modern.CancelTaskResult{}, nil
	}
	s := serve(t, m)
	var names []string
	seen := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if method := r.Header.Get("Mcp-Method"); strings.HasPrefix(method, "tasks/") {
			name, err := streamhttp.DecodeHeaderValue(r.Header.Get("Mcp-Name"))
			require.NoError(t, err)
			names = append(names, method+" "+name)
		}
		s.h.ServeHTTP(w, r)
	})
	s.srv.Config.Handler = seen
	const tasks = "io.modelcontextprotocol/tasks"
	r, err := modern.Connect(t.Context(), streamhttp.URL(s.srv.URL), modern.Client{Extensions: map[string]wire.Raw{tasks: wire.Raw("{}")}})
	require.NoError(t, err)
	defer r.Close()
	_, err = r.GetTask(t.Context(), &modern.GetTaskParams{TaskID: id})
	require.NoError(t, err)
	_, err = r.UpdateTask(t.Context(), &modern.UpdateTaskParams{TaskID: id, InputResponses: modern.InputResponses{}})
	require.NoError(t, err)
	_, err = r.CancelTask(t.Context(), &modern.CancelTaskParams{TaskID: id})
	require.NoError(t, err)
	require.Equal(t, []string{"tasks/get " + id, "tasks/update " + id, "tasks/cancel " + id}, names)

	s.srv.Config.Handler = s.h
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"taskId":"t","inputResponses":{},` +
			strings.Replace(meta, `Capabilities":{}`, `Capabilities":{"extensions":{"`+tasks+`":{}}}`, 1) + `}}`
		for rule, hs := range map[string][]string{"missing": nil, "another": {"Mcp-Name: u"}, "twice": {"Mcp-Name: t", "Mcp-Name: t"}} {
			got := s.post(body, append([]string{modernVersion, "Mcp-Method: " + method}, hs...)...)
			require.Equal(t, 400, got.StatusCode, "%s %s", method, rule)
			require.Equal(t, jsonrpc.CodeHeaderMismatch, got.code(), "%s %s", method, rule)
		}
		got := s.post(body, modernVersion, "Mcp-Method: "+method, "Mcp-Name: t")
		require.Equal(t, 200, got.StatusCode, "%s: %s", method, got.body)
	}
}
