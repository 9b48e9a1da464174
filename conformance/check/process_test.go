//go:build unix

package check_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// peerEnv makes the test binary behave as one of the peers below.
const peerEnv = "GOLDWIRE_TEST_PEER"

// peers are processes that a driver has to outlive.
var peers = map[string]func(){
	"good": func() {
		var s checktest.Server
		os.Exit(s.Serve(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	},
	"silent": func() { _, _ = io.Copy(io.Discard, os.Stdin) },
	"exit": func() {
		fmt.Fprintln(os.Stderr, "cannot open the database")
		os.Exit(3)
	},
	"killed": func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	},
	"endless line": func() {
		chunk := bytes.Repeat([]byte("x"), 1<<20)
		for range 100 {
			if _, err := os.Stdout.Write(chunk); err != nil {
				return
			}
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
	},
	"flood": func() {
		for {
			if _, err := fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`); err != nil {
				return
			}
		}
	},
	"stderr flood": func() {
		go func() {
			line := strings.Repeat("noise ", 2000) + "\n"
			for {
				if _, err := os.Stderr.WriteString(line); err != nil {
					return
				}
			}
		}()
		var s checktest.Server
		os.Exit(s.Serve(context.Background(), os.Stdin, os.Stdout, io.Discard))
	},
	"closed output": func() {
		_ = os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
		select {}
	},
	"leaves a child": func() {
		cmd := exec.Command("sh", "-c", `trap "" TERM HUP; while :; do sleep 1; done`)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			os.Exit(9)
		}
		fmt.Fprintf(os.Stderr, "child %d\n", cmd.Process.Pid)
		os.Exit(3)
	},
	"deaf": func() { select {} }, // never reads
	"fork": func() {
		// Leaves a child that keeps the pipes open and ignores SIGTERM.
		cmd := exec.Command("sh", "-c", `trap "" TERM; echo started >&2; while :; do sleep 1; done`)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			os.Exit(9)
		}
		fmt.Fprintf(os.Stderr, "child %d\n", cmd.Process.Pid)
		r := bufio.NewReader(os.Stdin)
		_, _ = r.ReadString('\n')
		os.Exit(0)
	},
}

func TestMain(m *testing.M) {
	if peer := peers[os.Getenv(peerEnv)]; peer != nil {
		peer()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func peer(t *testing.T, name string) check.Command {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return check.Command{Args: []string{self}, Env: []string{peerEnv + "=" + name, "GORACE=atexit_sleep_ms=0"}}
}

var quick = check.Limits{
	Start: 2 * time.Second, Request: 500 * time.Millisecond, Short: 200 * time.Millisecond, Grace: 20 * time.Millisecond, Exit: time.Second,
}

func open(t *testing.T, name string, limits check.Limits) *check.Session {
	t.Helper()
	s, err := check.Open(t.Context(), peer(t, name), check.SessionOptions{Profile: check.Bare, Revision: "2025-11-25", Limits: limits})
	require.NoError(t, err)
	return s
}

func notes(t *check.Trace, k transcript.Kind) []string {
	var out []string
	for _, e := range t.Recording.Events {
		if e.Dir == transcript.Note && e.Kind == k {
			out = append(out, string(e.Data))
		}
	}
	return out
}

func TestSessionWithProcess(t *testing.T) {
	s := open(t, "good", quick)
	a := s.Call("initialize", s.Hello("2025-11-25"))
	require.True(t, a.OK())
	require.True(t, s.Fence())
	trace := s.Close()
	require.Equal(t, []string{"0"}, notes(trace, transcript.KindExit))
	_, died := trace.Died()
	require.False(t, died)
}

// TestClosedSessionIsNotCutShort holds that a context which ends while its
// session closes changes no recording that was handed out.
func TestClosedSessionIsNotCutShort(t *testing.T) {
	s := open(t, "good", quick)
	require.True(t, s.Call("initialize", s.Hello("2025-11-25")).OK())
	n := len(s.Close().Recording.Events)
	check.CutShort(s)
	require.Len(t, s.Trace().Recording.Events, n)
}

// TestExitAfterCloseIsNotRecorded holds that a server which outlives its session
// changes no recording that was handed out when it ends.
func TestExitAfterCloseIsNotRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		s, err := check.Open(t.Context(), check.Pipe{Serve: func(context.Context, io.Reader, io.Writer, io.Writer) check.Exit {
			<-end
			return check.Exit{}
		}}, check.SessionOptions{Profile: check.Bare, Revision: "2025-11-25", Limits: quick})
		require.NoError(t, err)
		n := len(s.Close().Recording.Events)
		close(end)
		synctest.Wait()
		require.Len(t, s.Trace().Recording.Events, n)
	})
}

// TestDeclaringBesideRequestsOfTheServer holds, under the race detector, that a
// server may ask before the client has said what it can.
func TestDeclaringBesideRequestsOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := check.Open(t.Context(), check.Pipe{Serve: func(_ context.Context, in io.Reader, out, _ io.Writer) check.Exit {
			go func() { _, _ = io.Copy(io.Discard, in) }()
			for range 50 {
				_, _ = io.WriteString(out, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`+"\n")
			}
			return check.Exit{}
		}}, check.SessionOptions{Profile: check.Bare, Revision: "2025-11-25", Limits: quick})
		require.NoError(t, err)
		for s.Lost() == "" {
			s.Declare(`{"roots":{}}`)
		}
		s.Close()
	})
}

