package replay

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/ssehttp"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// mocked answers lines with a mock of a recording.
func mocked(t *testing.T, recording string, lines ...string) ([]string, Tally) {
	t.Helper()
	rec, err := transcript.Parse([]byte(magicLine + "revision: 2025-11-25\nrecorded: test\n" + recording))
	require.NoError(t, err)
	m, err := NewMock(rec, false)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, m.Serve(t.Context(), strings.NewReader(strings.Join(lines, "\n")), &out))
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), m.Tally()
}

func TestMockAnswersInTheTermsOfTheClient(t *testing.T) {
	const recording = `> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}
> {"jsonrpc":"2.0","method":"notifications/initialized"}
< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":"t"}}}
< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}
> {"jsonrpc":"2.0","id":3,"method":"ping"}
< {"jsonrpc":"2.0","id":3,"result":{}}
< {"jsonrpc":"2.0","id":2,"result":{"n":1}}
> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":"u"}}}
< {"jsonrpc":"2.0","id":4,"result":{"n":2}}
`
	got, tally := mocked(t, recording,
		`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"_meta":{"progressToken":7},"name":"a"}}`,
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"other","version":"2"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`, // progress is not asked for
		`{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"a"}}`,
		`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"b"}}`,
		`{"jsonrpc":"2.0","id":10,"method":"prompts/list"}`,
		`no json`,
		`{"jsonrpc":"2.0","method":"notifications/unheard-of"}`,
	)
	require.Equal(t, []string{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}`,
		`{"jsonrpc":"2.0","id":"x","result":{"n":1}}`,
		`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		`{"jsonrpc":"2.0","id":1,"result":{"n":2}}`,
		`{"jsonrpc":"2.0","id":1.5,"result":{"n":2}}`,
	}, got[:6])
	require.Contains(t, got[6], `"id":9,"error":{"code":1,`)
	require.Contains(t, got[6], `params.name: want \"a\", got \"b\"`)
	require.Contains(t, got[7], `the recording has no prompts/list; it has initialize, tools/call, ping`)
	require.Contains(t, got[8], `-32700`)
	require.Equal(t, 6, tally.Asked)
	require.Equal(t, 2, tally.Missed)
	require.Len(t, tally.Misses, 2)
	require.Equal(t, []string{`> {"jsonrpc":"2.0","id":3,"method":"ping"}`}, tally.Unused)
}

