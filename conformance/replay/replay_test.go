package replay

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/match"
	"github.com/goldwire/goldwire/conformance/transcript"
)

const head = "goldwire-transcript: 1\n"

func parse(t *testing.T, text string) *transcript.Recording {
	t.Helper()
	rec, err := transcript.Parse([]byte(head + text))
	require.NoError(t, err)
	return rec
}

// script is a peer in the same process: it answers each line it reads with
// the lines that it is given in turn ("" for none, several joined by \n).
func script(answers ...string) func(io.ReadWriteCloser) {
	return func(rw io.ReadWriteCloser) {
		sc := bufio.NewScanner(rw)
		for i := 0; sc.Scan(); i++ {
			if i < len(answers) && answers[i] != "" {
				_, _ = io.WriteString(rw, answers[i]+"\n")
			}
		}
		_ = rw.Close()
	}
}

type playFunc func(Options, context.Context, *transcript.Recording, Link) (*Outcome, error)

var (
	asServerPeer playFunc = Options.Server
	asClientPeer playFunc = Options.Client
)

// play replays text against a peer, in a bubble where time costs nothing.
func play(t *testing.T, f playFunc, o Options, text string, peer func(io.ReadWriteCloser)) *Outcome {
	t.Helper()
	var out *Outcome
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := Pipe()
		done := make(chan struct{})
		go func() { peer(theirs); close(done) }()
		var err error
		out, err = f(o, t.Context(), parse(t, text), Stream(ours))
		require.NoError(t, err)
		<-done
	})
	return out
}

func kinds(o *Outcome) []Kind {
	var ks []Kind
	for _, p := range o.Problems {
		ks = append(ks, p.Kind)
	}
	return ks
}

