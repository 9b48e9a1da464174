package client_test

import (
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// judged are the revisions that clients are judged in here, and over what: nil
// is every transport.
func judged() (revs []string, over []catalogue.Transport) {
	if slow > 1 {
		return []string{newest}, []catalogue.Transport{catalogue.HTTP}
	}
	return []string{"all"}, nil
}

// TestRightClientIsClean holds that no check finds anything in what a client of
// every feature sends that does nothing wrong.
func TestRightClientIsClean(t *testing.T) {
	t.Parallel()
	revs, over := judged()
	rep, err := client.Run(t.Context(), rawTarget(fault{}), client.Options{
		Revisions: revs, Transports: over, Parallel: 12,
		Limits: client.Limits{Idle: slow * time.Second, Ask: slow * 500 * time.Millisecond},
		Save: func(name string, rec *transcript.Recording) error {
			if dir := os.Getenv("GW_SAVE"); dir != "" {
				return os.WriteFile(dir+"/"+name+".wire", []byte(rec.String()), 0o600)
			}
			return nil
		},
	})
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, r := range rep.Results {
		switch r.Verdict {
		case result.Pass:
			seen[r.ID] = true
		case result.NotObserved, result.NotApplicable:
		default:
			t.Errorf("%s %s %s: %s: %s; expected %s, observed %s\n%s", r.Revision, r.Transport, r.ID, r.Verdict, r.Reason, r.Expected, r.Observed, frames(r))
		}
	}
	for _, k := range client.All() {
		if !seen[k.ID] {
			t.Logf("%s passes nowhere", k.ID)
		}
	}
}

// TestClientMayTryTheServerByAnotherProcess holds that nothing is found in a
// client of both eras that asks one server for its versions, and then starts
// another one to speak to.
func TestClientMayTryTheServerByAnotherProcess(t *testing.T) {
	t.Parallel()
	rep, err := client.Run(t.Context(), rawTarget(fault{name: "probes-apart"}), client.Options{
		Revisions: []string{stateless}, Transports: []catalogue.Transport{catalogue.Stdio}, Parallel: 12,
		Limits: client.Limits{Idle: slow * time.Second, Ask: slow * 500 * time.Millisecond},
		Selects: func(k *check.Check, _ string, _ catalogue.Transport) bool {
			return slices.Contains([]string{"client-probes-first", "client-falls-back-any-error", "client-modern-error-no-fallback", "client-version-no-overlap"}, k.ID)
		},
	})
	require.NoError(t, err)
	for _, r := range rep.Results {
		require.Equal(t, result.Pass, r.Verdict, "%s: %s; expected %s, observed %s\n%s", r.ID, r.Reason, r.Expected, r.Observed, frames(r))
	}
	require.Len(t, rep.Results, 4)
}

// TestStreamBesideInitializeIsNoFault holds that a client may ask for a stream
// before it knows how its initialize was answered: the stream belongs to no
// session then, and to no old transport.
func TestStreamBesideInitializeIsNoFault(t *testing.T) {
	t.Parallel()
	scripts := []string{client.Good, "pages", "old-server-400", "old-server-404", "old-server-405"}
	traces, err := client.PlayScripts(t.Context(), rawTarget(fault{name: "stream-beside"}), newest, catalogue.HTTP, client.Limits{Idle: slow * 700 * time.Millisecond, Ask: slow * 400 * time.Millisecond}, scripts...)
	require.NoError(t, err)
	seen := map[string]result.Verdict{}
	for _, r := range client.Judge(newest, catalogue.HTTP, traces, nil) {
		seen[r.ID] = r.Verdict
		require.NotContains(t, []result.Verdict{result.Fail, result.Warn}, r.Verdict, "%s: expected %s, observed %s\n%s", r.ID, r.Expected, r.Observed, frames(r))
	}
	require.Equal(t, result.Pass, seen["client-session-sent"])
	require.Equal(t, result.NotObserved, seen["client-sse-probe"])
	require.Equal(t, result.NotObserved, seen["client-sse-endpoint"])
}

// TestBrokenClientsAreNamed holds that each fault is named by its check, and by no
// unrelated one.
func TestBrokenClientsAreNamed(t *testing.T) {
	t.Parallel()
	all, faults := faults, faults
	if slow > 1 {
		faults = nil
		for i, f := range all {
			if i%12 == 0 {
				faults = append(faults, f)
			}
		}
	}
	limits := client.Limits{Idle: slow * 700 * time.Millisecond, Ask: slow * 400 * time.Millisecond}
	played := make([][]*check.Trace, len(faults))
	// They mostly wait: more at once than there are processors.
	const atOnce = 16
	var work sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i, f := range faults {
		work.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			traces, err := client.PlayScripts(t.Context(), rawTarget(f), f.at, f.over, limits, append([]string{client.Good}, f.plays...)...)
			if err != nil {
				t.Errorf("%s: %v", f.name, err)
			}
			played[i] = traces
		})
	}
	work.Wait()
	for i, f := range faults {
		t.Run(f.check+"/"+f.name+"/"+f.at, func(t *testing.T) {
			var named []string
			for _, r := range client.Judge(f.at, f.over, played[i], nil) {
				switch r.Verdict {
				case result.Fail, result.Warn:
					named = append(named, r.ID)
					if r.ID != f.check && !slices.Contains(f.more, r.ID) {
						t.Errorf("%s: expected %s, observed %s\n%s", r.ID, r.Expected, r.Observed, frames(r))
					}
				case result.Error:
					t.Errorf("%s: %s", r.ID, r.Reason)
				}
			}
			require.Contains(t, named, f.check)
		})
	}
}