func TestMockTakesAQuestionAndItsAnswerForOne(t *testing.T) {
	const recording = `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}
< {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s1"}}
> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","inputResponses":{"a":{"action":"accept"}},"requestState":"s1"}}
< {"jsonrpc":"2.0","id":2,"result":{"n":1}}
> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask"}}
< {"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","requestState":"s2"}}
> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"ask","inputResponses":{"a":{"action":"decline"}},"requestState":"s2"}}
< {"jsonrpc":"2.0","id":4,"result":{"n":2}}
`
	got, tally := mocked(t, recording,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask","inputResponses":{"a":{"action":"cancel"}},"requestState":"s2"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"ask","inputResponses":{},"requestState":"s1"}}`,
	)
	require.Zero(t, tally.Missed)
	require.Equal(t, []string{
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s1"}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","requestState":"s2"}}`,
		`{"jsonrpc":"2.0","id":3,"result":{"n":2}}`,
		`{"jsonrpc":"2.0","id":4,"result":{"n":1}}`,
	}, got)
}

// TestMockIsEnoughOfAServer has our client speak to the mock of each golden
// transcript that is for clients, over each transport: it sees what the
// transcript says.
func TestMockIsEnoughOfAServer(t *testing.T) {
	for _, g := range goldens(t) {
		if g.rec.Get(transcript.FieldSide) == "server" {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			scenario := g.rec.Get(fieldScenario)
			run := func(d jsonrpc.Dialer, m *Mock, seen <-chan struct{}) {
				t.Helper()
				require.NoError(t, runClient(d, seen, g.revision, scenario))
				tally := m.Tally()
				require.Zero(t, tally.Missed, "%q", tally.Misses)
				require.Positive(t, tally.Asked)
				require.Empty(t, tally.Unused)
			}
			mock := func() *Mock {
				m, err := NewMock(g.rec, false)
				require.NoError(t, err)
				return m
			}

			m := mock()
			ours, theirs := Pipe()
			done := make(chan error, 1)
			go func() {
				err := m.Serve(t.Context(), theirs, theirs)
				_ = theirs.Close()
				done <- err
			}()
			w := &seer{halfCloser{ours, ours.(interface{ CloseWrite() error }).CloseWrite}, []byte(`"count"`), make(chan struct{}, 1)}
			run(jsonl.Pipe(ours, w), m, w.seen)
			require.NoError(t, <-done)

			m = mock()
			srv := httptest.NewServer(m.Handler())
			defer srv.Close()
			soon := make(chan struct{}, 1)
			go func() {
				for m.Tally().Asked < 2 && t.Context().Err() == nil {
					time.Sleep(time.Millisecond)
				}
				soon <- struct{}{}
			}()
			if g.revision == revision.V20241105 {
				run(ssehttp.URL(srv.URL+"/sse"), m, soon)
			} else {
				run(streamhttp.URL(srv.URL+"/mcp"), m, soon)
			}
			srv.CloseClientConnections()
		})
	}
}

func TestMockRefusesWhatIsNoSession(t *testing.T) {
	parse := func(text string) *transcript.Recording {
		rec, err := transcript.Parse([]byte(magicLine + text))
		require.NoError(t, err)
		return rec
	}
	_, err := NewMock(parse("redacted: secrets\n> {\"id\":1,\"method\":\"ping\"}\n"), false)
	require.ErrorIs(t, err, ErrRedacted)
	_, err = NewMock(parse("redacted: secrets\n> {\"id\":1,\"method\":\"ping\"}\n"), true)
	require.NoError(t, err)
	_, err = NewMock(parse("< {\"id\":1,\"result\":{}}\n"), false)
	require.ErrorContains(t, err, "no message of a client")
	_, err = NewMock(parse("> {\"id\":1,\"method\":\"$nonsense\"}\n"), false)
	require.ErrorContains(t, err, "no placeholder")
}

func TestMockEndsWithItsContextAndItsClient(t *testing.T) {
	const ask = "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}\n< {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
	rec, err := transcript.Parse([]byte(magicLine + ask))
	require.NoError(t, err)
	m, err := NewMock(rec, false)
	require.NoError(t, err)
	var out bytes.Buffer
	// The client never replies to what it is asked.
	require.NoError(t, m.Serve(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`), &out))
	require.Contains(t, out.String(), "roots/list")
	require.NotContains(t, out.String(), "result")
	require.Error(t, m.Serve(context.Background(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"), broken{}))
	// The second time it asks by an id of its own.
	pr, pw := io.Pipe()
	out.Reset()
	done := make(chan error, 1)
	sent := make(chan string, 8)
	go func() { done <- m.Serve(t.Context(), pr, lineWriter(sent)) }()
	_, err = io.WriteString(pw, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`+"\n")
	require.NoError(t, err)
	asked := <-sent
	require.Contains(t, asked, `"id":"goldwire-1"`)
	_, err = io.WriteString(pw, `{"jsonrpc":"2.0","id":"goldwire-1","result":{"roots":[]}}`+"\n")
	require.NoError(t, err)
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n", <-sent)
	require.NoError(t, pw.Close())
	require.NoError(t, <-done)
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

type lineWriter chan string

func (w lineWriter) Write(b []byte) (int, error) {
	w <- string(slices.Clone(b))
	return len(b), nil
}

func TestMockRefusesABodyThatIsTooLong(t *testing.T) {
	rec := parse(t, "revision: 2025-11-25\n> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n")
	m, err := NewMock(rec, false)
	require.NoError(t, err)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", bytes.NewReader(make([]byte, maxLine+1))))
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
	require.Contains(t, w.Body.String(), "longer than 64 MiB")
}

// What a client is capable of is in its handshake, which is always the same, or in
// each request.
func TestMockTakesClientsOfAnyCapabilities(t *testing.T) {
	ask := func(id, caps string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + caps + `}}}`
	}
	got, tally := mocked(t, "> "+ask("1", `{"roots":{"listChanged":true}}`)+"\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", ask("7", "{}"))
	require.Equal(t, []string{`{"jsonrpc":"2.0","id":7,"result":{}}`}, got)
	require.Zero(t, tally.Missed)
}
