package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/conformance/result"
)

// behindOneBridge is a program that leads clients of these names to a server,
// one after the other.
func behindOneBridge(names ...string) client.Target {
	post := func(ctx context.Context, url, rev, session, body string) string {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return ""
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": rev,
			"Mcp-Session-Id": session, "Mcp-Method": "tools/list",
		} {
			if value != "" && (name != "Mcp-Method" || rev == stateless) {
				req.Header.Set(name, value)
			}
		}
		web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := web.Do(req)
		if err != nil {
			return ""
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.Header.Get("Mcp-Session-Id")
	}
	return client.Target{Over: []catalogue.Transport{catalogue.HTTP}, Launch: func(r client.Reach) check.Launcher {
		return check.Pipe{Serve: func(ctx context.Context, _ io.Reader, _, _ io.Writer) check.Exit {
			for _, name := range names {
				info := fmt.Sprintf(`{"name":%q,"version":"1"}`, name)
				if r.Revision == stateless {
					post(ctx, r.URL, stateless, "", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"`+metaVersion+`":"`+stateless+`","`+metaCaps+`":{},"`+metaInfo+`":`+info+`}}}`)
					continue
				}
				session := post(ctx, r.URL, "", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+r.Revision+`","capabilities":{},"clientInfo":`+info+`}}`)
				post(ctx, r.URL, r.Revision, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				post(ctx, r.URL, r.Revision, session, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
			}
			return check.Exit{}
		}}
	}}
}

// TestSeveralClientsAreTold holds that a report says when more than one client
// came to the server of a play, and how they were judged; and that those with
// sessions of their own may use the same ids.
func TestSeveralClientsAreTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rev   string
		names []string
		want  string
	}{
		{newest, []string{"a"}, ""},
		{newest, []string{"a", "a"}, ""},
		{newest, []string{"a", "b"}, "Several clients were seen in one play of 2025-11-25 over http: a 1, b 1. They are judged each of their sessions by itself"},
		{newest, []string{"a", "b", "c", "d", "e", "f", "g"}, "e 1, and 2 more. They"},
		{stateless, []string{"a"}, ""},
		{stateless, []string{"a", "b"}, "Several clients were seen in one play of 2026-07-28 over http: a 1, b 1. They are judged as one"},
	} {
		t.Run(tt.rev+" "+strings.Join(tt.names, " "), func(t *testing.T) {
			t.Parallel()
			rep, err := client.Run(t.Context(), behindOneBridge(tt.names...), client.Options{
				Revisions: []string{tt.rev}, Parallel: 12, Limits: client.Limits{Idle: 2 * time.Second, Ask: slow * 100 * time.Millisecond},
				Selects: func(k *check.Check, _ string, _ catalogue.Transport) bool { return k.ID == "client-request-id-unique" },
			})
			require.NoError(t, err)
			notes := strings.Join(rep.Notes, "\n")
			require.Contains(t, notes, tt.want)
			require.Equal(t, tt.want == "", notes == "")
			require.NotZero(t, rep.Times[result.Setting{Revision: tt.rev, Transport: "http"}])
			for _, c := range rep.Results {
				if tt.rev == newest {
					require.Equal(t, result.Pass, c.Verdict, "%s: %s %s", c.ID, c.Observed, c.Reason)
				}
			}
		})
	}
}
