package record

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/transcript"
)

// childVar names what the test binary does as a child, parentVar the process that
// it waits to be rid of.
const (
	childVar  = "RECORD_TEST_CHILD"
	parentVar = "RECORD_TEST_PARENT"
)

func TestMain(m *testing.M) {
	switch os.Getenv(childVar) {
	case "":
		patience, urgency = 200*time.Millisecond, 200*time.Millisecond
		os.Exit(m.Run())
	case "echo": // says what it is told, and ends with its input
		fmt.Fprintln(os.Stderr, "ready")
		_, _ = io.Copy(os.Stdout, os.Stdin)
		os.Exit(7)
	case "bye": // says something, and more behind the end of its input
		fmt.Println("hello")
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Println("bye")
	case "sleep": // says one thing, and then nothing, whatever becomes of its input
		fmt.Println("hello")
		time.Sleep(time.Minute)
	case "flood": // writes more than a pipe holds, and ends
		b := bytes.Repeat([]byte("0123456789abcdef\n"), 1<<16)
		_, _ = os.Stdout.Write(b)
	case "babble": // ends, and leaves somebody behind who goes on talking
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), childVar+"=talk", fmt.Sprint(parentVar, "=", os.Getpid()))
		c.Stdout = os.Stdout
		_ = c.Start()
	case "talk":
		for os.Getenv(parentVar) == fmt.Sprint(os.Getppid()) {
			time.Sleep(time.Millisecond)
		}
		for {
			if _, err := fmt.Println("y"); err != nil {
				os.Exit(0)
			}
			time.Sleep(10 * time.Millisecond)
		}
	case "leak": // leaves somebody behind who holds its output open
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), childVar+"=sleep")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		_ = c.Start()
		fmt.Println(c.Process.Pid)
		s := bufio.NewScanner(os.Stdin)
		s.Scan()
		os.Exit(0)
	}
}

// child is the command of a test, and a log of it.
type child struct {
	file bytes.Buffer
	log  *Log
	out  bytes.Buffer
	err  bytes.Buffer
}

func (c *child) run(t *testing.T, what string, in io.Reader, s Stdio) *os.ProcessState {
	t.Helper()
	t.Setenv(childVar, what)
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	var err error
	c.log, err = NewLog(&c.file, LogOptions{Target: "./server", Transport: "stdio"})
	require.NoError(t, err)
	s.In = in
	if s.Out == nil {
		s.Out = &c.out
	}
	s.Err = &c.err
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	state, err := s.Run(ctx, c.log.Recorder(), []string{os.Args[0]})
	require.NoError(t, err)
	require.NoError(t, c.log.Close())
	return state
}

func (c *child) recording(t *testing.T) *transcript.Recording {
	t.Helper()
	rec, err := transcript.Parse(c.file.Bytes())
	require.NoError(t, err, "%s", c.file.Bytes())
	return rec
}

// lines are the events of a recording as text, without times.
func lines(rec *transcript.Recording) []string {
	var out []string
	for _, e := range rec.Events {
		e.Timed = false
		out = append(out, e.Line())
	}
	return out
}

func TestStdioAltersNoByte(t *testing.T) {
	const in = "{\"id\":1746600000000000000}\n\n\xff\r\nno newline at the end"
	var c child
	state := c.run(t, "echo", strings.NewReader(in), Stdio{})
	require.Equal(t, in, c.out.String())
	require.Equal(t, "ready\n", c.err.String())
	require.Equal(t, 7, Status(state))
	rec := c.recording(t)
	require.Equal(t, "./server", rec.Get(transcript.FieldTarget))
	require.Equal(t, "stdio", rec.Get(transcript.FieldTransport))
	got := lines(rec)
	require.Contains(t, got[0], "! start ")
	require.Equal(t, "! exit 7", got[len(got)-1])
	for _, want := range []string{
		`> {"id":1746600000000000000}`, ">", `>x "\xff\r"`, ">~ no newline at the end", "! eof >",
		`< {"id":1746600000000000000}`, "<", `<x "\xff\r"`, "<~ no newline at the end", "! eof <", "! stderr ready",
	} {
		require.Contains(t, got, want)
	}
}

// gate is a client that reads nothing until it is let.
type gate struct {
	bytes.Buffer
	open <-chan struct{}
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	return g.Buffer.Write(b)
}