func TestServerReplay(t *testing.T) {
	const call = `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":"t"}}}` + "\n"
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`
	const logged = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`
	const done = `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
	for _, c := range []struct {
		name, golden string
		answers      []string
		want         []Kind
		text         string // part of the error
	}{
		{name: "what is asked for", golden: call + "< " + done + "\n", answers: []string{done}},
		{name: "other order of members", golden: call + "< " + done + "\n", answers: []string{`{ "result": {"content":[]}, "id":1, "jsonrpc":"2.0"}`}},
		{
			name: "a difference says path, want and got", golden: call + "< " + done + "\n", answers: []string{`{"jsonrpc":"2.0","id":1,"result":{"content":[1]}}`},
			want: []Kind{Mismatch}, text: "result.content[0]: want the end of the array, got 1",
		},
		{
			name: "an id of another kind is another id", golden: call + "< " + done + "\n", answers: []string{`{"jsonrpc":"2.0","id":"1","result":{"content":[]}}`},
			want: []Kind{Extra, Missing}, text: "it answers a request that was never sent",
		},
		{name: "silence", golden: call + "< " + done + "\n", want: []Kind{Missing}, text: "nothing came for 10s"},
		{
			name: "an answer twice", golden: call + "< " + done + "\n", answers: []string{done + "\n" + done},
			want: []Kind{Extra}, text: "no second one",
		},
		{
			name: "a blank line", golden: call + "< " + done + "\n", answers: []string{"\n" + done},
			want: []Kind{Extra}, text: "it is not JSON",
		},
		{name: "a golden line that is not JSON", golden: call + "< oops\n", answers: []string{"oops"}},
		{name: "other bytes than those", golden: call + "< oops\n", answers: []string{"oops "}, want: []Kind{Mismatch}, text: `want the bytes "oops", got "oops "`},
		{
			name: "answers in any order", answers: []string{"", "", `{"id":3,"result":{}}` + "\n" + `{"id":1,"result":{}}` + "\n" + `{"id":2,"result":{}}`},
			golden: "> {\"id\":1,\"method\":\"ping\"}\n> {\"id\":2,\"method\":\"ping\"}\n> {\"id\":3,\"method\":\"ping\"}\n< {\"id\":1,\"result\":{}}\n< {\"id\":2,\"result\":{}}\n< {\"id\":3,\"result\":{}}\n",
		},
		{name: "progress before its answer", golden: call + "< " + progress + "\n< " + done + "\n", answers: []string{progress + "\n" + done}},
		{
			name: "progress after its answer", golden: call + "< " + progress + "\n< " + done + "\n", answers: []string{done + "\n" + progress},
			want: []Kind{Order}, text: "it came before a line that comes first in its stream",
		},
		{name: "a log message is in no order with an answer", golden: call + "< " + logged + "\n< " + done + "\n", answers: []string{done + "\n" + logged}},
		{
			name: "in one exchange it is", golden: strings.ReplaceAll(call, ">", ">1") + "<1 " + logged + "\n<1 " + done + "\n", answers: []string{done + "\n" + logged},
			want: []Kind{Order}, text: "comes first in its stream",
		},
		{
			name: "notifications out of order", golden: call + "< " + logged + "\n< " + strings.ReplaceAll(logged, "1", "2") + "\n",
			answers: []string{strings.ReplaceAll(logged, "1", "2") + "\n" + logged}, want: []Kind{Order}, text: "comes first in its stream",
		},
		{name: "an extra notification", golden: call + "< " + done + "\n", answers: []string{logged + "\n" + done}, want: []Kind{Extra}, text: "the transcript has no notifications/message here"},
		{
			name: "a line that is due later", golden: call + "< " + done + "\n> {\"method\":\"x\"}\n< " + logged + "\n", answers: []string{logged + "\n" + done},
			want: []Kind{Order}, text: `> {"method":"x"} was not yet sent`,
		},
		{
			name: "the nearest line is named", golden: call + "< " + logged + "\n< " + strings.ReplaceAll(logged, "info", "debug") + "\n< " + done + "\n",
			answers: []string{strings.ReplaceAll(logged, ":1", ":2") + "\n" + strings.ReplaceAll(logged, "info", "debug") + "\n" + done},
			want:    []Kind{Mismatch}, text: "params.data: want 1, got 2",
		},
		{
			name: "members of _meta that say who speaks", golden: call + "< {\"id\":1,\"result\":{}}\n",
			answers: []string{`{"id":1,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"},"traceparent":"y"}}}`},
		},
		{
			name: "other members of _meta", golden: call + "< {\"id\":1,\"result\":{}}\n",
			answers: []string{`{"id":1,"result":{"_meta":{"x":1}}}`}, want: []Kind{Mismatch}, text: "result._meta: want no such member",
		},
		{
			name:   "the server's requests keep their own ids",
			golden: call + "< {\"id\":\"a\",\"method\":\"roots/list\"}\n> {\"id\":\"a\",\"result\":{}}\n< {\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"a\"}}\n< " + done + "\n",
			answers: []string{`{"id":77,"method":"roots/list","params":{}}`,
				`{"method":"notifications/cancelled","params":{"requestId":77}}` + "\n" + done},
		},
		{
			name:    "an id that was used before",
			golden:  call + "< {\"id\":1,\"method\":\"a\"}\n< {\"id\":2,\"method\":\"b\"}\n< " + done + "\n",
			answers: []string{"{\"id\":9,\"method\":\"a\"}\n{\"id\":9,\"method\":\"b\"}\n" + done}, want: []Kind{Mismatch}, text: "the id was used before by this side",
		},
		{
			name:    "remembered values are sent back",
			golden:  call + "< {\"id\":1,\"result\":{\"state\":\"$bind:s\"}}\n> {\"id\":2,\"method\":\"x\",\"params\":{\"state\":\"$ref:s\"}}\n< {\"id\":2,\"result\":\"$ref:s\"}\n",
			answers: []string{`{"id":1,"result":{"state":"q"}}`, `{"id":2,"result":"q"}`},
		},
		{
			name: "batches are taken apart", golden: "> [{\"id\":1,\"method\":\"ping\"},{\"id\":2,\"method\":\"ping\"}]\n< [{\"id\":1,\"result\":{}},{\"id\":2,\"result\":{}}]\n",
			answers: []string{`[{"id":2,"result":{}},{"id":1,"result":{}}]`},
		},
		{name: "an empty batch is one value", golden: call + "< []\n", answers: []string{"[]"}},
		{
			name: "an answer without an id", golden: "> {\n< {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"$string\"},\"$more\":true}\n",
			answers: []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`},
		},
		{
			name:    "a partial last line",
			golden:  "! note not played\n! stderr not played\n>>1 POST /mcp\n>~ {\"id\":1\n! eof >\n< {\"error\":1}\n! eof <\n",
			answers: []string{`{"error":1}`},
		},
		{
			name: "an SSE event without data is no line", golden: strings.ReplaceAll(call, ">", ">1") + "<<1 id: 5\n<1\n<1 " + done + "\n", answers: []string{done},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := play(t, asServerPeer, Options{}, c.golden, script(c.answers...))
			require.Equal(t, c.want, kinds(o), "%v", o.Err())
			if c.text == "" {
				require.NoError(t, o.Err())
				return
			}
			require.ErrorContains(t, o.Err(), c.text)
		})
	}
}

func TestClientReplay(t *testing.T) {
	const golden = `> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":"$any"}}
< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"$string","version":"$string"}}}
> {"jsonrpc":"2.0","method":"notifications/initialized"}
> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":5}}}
< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1}}
< {"jsonrpc":"2.0","id":1,"method":"roots/list"}
> {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}
< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
! eof >
`
	var heard []string
	client := func(edit func(string) string) func(io.ReadWriteCloser) {
		return func(rw io.ReadWriteCloser) {
			r := bufio.NewReader(rw)
			say := func(s string) { _, _ = io.WriteString(rw, edit(s)+"\n") }
			hear := func() {
				s, err := r.ReadString('\n')
				if err == nil {
					heard = append(heard, strings.TrimSpace(s))
				}
			}
			heard = nil
			say(`{"jsonrpc":"2.0","id":"i-1","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
			hear()
			say(`{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`)
			say(`{"jsonrpc":"2.0","id":"i-2","method":"tools/call","params":{"name":"x","_meta":{"progressToken":"tok"}}}`)
			hear()
			hear()
			say(`{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`)
			hear()
			_ = rw.(interface{ CloseWrite() error }).CloseWrite()
			hear()
			_ = rw.Close()
		}
	}
	same := func(s string) string { return s }
	o := play(t, asClientPeer, Options{}, golden, client(same))
	require.NoError(t, o.Err())
	require.Equal(t, 4, o.Sent)
	require.Equal(t, 4, o.Matched)
	require.Equal(t, []string{
		`{"jsonrpc":"2.0","id":"i-1","result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"string","version":"string"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tok","progress":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`,
		`{"jsonrpc":"2.0","id":"i-2","result":{"content":[]}}`,
	}, heard)

	o = play(t, asClientPeer, Options{}, golden, client(func(s string) string { return strings.Replace(s, `"name":"x"`, `"name":"y"`, 1) }))
	require.Equal(t, []Kind{Mismatch}, kinds(o))
	require.ErrorContains(t, o.Err(), `params.name: want "x", got "y"`)

	o = play(t, asClientPeer, Options{}, golden, script())
	require.Equal(t, []Kind{Missing}, kinds(o))
	require.Equal(t, 7, o.Unplayed)
}