// TestEveryCheckHasABrokenClient holds that there is a fault for every check that
// can find one.
func TestEveryCheckHasABrokenClient(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range faults {
		seen[f.check] = true
	}
	for _, k := range client.All() {
		switch k.ID {
		case "client-gives-up": // whose time is its operator's choice
			continue
		case "client-poll-jitter": // see TestSteadyPolling: a matter of milliseconds
			continue
		}
		if !seen[k.ID] {
			t.Errorf("no broken client for %s", k.ID)
		}
	}
}

// TestClientThatNeverSaysItIsReadyIsJudged holds that such a client speaks the
// revision all the same: it is what the checks have to tell of.
func TestClientThatNeverSaysItIsReadyIsJudged(t *testing.T) {
	t.Parallel()
	rep, err := client.Run(t.Context(), rawTarget(fault{name: "no-initialized"}), client.Options{
		Revisions: []string{newest}, Transports: []catalogue.Transport{catalogue.Stdio, catalogue.HTTP},
		Selects: func(k *check.Check, _ string, _ catalogue.Transport) bool { return k.ID == "client-initialized-sent" },
		Limits:  client.Limits{Idle: slow * 500 * time.Millisecond},
	})
	require.NoError(t, err)
	require.Len(t, rep.Results, 2)
	for _, r := range rep.Results {
		require.Equal(t, result.Fail, r.Verdict, r.Transport)
	}
}

