package client_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// raw is a client over stdio that does what a func does.
func raw(f func(ctx context.Context, s *client.Process, errs io.Writer) int) client.Target {
	return client.Target{
		Over: []catalogue.Transport{catalogue.Stdio},
		Launch: func(r client.Reach) check.Launcher {
			return check.Pipe{Serve: func(ctx context.Context, _ io.Reader, _, errs io.Writer) check.Exit {
				s := r.Start()
				stop := context.AfterFunc(ctx, s.Kill)
				defer stop()
				defer s.Kill()
				return check.Exit{Code: f(ctx, s, errs)}
			}}
		},
	}
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}` + "\n"

const ready = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// open makes the handshake of a stateful revision.
func open(s *client.Process) *bufio.Reader {
	_, _ = io.WriteString(s.In, hello)
	r := bufio.NewReader(s.Out)
	_, _ = r.ReadString('\n')
	_, _ = io.WriteString(s.In, ready)
	return r
}

// run plays in a bubble and gives the reasons for which plays were over, with
// how often.
func run(t *testing.T, target client.Target, o client.Options) (rep *result.Report, over map[string]int, took time.Duration, err error) {
	over = map[string]int{}
	o.Revisions, o.Parallel = []string{"2025-11-25"}, 4
	scripts := []client.Script{{Name: client.Good}}
	for i := range 12 { // no script that needs a network, which a bubble has none of
		scripts = append(scripts, client.Script{Name: fmt.Sprintf("good-%d", i)})
	}
	o = o.WithScripts(scripts...)
	o.Save = func(_ string, rec *transcript.Recording) error {
		over[client.Over(check.NewTrace(rec))]++
		return nil
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		rep, err = client.Run(t.Context(), target, o)
		took = time.Since(began)
	})
	return rep, over, took, err
}

func TestClientThatSendsNothing(t *testing.T) {
	_, over, took, err := run(t, raw(func(ctx context.Context, _ *client.Process, _ io.Writer) int { <-ctx.Done(); return 0 }), client.Options{})
	var silent *client.SilentError
	require.ErrorAs(t, err, &silent)
	require.Equal(t, map[string]int{client.OverSilent: 1}, over)
	require.Less(t, took, 35*time.Second, "it costs one limit")
}

func TestClientThatEndsAtOnce(t *testing.T) {
	_, _, took, err := run(t, raw(func(_ context.Context, _ *client.Process, errs io.Writer) int {
		fmt.Fprintln(errs, "no such option")
		return 3
	}), client.Options{})
	require.EqualError(t, err, "the client sent nothing: it exited with status 3\nno such option")
	require.Less(t, took, time.Second)
}

// TestClientThatStays holds that a client which never ends by itself is ended,
// and judged by what it did.
func TestClientThatStays(t *testing.T) {
	rep, over, took, err := run(t, raw(func(ctx context.Context, s *client.Process, _ io.Writer) int {
		r := open(s)
		go func() { _, _ = io.Copy(io.Discard, r) }()
		<-ctx.Done()
		return 0
	}), client.Options{})
	require.NoError(t, err)
	require.NotZero(t, rep.Summary()[result.Pass])
	require.Equal(t, map[string]int{client.OverIdle: 13}, over)
	require.Less(t, took, 20*time.Second)
}

// TestClientThatFloods holds that a client which writes without end costs little
// memory and time, and that the rest is given up.
func TestClientThatFloods(t *testing.T) {
	for name, text := range map[string]string{
		"lines":          `{"jsonrpc":"2.0","method":"notifications/x"}` + "\n",
		"one line":       strings.Repeat("x", 1<<10),
		"what is no use": "\n\n\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			rep, over, _, err := run(t, raw(func(ctx context.Context, s *client.Process, _ io.Writer) int {
				r := open(s)
				go func() { _, _ = io.Copy(io.Discard, r) }()
				for ctx.Err() == nil {
					if _, err := io.WriteString(s.In, text); err != nil {
						break
					}
				}
				return 0
			}), client.Options{Limits: client.Limits{Bytes: 64 << 10, Events: 300, Line: 16 << 10}})
			require.NoError(t, err)
			require.NotZero(t, over[client.OverFlood])
			require.LessOrEqual(t, over[client.OverFlood], 3+4, "the others are given up, but for those that were being played")
			require.NotZero(t, rep.Summary()[result.Blocked])
		})
	}
}

func TestRunIsEndedFromOutside(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	_, err := client.Run(ctx, raw(func(ctx context.Context, s *client.Process, _ io.Writer) int {
		_ = open(s)
		cancel()
		<-ctx.Done()
		return 0
	}), client.Options{Revisions: []string{"2025-11-25"}})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(began), 5*time.Second)
}

func TestClientOfNoRevisionOfOurs(t *testing.T) {
	_, _, _, err := run(t, raw(func(_ context.Context, s *client.Process, _ io.Writer) int {
		_, _ = io.WriteString(s.In, hello)
		_, _ = bufio.NewReader(s.Out).ReadString('\n')
		return 1
	}), client.Options{})
	var none *client.RevisionError
	require.ErrorAs(t, err, &none)
	require.Contains(t, err.Error(), `"method":"initialize"`)
}

// TestServerAnswersBatches holds that arrays are answered in one, in the one
// revision that has them.
func TestServerAnswersBatches(t *testing.T) {
	p := client.NewServer(t.Context(), &client.Script{}, "2025-03-26", catalogue.Stdio)
	defer p.Close()
	s := p.StartProcess()
	r := bufio.NewReader(s.Out)
	for _, tt := range []struct{ in, want string }{
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]`, `[{"jsonrpc":"2.0","id":1,"result":{}}]`},
		{`[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}`},
		{`{"jsonrpc":"2.0","id":"a","method":"ping"}`, `{"jsonrpc":"2.0","id":"a","result":{}}`},
	} {
		_, err := io.WriteString(s.In, tt.in+"\n")
		require.NoError(t, err)
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, tt.want, strings.TrimSpace(line))
	}
	require.NoError(t, s.In.Close())
	<-s.Exited()
	require.Zero(t, s.Code())
}