// A notification that does not come is told, and the replay goes on; an answer
// that does not come ends it, and then nothing is updated.
func TestANotificationThatDoesNotComeIsNotWaitedForLong(t *testing.T) {
	const golden = `> {"id":1,"method":"ping"}
< {"method":"notifications/a"}
< {"method":"notifications/b"}
< {"id":1,"result":{}}
> {"id":2,"method":"ping"}
< {"method":"notifications/c"}
> {"id":3,"method":"ping"}
< {"id":3,"result":{}}
`
	answer := func(n string) string { return `{"id":` + n + `,"result":{}}` }
	began := time.Now()
	var took time.Duration
	o := play(t, asServerPeer, Options{}, golden, func(rw io.ReadWriteCloser) {
		began = time.Now()
		script(answer("1"), "", answer("3"))(rw)
		took = time.Since(began)
	})
	require.Equal(t, []Kind{Missing, Missing, Missing}, kinds(o))
	require.Equal(t, 3, o.Sent)
	require.Equal(t, 2, o.Matched)
	require.Zero(t, o.Unplayed)
	require.Less(t, took, 13*time.Second)
	require.NotNil(t, o.Updated)
	require.NotContains(t, o.Updated.String(), "notifications/")
	require.Contains(t, o.Updated.String(), answer("3"))

	o = play(t, asServerPeer, Options{}, golden, script())
	require.Equal(t, 4, o.Unplayed)
	require.Nil(t, o.Updated)
}

