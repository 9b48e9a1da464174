package client_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// written is the trace of a play that is written down: lines are those of a
// recording, with notes.
func written(t *testing.T, rev, over, script string, lines ...string) *check.Trace {
	t.Helper()
	head := "goldwire-transcript: 1\nrevision: " + rev + "\ntransport: " + over + "\nside: client\nprofile: " + script + "\n"
	for i, l := range lines {
		at := "@" + strconv.Itoa(i) + "ms "
		l = strings.NewReplacer("! ", "!"+at, "> ", ">"+at, "< ", "<"+at).Replace(l[:2]) + l[2:]
		head += l + "\n"
	}
	rec, err := transcript.Parse([]byte(head))
	require.NoError(t, err)
	return check.NewTrace(rec)
}

// verdictsOf are the verdicts on some plays by their checks.
func verdictsOf(rev string, over catalogue.Transport, traces ...*check.Trace) map[string]result.Check {
	out := map[string]result.Check{}
	for _, c := range client.Judge(rev, over, traces, nil) {
		out[c.ID] = c
	}
	return out
}

// TestStatelessPagesMayComeFromSeveralServers holds that a client whose
// requests each go to a process of their own, as behind a bridge, reads lists
// to their end all the same.
func TestStatelessPagesMayComeFromSeveralServers(t *testing.T) {
	page := func(script string, cursors ...string) *check.Trace {
		lines := []string{"! start c"}
		for i, cursor := range cursors {
			id, given, next := strconv.Itoa(i), "", ""
			if i > 0 {
				given = `"cursor":"` + cursors[i-1] + `",`
			}
			if i+1 < len(cursors) {
				next = `,"nextCursor":"` + cursor + `"`
			}
			lines = append(lines,
				"! note connection "+id,
				`> {"jsonrpc":"2.0","id":`+id+`,"method":"tools/list","params":{`+given+`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
				`< {"jsonrpc":"2.0","id":`+id+`,"result":{"resultType":"complete","tools":[]`+next+`}}`,
				"! eof >",
			)
		}
		return written(t, stateless, "stdio", script, append(lines, "! exit 0", "! note over: the client ended")...)
	}
	whole := verdictsOf(stateless, catalogue.Stdio, page(client.Good, "x"), page("pages", "a", "b", "x"), page("odd-pages", "c", "d", "x"), page("empty-cursor", "", "x"))
	require.Equal(t, result.Pass, whole["client-page-sizes"].Verdict, whole["client-page-sizes"].Observed)
	require.Equal(t, result.Pass, whole["client-empty-cursor"].Verdict, whole["client-empty-cursor"].Observed)
}

// TestSessionsAreComparedWithTheirLike holds that a session which leaves any
// server, as it does not speak its version, leaves none over its capabilities,
// though another session of the client goes on.
func TestSessionsAreComparedWithTheirLike(t *testing.T) {
	session := func(n int, offered string, goesOn bool) []string {
		id := strconv.Itoa(n)
		out := []string{
			"! note connection " + id,
			`> {"jsonrpc":"2.0","id":` + id + `,"method":"initialize","params":{"protocolVersion":"` + offered + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
			`< {"jsonrpc":"2.0","id":` + id + `,"result":{"protocolVersion":"2025-11-25","capabilities":{"experimental":{"com.example/odd":{}}},"serverInfo":{"name":"s","version":"1"}}}`,
		}
		if goesOn {
			out = append(out, `> {"jsonrpc":"2.0","method":"notifications/initialized"}`)
		}
		return append(out, "! eof >")
	}
	play := func(script string, goesOn bool) *check.Trace {
		lines := append([]string{"! start c"}, session(1, newest, goesOn)...)
		return written(t, newest, "stdio", script, append(append(lines, session(2, "2025-06-18", false)...), "! exit 0", "! note over: the client ended")...)
	}
	const id = "client-experimental-tolerated"
	require.Equal(t, result.Pass, verdictsOf(newest, catalogue.Stdio, play(client.Good, true), play("tour", true))[id].Verdict)
	left := verdictsOf(newest, catalogue.Stdio, play(client.Good, true), play("tour", false))[id]
	require.Contains(t, []result.Verdict{result.Fail, result.Warn}, left.Verdict)
}

// TestServerThatGivesUpIsNoGivingUp holds that a client which asks again when
// the play is over, and its request was ended by the server, gave nothing up.
func TestServerThatGivesUpIsNoGivingUp(t *testing.T) {
	const asks = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	again := strings.Replace(asks, `"id":1`, `"id":2`, 1)
	play := func(lines ...string) map[string]result.Check {
		rec, err := transcript.Parse([]byte("goldwire-transcript: 1\nrevision: " + newest + "\ntransport: stdio\nside: client\nprofile: silence\n" +
			"!@0ms start c\n!@1ms note connection 1\n" +
			`>@2ms {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n" +
			`<@3ms {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}` + "\n" +
			strings.Join(lines, "\n") + "\n"))
		require.NoError(t, err)
		return verdictsOf(newest, catalogue.Stdio, check.NewTrace(rec))
	}
	const over = "!@2000ms note over: the client was silent"
	ended := play(">@4ms "+asks, over, ">@2100ms "+again)
	require.Equal(t, result.NotObserved, ended["client-timeout-cancels"].Verdict)
	require.Equal(t, result.NotObserved, ended["client-gives-up"].Verdict)
	gaveUp := play(">@4ms "+asks, ">@1500ms "+again, over)
	require.Equal(t, result.Warn, gaveUp["client-timeout-cancels"].Verdict)
	require.Equal(t, result.Pass, gaveUp["client-gives-up"].Verdict)
}