// rest is how long a client has to be silent before the next script may begin:
// longer than a busy machine keeps one from going on.
const rest = 2 * time.Second

// TestListenPlaysToWhoComes holds that a client which somebody else starts is
// judged by what it asks for, meets the next script at the same address each
// time it begins anew, and that the report holds what was seen when the run is
// stopped.
func TestListenPlaysToWhoComes(t *testing.T) {
	t.Parallel()
	const enough = 4
	stop := make(chan struct{})
	var clients sync.WaitGroup
	var scripts []string
	rep, err := client.Run(t.Context(), client.Target{Listen: "127.0.0.1:0"}, client.Options{
		Limits: client.Limits{Idle: rest}, Stop: stop,
		Progress: func(p client.Progress) {
			w := p.Waiting
			switch {
			case w == nil:
			case w.Script != "" && !w.Quiet:
				scripts = append(scripts, w.Script)
				require.Equal(t, len(scripts), w.Number)
				require.Greater(t, w.Of, enough)
				require.Equal(t, stateless, w.Revision)
			case w.Number == enough:
				close(stop)
			default: // nobody has come yet, or the one before has done all it does
				clients.Go(func() { _ = useAll(t.Context(), client.Reach{Transport: catalogue.HTTP, URL: w.URL}) })
			}
		},
	})
	clients.Wait()
	require.NoError(t, err)
	require.Equal(t, []string{stateless}, rep.Revisions)
	require.Len(t, scripts, enough)
	require.Equal(t, client.Good, scripts[0])
	verdicts := map[result.Verdict]int{}
	for _, c := range rep.Results {
		verdicts[c.Verdict]++
		if c.Verdict == result.Blocked {
			require.Equal(t, "the run was ended before all scripts were played", c.Reason)
		}
	}
	require.Zero(t, verdicts[result.Fail]+verdicts[result.Warn])
	require.NotZero(t, verdicts[result.Pass])
	require.NotZero(t, verdicts[result.Blocked])
}

