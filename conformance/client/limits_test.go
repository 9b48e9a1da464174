package client_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
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

// TestListenPlaysToWhoComes holds that a client which somebody else starts is
// played one script after the other at one address.
func TestListenPlaysToWhoComes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var clients sync.WaitGroup
	scripts := map[string]bool{}
	_, err = client.Run(ctx, client.Target{Listen: addr}, client.Options{
		Revisions: []string{"2026-07-28"}, Transports: []catalogue.Transport{catalogue.HTTP}, Limits: client.Limits{Start: time.Second, Idle: 50 * time.Millisecond, Play: 2 * time.Second},
		Progress: func(p client.Progress) {
			if p.Script == "" {
				return
			}
			scripts[p.Script] = true
			if len(scripts) > 4 {
				cancel() // enough
			}
			clients.Go(func() { _ = useAll(ctx, client.Reach{Transport: catalogue.HTTP, URL: p.URL}) })
		},
	})
	clients.Wait()
	require.ErrorIs(t, err, context.Canceled)
	require.Greater(t, len(scripts), 4)
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