// A client that asks for more than the transcript has gets an answer, or it would
// wait for one.
func TestAClientIsRefusedWhatTheTranscriptDoesNotHave(t *testing.T) {
	var heard []string
	o := play(t, asClientPeer, Options{}, "> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1,\"result\":{}}\n", func(rw io.ReadWriteCloser) {
		sc := bufio.NewScanner(rw)
		for _, ask := range []string{`{"id":"a","method":"server/discover"}`, `{"id":2,"method":"ping"}`} {
			_, _ = io.WriteString(rw, ask+"\n")
			if sc.Scan() {
				heard = append(heard, sc.Text())
			}
		}
		_ = rw.Close()
	})
	require.Equal(t, []Kind{Extra}, kinds(o))
	require.Equal(t, []string{
		`{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"goldwire replay: the transcript has no server/discover here"}}`,
		`{"id":2,"result":{}}`,
	}, heard)
}

// A request that differs from the transcript's is answered all the same, by its
// own id.
func TestAClientThatAsksOtherwiseIsAnswered(t *testing.T) {
	var heard string
	o := play(t, asClientPeer, Options{}, "> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1,\"result\":{}}\n", func(rw io.ReadWriteCloser) {
		_, _ = io.WriteString(rw, `{"id":"mine","method":"ping","params":{"x":1}}`+"\n")
		heard, _ = bufio.NewReader(rw).ReadString('\n')
		_ = rw.Close()
	})
	require.Equal(t, []Kind{Mismatch}, kinds(o))
	require.Equal(t, `{"id":"mine","result":{}}`+"\n", heard)
}

func TestReplayRecordsWhatHappened(t *testing.T) {
	o := play(t, asServerPeer, Options{Recorder: transcript.RecorderOptions{Untimed: true}}, `revision: 2025-11-25
requirement: legacy/ping-answered
> {"id":1,"method":"ping"}
< {"id":1,"result":"$object"}
`, script(`{"id":1,"result":{}}`))
	require.NoError(t, o.Err())
	b, err := o.Recording.MarshalText()
	require.NoError(t, err)
	require.Equal(t, head+`revision: 2025-11-25
requirement: legacy/ping-answered
transport: stdio
recorded: replay
> {"id":1,"method":"ping"}
< {"id":1,"result":{}}
! eof >
! eof <
`, string(b))
	again := play(t, asServerPeer, Options{}, strings.TrimPrefix(string(b), head), script(`{"id":1,"result":{}}`))
	require.NoError(t, again.Err())
}

func TestARecordingHoldsNoPlaceholders(t *testing.T) {
	const rec = "recorded: yes\n> {\"id\":1,\"method\":\"x\",\"params\":{\"price\":\"$5\"}}\n< {\"id\":1,\"result\":{\"a\":\"$any\"}}\n"
	o := play(t, asServerPeer, Options{}, rec, script(`{"id":1,"result":{"a":"$any"}}`))
	require.NoError(t, o.Err())
	o = play(t, asServerPeer, Options{}, rec, script(`{"id":1,"result":{"a":1}}`))
	require.ErrorContains(t, o.Err(), `result.a: want "$any", got 1`)
}

func TestReplayRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"redacted: token\n":              "secrets were replaced",
		"transport: http\n":              "the transcript needs another transport: http",
		"> {\"a\":\"$nothing\"}\n":       "no placeholder is written",
		"> {}\n< {\"a\":\"$nothing\"}\n": "no placeholder is written",
		"<~70000 {\"a\n":                 "only the start of the line was kept",
		">~70000 {\"a\n":                 "only the start of the line was kept",
	} {
		ours, _ := Pipe()
		_, err := Server(t.Context(), parse(t, text), Stream(ours))
		require.ErrorContains(t, err, want)
		_, err = Client(t.Context(), parse(t, text), Stream(ours))
		require.ErrorContains(t, err, want)
	}
	o := play(t, asServerPeer, Options{Redacted: true}, "redacted: token\n> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1}\n", script(`{"id":1}`))
	require.NoError(t, o.Err())
}

func TestAllowExtra(t *testing.T) {
	o := play(t, asServerPeer, Options{AllowExtra: func(m string) bool { return m == "notifications/message" }},
		"> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1,\"result\":{}}\n",
		script(`{"method":"notifications/message","params":{}}`+"\n"+`{"method":"other"}`+"\n"+`{"id":1,"result":{}}`))
	require.Equal(t, []Kind{Extra}, kinds(o))
}

func TestAPeerThatEndsEarly(t *testing.T) {
	o := play(t, asServerPeer, Options{}, "> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1,\"result\":{}}\n> {\"id\":2,\"method\":\"ping\"}\n< {\"id\":2}\n", func(rw io.ReadWriteCloser) {
		_, _ = bufio.NewReader(rw).ReadString('\n')
		_ = rw.Close()
	})
	require.Equal(t, []Kind{Missing}, kinds(o))
	require.ErrorContains(t, o.Err(), "the peer closed its output")
	require.Equal(t, 2, o.Unplayed)
}

func TestAPeerThatDoesNotReadOrNeverEnds(t *testing.T) {
	o := play(t, asServerPeer, Options{Timeout: time.Second}, "> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1}\n", func(rw io.ReadWriteCloser) {})
	require.Equal(t, []Kind{Stopped}, kinds(o))
	require.ErrorContains(t, o.Err(), "the peer did not read for 1s")
}

func TestALineThatIsCutOff(t *testing.T) {
	o := play(t, asServerPeer, Options{}, "> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1}\n", func(rw io.ReadWriteCloser) {
		_, _ = bufio.NewReader(rw).ReadString('\n')
		_, _ = io.WriteString(rw, `{"id":1}`)
		_ = rw.Close()
	})
	require.Equal(t, []Kind{Mismatch}, kinds(o))
	require.ErrorContains(t, o.Err(), "the peer's output ended before the line did")
	require.Equal(t, 1, o.Matched)
}

func TestCancelledContextEndsTheReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ours, theirs := Pipe()
		go func() { script()(theirs) }()
		o, err := Server(ctx, parse(t, "> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1}\n"), Stream(ours))
		require.NoError(t, err)
		require.ErrorIs(t, o.Problems[0].Err, context.DeadlineExceeded)
	})
}

func TestProblemsAreBounded(t *testing.T) {
	o := play(t, asServerPeer, Options{}, "> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1}\n", script(strings.Repeat("{\"method\":\"x\"}\n", 150)+`{"id":1}`))
	require.Len(t, o.Problems, 100)
	require.Equal(t, 50, o.More)
	require.ErrorContains(t, o.Err(), "and 50 more")
}

func TestMismatchUnwraps(t *testing.T) {
	o := play(t, asServerPeer, Options{}, "> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1}\n", script(`{"id":1,"x":2}`))
	var e *match.Error
	require.True(t, errors.As(&o.Problems[0], &e))
	require.Equal(t, "x", e.Mismatches[0].Path)
	require.Equal(t, 1, o.Problems[0].Event)
	require.Equal(t, `{"id":1,"x":2}`, string(o.Recording.Events[o.Problems[0].Seen].Data))
}