func TestSessionSaysHowTheServerDied(t *testing.T) {
	s := open(t, "exit", quick)
	require.Nil(t, s.Call("ping", ""))
	trace := s.Close()
	how, died := trace.Died()
	require.True(t, died)
	require.Equal(t, "it exited with status 3", how)
	require.Equal(t, "cannot open the database", trace.Stderr(5))

	s = open(t, "killed", quick)
	require.Nil(t, s.Call("ping", ""))
	how, died = s.Close().Died()
	require.True(t, died)
	require.Equal(t, "it was ended by SIGKILL", how)
}

func TestSessionIsBounded(t *testing.T) {
	tests := map[string]func(t *testing.T, s *check.Session){
		"silent": func(t *testing.T, s *check.Session) {
			require.Nil(t, s.Call("ping", ""))
			require.NotEmpty(t, s.Lost())
			require.Nil(t, s.Call("ping", ""), "a lost session costs no more time")
		},
		"endless line": func(t *testing.T, s *check.Session) {
			require.Nil(t, s.Call("ping", ""))
			require.NotEmpty(t, s.Lost())
		},
		"flood": func(t *testing.T, s *check.Session) {
			require.Nil(t, s.Call("ping", ""))
			require.NotEmpty(t, s.Lost())
		},
		"stderr flood": func(t *testing.T, s *check.Session) {
			require.True(t, s.Call("ping", "").OK())
		},
		"closed output": func(t *testing.T, s *check.Session) {
			require.Nil(t, s.Call("ping", ""))
		},
		"deaf": func(t *testing.T, s *check.Session) {
			s.Line(strings.Repeat("x", 1<<20)) // more than a pipe holds
			require.NotEmpty(t, s.Lost())
			require.Nil(t, s.Call("ping", ""))
		},
	}
	for name, drive := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := quick
			limits.Line, limits.Bytes, limits.Events, limits.Stderr = 1<<20, 32<<20, 5_000, 64<<10
			began := time.Now()
			s := open(t, name, limits)
			drive(t, s)
			trace := s.Close()
			require.Less(t, time.Since(began), 15*time.Second)
			size := 0
			for _, e := range trace.Recording.Events {
				size += len(e.Data)
			}
			require.Less(t, size, 4<<20)
			require.LessOrEqual(t, len(trace.Recording.Events), 5_100)
		})
	}
}

// TestExitIsNoticedAtOnce holds that the end of the server is what counts, not
// that of its pipes: with these limits anything else would outlast the test.
func TestExitIsNoticedAtOnce(t *testing.T) {
	t.Parallel()
	limits := quick
	limits.Start, limits.Request, limits.Short = time.Hour, time.Hour, time.Hour
	s := open(t, "leaves a child", limits)
	require.Nil(t, s.Call("ping", ""))
	trace := s.Close()
	how, died := trace.Died()
	require.True(t, died)
	require.Equal(t, "it exited with status 3", how)
	requireChildEnds(t, trace)

	x, err := check.Explore(t.Context(), peer(t, "leaves a child"), limits)
	require.NoError(t, err)
	require.False(t, x.Answered)
	how, _ = x.Traces[0].Died()
	require.Equal(t, "it exited with status 3", how)
}

func TestSessionKillsWhatTheServerStarted(t *testing.T) {
	t.Parallel()
	limits := quick
	limits.Start, limits.Request, limits.Short = time.Hour, time.Hour, time.Hour
	s := open(t, "fork", limits)
	s.Line("go")
	require.Nil(t, s.Call("ping", ""), "it has ended by then, and has said before which child it has")
	requireChildEnds(t, s.Close())
}

func requireChildEnds(t *testing.T, trace *check.Trace) {
	t.Helper()
	child := 0
	for _, line := range notes(trace, transcript.KindStderr) {
		if n, ok := strings.CutPrefix(line, "child "); ok {
			var err error
			child, err = strconv.Atoi(n)
			require.NoError(t, err)
		}
	}
	require.NotZero(t, child)
	require.Eventually(t, func() bool { return !running(child) }, 5*time.Second, 10*time.Millisecond)
}

// running reports whether a process lives; a dead one that nobody has waited
// for does not.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(rest, []byte("Z"))
}

func TestCommandThatDoesNotExist(t *testing.T) {
	_, err := check.Open(t.Context(), check.Command{Args: []string{"/does/not/exist"}}, check.SessionOptions{Revision: "2025-11-25"})
	require.Error(t, err)
	_, err = check.Open(t.Context(), check.Command{}, check.SessionOptions{Revision: "2025-11-25"})
	require.Error(t, err)
}