// TestSteadyPolling holds that a client that polls at one rhythm is told from one
// that varies it.
func TestSteadyPolling(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pause func(i int) time.Duration
		want  result.Verdict
	}{
		{"one rhythm", func(i int) time.Duration { return 300*time.Millisecond + time.Duration(i%3)*time.Millisecond }, result.Fail},
		{"a varied one", func(i int) time.Duration { return 300*time.Millisecond + time.Duration(i*i%7)*40*time.Millisecond }, result.Pass},
		{"a burst", func(int) time.Duration { return time.Millisecond }, result.NotObserved},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec := &transcript.Recording{}
			rec.Set("revision", stateless)
			rec.Set("transport", "stdio")
			rec.Set("profile", "short-lived")
			at := time.Duration(0)
			for i := range 12 {
				at += tt.pause(i)
				id := strconv.Itoa(i + 1)
				rec.Events = append(rec.Events,
					transcript.Event{Dir: transcript.ToServer, Timed: true, At: at, Data: []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list","params":{"_meta":{"` + metaVersion + `":"` + stateless + `","` + metaCaps + `":{}}}}`)},
					transcript.Event{Dir: transcript.ToClient, Timed: true, At: at, Data: []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"complete","tools":[],"ttlMs":250,"cacheScope":"private"}}`)})
			}
			got := client.Judge(stateless, catalogue.Stdio, []*check.Trace{check.NewTrace(rec)}, func(k *check.Check) bool { return k.ID == "client-poll-jitter" })
			require.Len(t, got, 1)
			require.Equal(t, tt.want, got[0].Verdict, "%s", got[0].Observed)
		})
	}
}

// TestABodyThatWasCutIsNoFault holds that a client that leaves while it sends is
// not judged for what it did not send: nobody knows what it would have been.
func TestABodyThatWasCutIsNoFault(t *testing.T) {
	const session = `>>1 POST /mcp
>>1 accept: application/json, text/event-stream
>1 {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<<1 200
<<1 content-type: application/json
<<1 mcp-session-id: s
<1 {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
<<1 end
`
	for _, tt := range []struct {
		name, before, after string
		broken              bool // it was sent as it should not be, and whole
	}{
		{name: "the first message", after: ">>2 accept: application/json, text/event-stream\n>2~ {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initia\n!2 error the body of the request ended early\n"},
		{name: "within a session", before: session, after: ">>2 content-length: 500\n>2~ {\"jsonrpc\"\n>>2 end\n"},
		{name: "of a length that is told", before: session, after: ">>2 content-length: 500\n>2 {\"jsonrpc\"\n>>2 end\n"},
		{name: "within a character", before: session, after: ">>2 content-length: 500\n>2x \"{\\xc3\"\n>>2 end\n"},
		{name: "before its first byte", before: session, after: ">>2 content-length: 500\n>>2 end\n"},
		{name: "before its first byte, of no told length", before: session, after: ">>2 end\n"},
		{name: "of no JSON", before: session, after: ">>2 content-length: 10\n>2 {\"jsonrpc\"\n<<2 400\n<<2 end\n", broken: true},
		{name: "without a session", before: session, after: ">>2 content-length: 40\n>2 {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n<<2 400\n<<2 end\n", broken: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec, err := transcript.Parse([]byte("goldwire-transcript: 1\nrevision: 2025-11-25\ntransport: http\n" + tt.before + ">>2 POST /mcp\n" + tt.after))
			require.NoError(t, err)
			var named []string
			for _, r := range client.Judge(newest, catalogue.HTTP, []*check.Trace{check.NewTrace(rec)}, nil) {
				if r.Verdict != result.Pass && r.Verdict != result.NotObserved && r.Verdict != result.NotApplicable {
					named = append(named, r.ID)
				}
			}
			if tt.broken {
				require.Contains(t, named, "client-session-sent")
			} else {
				require.Empty(t, named)
			}
		})
	}
}

// TestClientThatStopsOverAStreamIsToldHow holds that a finding about a client
// which goes no further says in what shape it was answered, which is not seen
// once the stream is read, and the last words of the client.
func TestClientThatStopsOverAStreamIsToldHow(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(faults, func(f fault) bool { return f.name == "one-data-line" })
	f := faults[i]
	traces, err := client.PlayScripts(t.Context(), rawTarget(f), f.at, f.over, client.Limits{Idle: slow * 700 * time.Millisecond, Ask: slow * 400 * time.Millisecond}, client.Good, "streams")
	require.NoError(t, err)
	for _, r := range client.Judge(f.at, f.over, traces, nil) {
		if r.ID == f.check {
			require.Equal(t, result.Fail, r.Verdict)
			require.Contains(t, r.Observed, "it went no further after an answer whose data stands in 2 lines of the stream")
		}
	}
}