// TestMain lets the test binary be the child process of the tests below.
func TestMain(m *testing.M) {
	switch os.Getenv("REPLAY_TEST_CHILD") {
	case "":
		os.Exit(m.Run())
	case "echo":
		sc := bufio.NewScanner(os.Stdin)
		for sc.Scan() {
			os.Stderr.WriteString("heard a line\n")
			os.Stdout.WriteString(strings.Replace(sc.Text(), `"method":"ping"`, `"result":{}`, 1) + "\n")
		}
		os.Exit(3)
	case "everything":
		os.Exit(serveEverything())
	case "stubborn":
		ignoreSignals()
		os.Stdout.WriteString("{\"method\":\"up\"}\n")
		select {}
	}
	os.Exit(0)
}

func child(t *testing.T, mode string) Link {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	// The race detector would let each child sleep for a second at its end.
	cmd.Env = append(os.Environ(), "REPLAY_TEST_CHILD="+mode, "GORACE=atexit_sleep_ms=0")
	return Process(cmd)
}

func TestReplayAgainstAChildProcess(t *testing.T) {
	const golden = "> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1,\"result\":{}}\n! eof >\n! eof <\n"
	o, err := Server(t.Context(), parse(t, golden+"! exit 3\n"), child(t, "echo"))
	require.NoError(t, err)
	require.NoError(t, o.Err())
	require.Equal(t, "exit 3; standard error: heard a line", o.End)

	o, err = Server(t.Context(), parse(t, golden+"! exit 0\n"), child(t, "echo"))
	require.NoError(t, err)
	require.Equal(t, []Kind{Mismatch}, kinds(o))
	require.ErrorContains(t, o.Err(), "the peer ended otherwise")
}

func TestAChildThatWillNotEndIsKilled(t *testing.T) {
	l := child(t, "stubborn")
	p := l.(*process)
	p.patience, p.urgency = time.Millisecond, 50*time.Millisecond
	// The line proves that the child is deaf by now.
	o, err := Options{Timeout: 10 * time.Second}.Server(t.Context(), parse(t, "< {\"method\":\"up\"}\n"), l)
	require.NoError(t, err)
	require.NoError(t, o.Err())
	if runtime.GOOS == "windows" {
		return
	}
	require.Equal(t, "signal SIGKILL", o.End)
	var notes []string
	for _, e := range o.Recording.Events {
		if e.Kind == transcript.KindSent {
			notes = append(notes, string(e.Data))
		}
	}
	require.Equal(t, []string{"SIGTERM", "SIGKILL"}, notes)
}

func TestSignalsOfATranscriptAreSent(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs POSIX signals")
	}
	const golden = "> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1,\"result\":{}}\n! sent SIGTERM\n! eof <\n! signal SIGTERM\n"
	o, err := Server(t.Context(), parse(t, golden), child(t, "echo"))
	require.NoError(t, err)
	require.NoError(t, o.Err())

	o, err = Server(t.Context(), parse(t, "! sent SIGNONE\n"), child(t, "echo"))
	require.NoError(t, err)
	require.ErrorContains(t, o.Err(), "this system has no signal SIGNONE")

	out := play(t, asServerPeer, Options{}, "! sent SIGTERM\n", script())
	require.ErrorContains(t, out.Err(), "a stream takes no signals")
}

func TestAChildThatCannotBeStarted(t *testing.T) {
	_, err := Server(t.Context(), parse(t, "> {}\n"), Process(exec.Command("./there-is-no-such-program")))
	require.Error(t, err)
	cmd := exec.Command("true")
	cmd.Stdout = io.Discard
	_, err = Server(t.Context(), parse(t, "> {}\n"), Process(cmd))
	require.ErrorContains(t, err, "are set already")
}