func TestStdioPassesOnAllThatAChildWroteBeforeItEnded(t *testing.T) {
	open := make(chan struct{})
	g := &gate{open: open}
	time.AfterFunc(2*urgency, func() { close(open) })
	in, w := io.Pipe()
	defer w.Close()
	var c child
	require.True(t, c.run(t, "flood", in, Stdio{Out: g}).Success())
	require.Equal(t, 17<<16, g.Len())
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// wait sets how long a child is waited for, for a test in which a machine that is
// busy must not change what happens.
func wait(t *testing.T, forEnd, forTerm time.Duration) {
	p, u := patience, urgency
	t.Cleanup(func() { patience, urgency = p, u })
	patience, urgency = forEnd, forTerm
}

func TestStdioSurvivesTheClient(t *testing.T) {
	wait(t, 3*time.Second, 20*time.Second) // for its hello, and for its end
	var c child
	state := c.run(t, "sleep", strings.NewReader(""), Stdio{Out: broken{}})
	require.Equal(t, 128+15, Status(state))
	got := lines(c.recording(t))
	for _, want := range []string{"< hello", "! eof >", "! error < the client does not read any more", "! sent SIGTERM", "! signal SIGTERM"} {
		require.Contains(t, got, want)
	}
}

func TestStdioEndsTheChildOfAClientThatIsGone(t *testing.T) {
	wait(t, patience, 20*time.Second)
	var c child
	state := c.run(t, "sleep", strings.NewReader(""), Stdio{Orphaned: func() bool { return true }})
	require.Equal(t, 128+15, Status(state))
}

func TestStdioPassesSignalsOn(t *testing.T) {
	signals := make(chan os.Signal, 1)
	in, w := io.Pipe()
	defer w.Close()
	var once sync.Once
	var c child
	c.run(t, "sleep", in, Stdio{Signals: signals, Out: writerFunc(func(b []byte) (int, error) {
		once.Do(func() { signals <- terminate })
		return len(b), nil
	})})
	require.Contains(t, lines(c.recording(t)), "! sent SIGTERM")
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestStdioDoesNotWaitForWhoHoldsTheOutputOpen(t *testing.T) {
	var c child
	began := time.Now()
	c.run(t, "leak", strings.NewReader("\n"), Stdio{})
	require.Less(t, time.Since(began), 20*time.Second)
	var pid int
	_, err := fmt.Sscan(c.out.String(), &pid)
	require.NoError(t, err)
	p, err := os.FindProcess(pid)
	require.NoError(t, err)
	_ = p.Kill()
}

// TestStdioPassesOnWhatComesBehindTheEndOfTheContext holds that what a child
// writes as it is ended is not missing by chance.
func TestStdioPassesOnWhatComesBehindTheEndOfTheContext(t *testing.T) {
	wait(t, 20*time.Second, 20*time.Second) // it takes neither
	t.Setenv(childVar, "bye")
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	var file, out bytes.Buffer
	l, err := NewLog(&file, LogOptions{Transport: "stdio"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, w := io.Pipe()
	defer w.Close()
	_, err = Stdio{In: in, Err: io.Discard, Out: writerFunc(func(b []byte) (int, error) {
		cancel()
		return out.Write(b)
	})}.Run(ctx, l.Recorder(), []string{os.Args[0]})
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.Equal(t, "hello\nbye\n", out.String())
	rec, err := transcript.Parse(file.Bytes())
	require.NoError(t, err)
	require.Contains(t, lines(rec), "< bye")
}

func TestStdioSaysThatNothingStarted(t *testing.T) {
	l, err := NewLog(io.Discard, LogOptions{Transport: "stdio"})
	require.NoError(t, err)
	_, err = Stdio{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}.Run(t.Context(), l.Recorder(), []string{"./there-is-no-such-program"})
	var start *StartError
	require.ErrorAs(t, err, &start)
	require.Equal(t, 1, Status(nil))
}

func TestLogSaysWhenASessionBegins(t *testing.T) {
	var file bytes.Buffer
	l, err := NewLog(&file, LogOptions{Target: "http://127.0.0.1/mcp", Transport: "http"})
	require.NoError(t, err)
	r := l.Recorder()
	say := func(d transcript.Dir, n int, text string) { r.Message(d, n, []byte(text)) }
	say(transcript.ToServer, 1, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	r.Carrier(transcript.ToClient, 1, transcript.KindStatus, "200 mcp-session-id: abc")
	say(transcript.ToClient, 1, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`)
	// Two at once, the second on another exchange than its request (HTTP+SSE).
	say(transcript.ToServer, 2, `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2024-11-05"}}`)
	say(transcript.ToClient, 9, `{"jsonrpc":"2.0","id":"a","result":{"protocolVersion":"2024-11-05"}}`)
	for range 2 { // a stateless one, told of once
		say(transcript.ToServer, 3, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	}
	say(transcript.ToClient, 3, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1"}}`) // nobody asked
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	rec, err := transcript.Parse(file.Bytes())
	require.NoError(t, err)
	var got []string
	for _, l := range lines(rec) {
		if strings.Contains(l, " session ") {
			got = append(got, l)
		}
	}
	require.Equal(t, []string{"!1 session 2025-06-18 abc", "!9 session 2024-11-05", "!3 session 2026-07-28"}, got)
}

func TestLogGoesOnWhenNothingCanBeWritten(t *testing.T) {
	full := writerFunc(func(b []byte) (int, error) {
		if bytes.HasPrefix(b, []byte("goldwire-transcript")) {
			return len(b), nil
		}
		return 0, os.ErrPermission
	})
	l, err := NewLog(full, LogOptions{Keep: true})
	require.NoError(t, err)
	for range 2 {
		l.Recorder().Message(transcript.ToServer, 0, bytes.Repeat([]byte("a"), 100<<10))
	}
	require.ErrorIs(t, l.Err(), os.ErrPermission)
	require.ErrorIs(t, l.Close(), os.ErrPermission)
	require.Len(t, l.Recording().Events, 2)
	l.Recorder().Message(transcript.ToServer, 0, []byte("late"))
}

func TestStdioPassesSignalsOnWhenOnlyAGrandchildIsLeft(t *testing.T) {
	wait(t, patience, 10*time.Second) // for it to say something
	signals := make(chan os.Signal, 1)
	var c child
	heard := writerFunc(func(b []byte) (int, error) {
		select {
		case signals <- terminate:
		default:
		}
		return len(b), nil
	})
	began := time.Now()
	require.True(t, c.run(t, "babble", strings.NewReader(""), Stdio{Out: heard, Signals: signals}).Success())
	require.Less(t, time.Since(began), 25*time.Second)
	require.Contains(t, lines(c.recording(t)), "< y")
}
