//go:build unix

package jsonl_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// rawChild is a child that answers initialize and leaves the rest to f: it
// gets each further line with its id ("" if none).
func rawChild(f func(out *os.File, line, id string)) func() int {
	return func() int {
		in := bufio.NewReaderSize(os.Stdin, 1<<20)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return 0
			}
			id := wire.Raw(line).Get("id").String()
			if strings.Contains(line, `"initialize"`) {
				_, _ = os.Stdout.WriteString(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{}}}` + "\n")
				continue
			}
			f(os.Stdout, line, id)
		}
	}
}

func answer(out *os.File, id, text string) {
	_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`+"\n", id, text)
}

func init() {
	// Each of these breaks in a way of its own on tools/call.
	toolChild := func(f func(out *os.File, line, id string)) func() int {
		return rawChild(func(out *os.File, line, id string) {
			if strings.Contains(line, `"tools/call"`) {
				f(out, line, id)
			}
		})
	}
	children["exits"] = toolChild(func(*os.File, string, string) {
		fmt.Fprintln(os.Stderr, "cannot reach the database, password "+os.Getenv("DB_PASSWORD"))
		os.Exit(3)
	})
	children["hangs"] = toolChild(func(*os.File, string, string) {})
	children["closes"] = toolChild(func(out *os.File, _, _ string) { // closes its stdout and lives on
		_ = out.Close()
		select {}
	})
	for kind, as := range map[string]string{"leaves and terminates": "terminates", "leaves, stubborn": "stubborn"} {
		children[kind] = func() int { // it goes to its parent's process group
			group, err := syscall.Getpgid(os.Getppid())
			if err == nil {
				err = syscall.Setpgid(0, group)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			return children[as]()
		}
	}
	children["deaf"] = rawChild(func(*os.File, string, string) { select {} }) // stops reading
	children["endless"] = toolChild(func(out *os.File, _, id string) {
		pad := strings.Repeat("x", 1<<20)
		_, _ = out.WriteString(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"`)
		for range 40 {
			_, _ = out.WriteString(pad)
		}
		_, _ = out.WriteString("\n")
	})
	children["floods"] = toolChild(func(out *os.File, _, id string) {
		w := bufio.NewWriter(out)
		for i := range 50_000 {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`+"\n", i)
		}
		_ = w.Flush()
		answer(out, id, "flooded")
	})
	children["lies"] = toolChild(func(out *os.File, line, id string) {
		switch {
		case strings.Contains(line, `"twice"`):
			answer(out, id, "one")
			answer(out, id, "two")
		case strings.Contains(line, `"never"`):
		case strings.Contains(line, `"wrong type"`):
			answer(out, `"`+id+`"`, "wrong")
		case strings.Contains(line, `"wrong id"`):
			answer(out, "999", "wrong")
		case strings.Contains(line, `"junk"`):
			_, _ = out.WriteString("starting up...\n\n{\n" + `{"jsonrpc":"2.0"` + "\n\x00\xff\n{}\n[]\nnull\n")
			answer(out, id, "good")
		case strings.Contains(line, `"together"`):
			_, _ = out.WriteString(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[]}} {"jsonrpc":"2.0","id":` + id + `,"result":{}}` + "\n")
		default:
			answer(out, id, "honest")
		}
	})
	children["last words"] = toolChild(func(out *os.File, _, id string) { // its answer has no newline
		_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"last"}]}}`, id)
		os.Exit(0)
	})
	children["stubborn"] = func() int { // ignores the end of its input, and SIGTERM
		signal.Ignore(syscall.SIGTERM)
		rawChild(func(*os.File, string, string) {})()
		select {}
	}
	children["terminates"] = func() int { // ignores the end of its input
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		rawChild(func(*os.File, string, string) {})()
		<-c
		fmt.Fprintln(os.Stderr, "got the signal")
		return 0
	}
	children["parent"] = func() int { // leaves a grandchild behind
		grand := exec.Command(os.Args[0])
		grand.Env = append(os.Environ(), "GOLDWIRE_CHILD=grandchild", "GORACE=atexit_sleep_ms=0")
		grand.Stdout, grand.Stderr = os.Stdout, os.Stderr
		if err := grand.Start(); err != nil {
			return 1
		}
		rawChild(func(out *os.File, line, id string) { answer(out, id, strconv.Itoa(grand.Process.Pid)) })()
		return 0
	}
	children["grandchild"] = func() int {
		signal.Ignore(syscall.SIGTERM)
		select {}
	}
	children["env"] = toolChild(func(out *os.File, _, id string) {
		env := os.Environ()
		slices.Sort(env)
		dir, _ := os.Getwd()
		answer(out, id, strings.Join(append(env, dir), "\n"))
	})
	children["noisy"] = rawChild(func(out *os.File, _, id string) {
		for i := range 5000 {
			fmt.Fprintf(os.Stderr, "line %d %s\r\n", i, strings.Repeat("n", 50))
		}
		fmt.Fprint(os.Stderr, "\xffno end")
		if id != "" {
			answer(out, id, "said")
		}
	})
	children["slow"] = func() int {
		return serveStdio(server(func(context.Context, *callParams) (*callResult, error) {
			<-time.After(200 * time.Millisecond)
			return &callResult{Content: []textContent{{"slow"}}}, nil
		}))
	}
	children["mute"] = func() int { // answers nothing, not even initialize
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	children["blocks"] = func() int { return serveStdio(blocking(make(chan struct{}))) }
}

func serveStdio(b jsonrpc.Binder) int {
	if err := jsonrpc.Serve(context.Background(), jsonl.Stdio(), b); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// start connects to a child.
func start(t *testing.T, p *jsonl.Process, b jsonrpc.Binder) (*jsonrpc.Conn, *jsonl.ProcessLink) {
	t.Helper()
	if b == nil {
		b = client()
	}
	c, err := connect(t.Context(), p, b)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c, c.Link().(*jsonl.ProcessLink)
}

// TestChild: calls to a real child, and an orderly end: stdin is closed and it
// exits (row 32).
func TestChild(t *testing.T) {
	c, l := start(t, self("echo"), nil)
	for i := range 300 {
		text := fmt.Sprint("text ", i)
		got, err := echo(t.Context(), c, text)
		require.NoError(t, err)
		require.Equal(t, text, got)
	}
	require.NoError(t, c.Ping(t.Context()))
	begun := time.Now()
	require.NoError(t, c.Close(t.Context()))
	require.Less(t, time.Since(begun), 2*time.Second, "no signal was needed")
	<-l.Exited()
	require.NoError(t, c.Err())
	require.NoError(t, c.Close(t.Context()), "idempotent")
	require.ErrorIs(t, syscall.Kill(l.PID(), 0), syscall.ESRCH, "reaped")
}

// TestSpawnErrors are typed (row 15).
func TestSpawnErrors(t *testing.T) {
	var se *jsonl.SpawnError
	_, err := connect(t.Context(), jsonl.Command("/nonexistent/program"), client())
	require.ErrorAs(t, err, &se)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = connect(t.Context(), jsonl.Command("no-such-program-anywhere"), client())
	require.ErrorIs(t, err, exec.ErrNotFound)
	p := self("echo")
	p.Dir = "/nonexistent"
	_, err = connect(t.Context(), p, client())
	require.ErrorAs(t, err, &se)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/x", []byte("x"), 0o600))
	_, err = connect(t.Context(), jsonl.Command(dir+"/x"), client())
	require.ErrorIs(t, err, fs.ErrPermission)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = connect(ctx, self("echo"), client())
	require.ErrorIs(t, err, context.Canceled)
}

// TestExitIsExplained: every pending call says exit code or signal and the end
// of stderr, without secrets, and that it was waiting for the answer (rows 23,
// 24, 31).
func TestExitIsExplained(t *testing.T) {
	p := self("exits")
	p.Env["DB_PASSWORD"] = "hunter2hunter2"
	c, _ := start(t, p, nil)
	_, err := echo(t.Context(), c, "x")
	var xe *jsonl.ExitError
	require.ErrorAs(t, err, &xe)
	require.Equal(t, 3, xe.Code)
	require.Equal(t, "cannot reach the database, password [redacted]", xe.Stderr)
	require.Contains(t, err.Error(), "exited with code 3; stderr ends with:\ncannot reach the database")
	var ce *jsonrpc.CallError
	require.ErrorAs(t, err, &ce)
	require.Equal(t, jsonrpc.StageReceive, ce.Stage)
	require.ErrorIs(t, err, jsonrpc.ErrClosed)
	<-c.Done()
	require.ErrorAs(t, c.Err(), &xe)

	// A child that ends during the handshake.
	_, err = connect(t.Context(), self("no such kind"), client())
	require.ErrorAs(t, err, &xe)
	require.Equal(t, 2, xe.Code)
	require.Equal(t, "unknown child no such kind", xe.Stderr)

	// It closes its stdout, and does not exit.
	c, _ = start(t, self("closes"), nil)
	_, err = echo(t.Context(), c, "x")
	require.ErrorAs(t, err, &xe)
	require.True(t, xe.Running)
	require.Contains(t, err.Error(), "closed its stdout and still runs")
	<-c.Done()
}

// TestKillInMidCall: kill -9 while calls wait.
func TestKillInMidCall(t *testing.T) {
	c, l := start(t, self("blocks"), nil)
	errs := make(chan error)
	for range 10 {
		go func() {
			_, err := echoName(t.Context(), c, "block")
			errs <- err
		}()
	}
	_, err := echoName(t.Context(), c, "through") // the calls are on their way
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(l.PID(), syscall.SIGKILL))
	for range 10 {
		err := <-errs
		var xe *jsonl.ExitError
		require.ErrorAs(t, err, &xe)
		require.Equal(t, "killed", xe.Signal)
		require.Equal(t, -1, xe.Code)
		require.Contains(t, err.Error(), "was ended by signal killed")
	}
	<-c.Done()
	_, err = echoName(t.Context(), c, "x")
	require.ErrorIs(t, err, jsonrpc.ErrClosed)
	require.NoError(t, c.Close(t.Context()))
}

// TestShutdownOrder: stdin closed, then SIGTERM to the group, then SIGKILL,
// each after its time; always reaped, and once for all who close (row 32).
func TestShutdownOrder(t *testing.T) {
	for _, k := range []struct {
		kind          string
		least, most   time.Duration
		says          string
		stop, killing time.Duration
	}{
		{"hangs", 0, 15 * time.Second, "", 20 * time.Second, time.Second},
		{"terminates", 100 * time.Millisecond, 15 * time.Second, "got the signal", 100 * time.Millisecond, 20 * time.Second},
		{"stubborn", 200 * time.Millisecond, 15 * time.Second, "", 100 * time.Millisecond, 100 * time.Millisecond},
		{"leaves and terminates", 100 * time.Millisecond, 15 * time.Second, "got the signal", 100 * time.Millisecond, 20 * time.Second},
		{"leaves, stubborn", 200 * time.Millisecond, 15 * time.Second, "", 100 * time.Millisecond, 100 * time.Millisecond},
	} {
		t.Run(k.kind, func(t *testing.T) {
			p := self(k.kind)
			p.StopAfter, p.KillAfter = k.stop, k.killing
			c, l := start(t, p, nil)
			begun := time.Now()
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() {
					within, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					if err := c.Close(within); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			took := time.Since(begun)
			require.GreaterOrEqual(t, took, k.least)
			require.LessOrEqual(t, took, k.most)
			<-l.Exited()
			require.ErrorIs(t, syscall.Kill(l.PID(), 0), syscall.ESRCH)
			require.Equal(t, k.says, l.Stderr())
		})
	}
}

// TestGrandchildren end with their parent's group.
func TestGrandchildren(t *testing.T) {
	p := self("parent")
	p.KillAfter = 100 * time.Millisecond
	c, l := start(t, p, nil)
	pid, err := echoName(t.Context(), c, "x")
	require.NoError(t, err)
	grand, err := strconv.Atoi(pid)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(grand, 0))
	require.NoError(t, c.Close(t.Context()))
	require.ErrorIs(t, syscall.Kill(l.PID(), 0), syscall.ESRCH)
	// Nobody reaps a grandchild here, so that it may stay as a zombie.
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err == nil {
		require.Contains(t, string(stat), ") Z ", "it runs on")
	}

	// A parent that is killed: the grandchild holds its stdout open, and calls
	// fail all the same.
	c, l = start(t, p, nil)
	require.NoError(t, syscall.Kill(l.PID(), syscall.SIGKILL))
	_, err = echoName(t.Context(), c, "x")
	var xe *jsonl.ExitError
	require.ErrorAs(t, err, &xe)
	require.Equal(t, "killed", xe.Signal)
	<-c.Done()
}

// TestEnvironment: an allow-list on top of literal values (row 6).
func TestEnvironment(t *testing.T) {
	t.Setenv("LC_TEST", "inherited")
	t.Setenv("GOLDWIRE_SECRET", "not inherited")
	t.Setenv("HOME", "replaced")
	dir, err := os.MkdirTemp("", "cwd")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.Remove(dir) })
	p := self("env")
	p.Dir = dir
	p.Env["HOME"], p.Env["LITERAL"] = "/literal", "a=b $HOME"
	c, _ := start(t, p, nil)
	got, err := echoName(t.Context(), c, "x")
	require.NoError(t, err)
	lines := strings.Split(got, "\n")
	require.Contains(t, lines, "LC_TEST=inherited")
	require.Contains(t, lines, "HOME=/literal")
	require.Contains(t, lines, "LITERAL=a=b $HOME")
	require.Equal(t, dir, lines[len(lines)-1])
	require.NotContains(t, got, "GOLDWIRE_SECRET")

	p.Inherit, p.Dir = []string{}, ""
	c, _ = start(t, p, nil)
	got, err = echoName(t.Context(), c, "x")
	require.NoError(t, err)
	here, err := os.Getwd()
	require.NoError(t, err)
	want := []string{}
	for name, value := range p.Env {
		want = append(want, name+"="+value)
	}
	slices.Sort(want)
	require.Equal(t, append(want, here), strings.Split(got, "\n"))
	require.Contains(t, jsonl.DefaultInherit(), "PATH")
}

// TestStderr: a bounded ring of lines, and a live hook that cannot harm (row
// 24).
func TestStderr(t *testing.T) {
	p := self("noisy")
	hang := make(chan struct{})
	heard := make(chan string, 20000)
	p.Stderr = func(line string) {
		<-hang
		heard <- line
		panic("listener")
	}
	c, l := start(t, p, nil)
	_, err := echoName(t.Context(), c, "x")
	require.NoError(t, err)
	require.NoError(t, c.Close(t.Context()))
	close(hang) // nothing waited for it
	n := 1
	for last := <-heard; last != "\uFFFDno end"; last = <-heard {
		require.True(t, strings.Contains(last, "line "), last)
		n++
	}
	require.LessOrEqual(t, n, 1001)
	got := strings.Split(l.Stderr(), "\n")
	require.LessOrEqual(t, len(got), 200)
	require.Equal(t, "\uFFFDno end", got[len(got)-1])
	require.Equal(t, "line 4999 "+strings.Repeat("n", 50), got[len(got)-2])
}

// TestChildThatStopsReading: calls end by their deadline, and others by their
// context; closing does not hang (row 28).
func TestChildThatStopsReading(t *testing.T) {
	p := self("deaf")
	p.Options.MaxOutgoing = 1 << 20
	p.StopAfter, p.KillAfter = 50*time.Millisecond, 50*time.Millisecond
	c, _ := start(t, p, nil)
	big := strings.Repeat("x", 300<<10)
	short := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Timeout: new(2 * time.Second)})
	errs := make(chan error)
	for range 8 {
		go func() {
			ctx, cancel := context.WithTimeout(short, 3*time.Second)
			defer cancel()
			_, err := echo(ctx, c, big)
			errs <- err
		}()
	}
	overloads := 0
	for range 8 {
		err := <-errs
		switch {
		case errors.Is(err, jsonrpc.ErrOverloaded):
			overloads++
		case errors.Is(err, jsonrpc.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		default:
			t.Errorf("unexpected: %v", err)
		}
	}
	require.Positive(t, overloads)
	require.NoError(t, c.Close(t.Context()))
}

// TestEndlessAnswer: an answer above the bound fails its call at once and the
// connection lives on (rows 18, 71).
func TestEndlessAnswer(t *testing.T) {
	p := self("endless")
	p.Options.MaxMessage = 1 << 20
	c, _ := start(t, p, nil)
	for range 2 {
		_, err := echo(t.Context(), c, "x")
		require.ErrorIs(t, err, jsonrpc.ErrTooLong)
		var ce *jsonrpc.CallError
		require.ErrorAs(t, err, &ce)
		require.Equal(t, jsonrpc.StageDecode, ce.Stage)
	}
}

// TestFlood: notifications above the bound are dropped, the oldest first, and
// counted; the answer behind them arrives.
func TestFlood(t *testing.T) {
	me := client()
	var mu sync.Mutex
	var got []int64
	jsonrpc.HandleNotification(me, "notifications/message", func(_ context.Context, p *object) error {
		n, _ := p.Get("data").Int()
		mu.Lock()
		got = append(got, n)
		mu.Unlock()
		return nil
	})
	c, _ := start(t, self("floods"), me)
	text, err := echo(t.Context(), c, "x")
	require.NoError(t, err)
	require.Equal(t, "flooded", text)
	require.NoError(t, c.Close(t.Context()))
	s := c.Stats()
	mu.Lock()
	defer mu.Unlock()
	require.True(t, slices.IsSorted(got))
	require.LessOrEqual(t, len(got)+int(s.Count(jsonrpc.DroppedNotification)), 50_000)
	require.Positive(t, len(got))
}

// TestLiar: answers twice, never, with the wrong type of id, junk between
// (rows 19, 21, 22).
func TestLiar(t *testing.T) {
	c, _ := start(t, self("lies"), nil)
	ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Timeout: new(300 * time.Millisecond)})
	got, err := echoName(ctx, c, "twice")
	require.NoError(t, err)
	require.Equal(t, "one", got)
	for _, name := range []string{"never", "wrong type", "wrong id", "together"} {
		_, err = echoName(ctx, c, name)
		require.Error(t, err, name)
	}
	got, err = echoName(t.Context(), c, "junk")
	require.NoError(t, err)
	require.Equal(t, "good", got)
	got, err = echoName(t.Context(), c, "fence")
	require.NoError(t, err)
	require.Equal(t, "honest", got)
	s := c.Stats()
	for kind, n := range map[jsonrpc.EventKind]uint64{
		jsonrpc.DuplicateAnswer: 1, jsonrpc.WrongIDAnswer: 1, jsonrpc.UnknownAnswer: 1, jsonrpc.BadJSON: 5, jsonrpc.InvalidMessage: 2, jsonrpc.RefusedBatch: 1,
	} {
		require.Equal(t, n, s.Count(kind), kind)
	}
}

// TestLastLine: an answer without a newline at the end of the stream counts
// (row 73).
func TestLastLine(t *testing.T) {
	c, _ := start(t, self("last words"), nil)
	got, err := echo(t.Context(), c, "x")
	require.NoError(t, err)
	require.Equal(t, "last", got)
	<-c.Done()
}

// TestBrokenStdout: a server whose reader has gone ends with an error, not by
// SIGPIPE.
func TestBrokenStdout(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GOLDWIRE_CHILD=echo", "GORACE=atexit_sleep_ms=0")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	require.NoError(t, out.Close())
	_, err = io.WriteString(in, sayInit)
	require.NoError(t, err)
	err = cmd.Wait()
	var xe *exec.ExitError
	require.ErrorAs(t, err, &xe)
	require.Equal(t, 1, xe.ExitCode(), stderr.String())
	require.Contains(t, stderr.String(), "broken pipe")
}

// TestManyChildren: dialled again and again, each is its own.
func TestManyChildren(t *testing.T) {
	p := self("echo")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			c, err := connect(t.Context(), p, client())
			if err != nil {
				t.Error(err)
				return
			}
			text := fmt.Sprint(i)
			if got, err := echo(t.Context(), c, text); err != nil || got != text {
				t.Errorf("%q, %v", got, err)
			}
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestConnectIsBounded: a child that never answers initialize is given up with
// the caller's context, and brought to its end (row 10).
func TestConnectIsBounded(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	l, err := self("mute").Dial(ctx)
	require.NoError(t, err)
	begun := time.Now()
	_, err = connect(ctx, dialed{l}, client())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(begun), 2*time.Second)
	<-l.Done()
	require.ErrorIs(t, syscall.Kill(l.(*jsonl.ProcessLink).PID(), 0), syscall.ESRCH, "reaped")
}

// dialed is a link that is open already.
type dialed struct{ l jsonrpc.Link }

func (d dialed) Dial(context.Context) (jsonrpc.Link, error) { return d.l, nil }

// TestDrainBeforeClose: a client drains, its running calls get their answers,
// and new ones are refused (row 13).
func TestDrainBeforeClose(t *testing.T) {
	c, _ := start(t, self("slow"), nil)
	errs := make(chan error)
	for range 5 {
		go func() {
			_, err := echoName(t.Context(), c, "x")
			errs <- err
		}()
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for c.Stats().Calls < 5 {
		<-tick.C
	}
	drained := make(chan error)
	go func() { drained <- c.Drain(t.Context()) }()
	for c.State() != jsonrpc.Draining {
		<-tick.C
	}
	var se *jsonrpc.StateError
	_, err := echoName(t.Context(), c, "x")
	require.ErrorAs(t, err, &se)
	for range 5 {
		require.NoError(t, <-errs)
	}
	require.NoError(t, <-drained)
	require.Equal(t, jsonrpc.Closed, c.State())
}