// TestListenKnowsWhoBeginsAnew holds what of a client begins the next script
// and what belongs to the one that is played, or to none.
func TestListenKnowsWhoBeginsAnew(t *testing.T) {
	t.Parallel()
	const (
		begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
		list  = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	)
	step := make(chan client.Waiting)
	stop := make(chan struct{})
	var run sync.WaitGroup
	run.Go(func() {
		_, err := client.Run(t.Context(), client.Target{Listen: "127.0.0.1:0"}, client.Options{
			Limits: client.Limits{Idle: rest}, Stop: stop,
			Save: func(_ string, rec *transcript.Recording) error {
				require.NotContains(t, strings.ToLower(rec.String()), "sec-fetch")
				return nil
			},
			Progress: func(p client.Progress) {
				if p.Waiting != nil {
					select {
					case step <- *p.Waiting:
					case <-stop:
					}
				}
			},
		})
		require.NoError(t, err)
	})
	defer run.Wait()
	defer close(stop)
	send := func(method string, w client.Waiting, session, body string) (status int, given string) {
		req, err := http.NewRequestWithContext(t.Context(), method, w.URL, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode, resp.Header.Get("Mcp-Session-Id")
	}
	post := func(w client.Waiting, session, body string) (status int, given string) {
		return send(http.MethodPost, w, session, body)
	}
	w := <-step
	status, _ := post(w, "", list)
	require.Equal(t, http.StatusBadRequest, status, "nobody has begun")
	status, first := post(w, "", begin)
	require.Equal(t, http.StatusOK, status)
	status, other := post(w, "", begin)
	require.Equal(t, http.StatusOK, status, "a second session of the same run")
	_, _ = post(w, first, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	w = <-step
	require.Equal(t, "2025-06-18", w.Revision, "what the client asks for")
	require.Equal(t, client.Good, w.Script)
	require.True(t, (<-step).Quiet)
	status, _ = post(w, first, list)
	require.Equal(t, http.StatusOK, status, "the client may be used further")
	page, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL, nil)
	require.NoError(t, err)
	page.Header.Set("Sec-Fetch-Mode", "navigate")
	resp, err := http.DefaultClient.Do(page)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusNotFound, resp.StatusCode, "a person with a browser is not the client")
	for _, session := range []string{first, other} {
		status, _ = send(http.MethodDelete, w, session, "")
		require.Equal(t, http.StatusOK, status)
	}
	status, second := post(w, "", begin)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 2, (<-step).Number)
	status, _ = post(w, first, list)
	require.Equal(t, http.StatusNotFound, status, "the session ended with its script")
	status, _ = post(w, second, list)
	require.Equal(t, http.StatusOK, status)
}

// TestEachStartHasItsTime holds that a client which says nothing for a while
// after its second start, longer than it is silent between messages, is heard.
func TestEachStartHasItsTime(t *testing.T) {
	t.Parallel()
	const idle = slow * 200 * time.Millisecond
	starts := 0
	slowly := raw(func(ctx context.Context, s *client.Process, _ io.Writer) int {
		if starts++; starts > 1 {
			select {
			case <-time.After(4 * idle):
			case <-ctx.Done():
				return 1
			}
		}
		_, _ = io.WriteString(s.In, hello)
		_, _ = bufio.NewReader(s.Out).ReadString('\n')
		_, _ = io.WriteString(s.In, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
		_ = s.In.Close()
		return 0
	})
	heard := 0
	_, err := client.Run(t.Context(), slowly, client.Options{
		Revisions: []string{newest}, Limits: client.Limits{Idle: idle},
		Save: func(_ string, rec *transcript.Recording) error {
			heard = strings.Count(rec.String(), `"method":"initialize"`)
			return nil
		},
	}.WithScripts(client.Script{Name: client.Good, Starts: 2}))
	require.NoError(t, err)
	require.Equal(t, 2, heard)
}

// TestNothingIsOpenedOnceAPlayHasEnded holds that what a script still does then
// leaves nothing open that nobody would close.
func TestNothingIsOpenedOnceAPlayHasEnded(t *testing.T) {
	p := client.NewServer(t.Context(), &client.Script{Name: "late"}, newest, catalogue.HTTP)
	require.NotEmpty(t, p.Origin("early"))
	p.Close()
	require.Equal(t, "http://127.0.0.1:9", p.Origin("late"))
	<-p.StartProcess().Exited()
	p.Close()
}
