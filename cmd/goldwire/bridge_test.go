package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/bridge"
	"github.com/goldwire/goldwire/runtime/jsonl"
)

// TestBridgeScripts runs the commands that connect to servers as their users do.
func TestBridgeScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Files: scripts(t, "testdata/bridge", "bridge", "call"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":    wantStatus,
			"serving":   serving,
			"interrupt": interrupt,
			"endless":   endless,
		},
	})
}

// serving starts a command that serves over HTTP until the script ends, and puts
// the address that it names first, without the path, into the variable that is its
// first word. The command's stderr goes to the file NAME.log.
func serving(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: serving NAME goldwire args...")
	}
	cmd, stderr := started(ts, args[1:])
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	ts.Check(err)
	url := regexp.MustCompile(`http://[^/]+`).FindString(line)
	if url == "" {
		ts.Fatalf("it said %q", line)
	}
	ts.Setenv(args[0], url)
	log, err := os.Create(ts.MkAbs(args[0] + ".log"))
	ts.Check(err)
	copied := make(chan struct{})
	go func() {
		_, _ = io.Copy(log, lines)
		close(copied)
	}()
	ts.Defer(func() {
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
		<-copied
		ts.Check(cmd.Wait())
		ts.Check(log.Close())
	})
}

// interrupt runs a command, interrupts it once it has written a line to stderr, and
// wants the exit status that is its first word.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupt CODE goldwire args...")
	}
	cmd, stderr := started(ts, args[1:])
	lines := bufio.NewReader(stderr)
	_, err := lines.ReadString('\n')
	ts.Check(err)
	ts.Check(cmd.Process.Signal(os.Interrupt))
	rest, _ := io.ReadAll(lines)
	wantExit(ts, cmd.Wait(), args[0], string(rest))
	ts.Logf("%s", rest)
}

// endless runs a command whose stdin is a file that has no end, and wants an exit
// status.
func endless(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: endless FILE CODE goldwire args...")
	}
	cmd := command(ts, args[2:])
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	out := new(strings.Builder)
	cmd.Stdout, cmd.Stderr = out, out
	ts.Check(cmd.Start())
	_, err = io.WriteString(stdin, ts.ReadFile(args[0]))
	ts.Check(err)
	wantExit(ts, cmd.Wait(), args[1], out.String())
	ts.Logf("%s", out)
}

func wantExit(ts *testscript.TestScript, err error, want, said string) {
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != want {
		ts.Fatalf("exit status %s, want %s\n%s", got, want, said)
	}
}

// started is a command of the script that runs, and its stderr.
func started(ts *testscript.TestScript, args []string) (*exec.Cmd, io.Reader) {
	cmd := command(ts, args)
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	return cmd, stderr
}

// command is a command of the script.
func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	path := args[0]
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if _, err := os.Stat(filepath.Join(dir, args[0])); err == nil {
			path = filepath.Join(dir, args[0])
			break
		}
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME"), "TMPDIR=" + ts.Getenv("TMPDIR"), "GORACE=" + ts.Getenv("GORACE"), "TOKEN=" + ts.Getenv("TOKEN")}
	return cmd
}

// TestBridgeAndPages holds that pages of the origins that are named may use the
// bridge, and no others.
func TestBridgeAndPages(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := bridge.New(jsonl.Command("no-such-server"), bridge.Options{Logger: slog.New(slog.DiscardHandler)})
	f := bridgeFlags{listen: ":0", origins: []string{"https://app.example"}, maxSessions: 1}
	out, w := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- f.serve(ctx, b, slog.New(slog.DiscardHandler), w) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Regexp(t, `^serving at http://127\.0\.0\.1:[0-9]+/mcp, HTTP\+SSE at http://127\.0\.0\.1:[0-9]+/sse\n$`, line)
	base := regexp.MustCompile(`http://[^/]+`).FindString(line)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, path := range []string{"/mcp", "/sse"} {
		for origin, want := range map[string]int{"https://app.example": http.StatusNoContent, "https://evil.example": http.StatusForbidden} {
			req, err := http.NewRequest(http.MethodOptions, base+path, nil)
			require.NoError(t, err)
			req.Header.Set("Origin", origin)
			req.Header.Set("Access-Control-Request-Method", "POST")
			res, err := client.Do(req)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, want, res.StatusCode, "%s from %s", path, origin)
		}
	}
	cancel()
	require.NoError(t, <-served)
	require.NoError(t, b.Close(t.Context()))
}

// TestHeadersOf holds what a header on the command line may be, and that no error
// repeats its value.
func TestHeadersOf(t *testing.T) {
	t.Setenv("TOKEN", "s3cret")
	h, err := headersOf([]string{"Authorization: Bearer ${TOKEN}", "X-A:b", "x-a: c", "X-Dollar: $TOKEN {}"})
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"Authorization": {"Bearer s3cret"}, "X-A": {"b", "c"}, "X-Dollar": {"$TOKEN {}"}}, map[string][]string(h))
	for _, bad := range []string{"", "s3cret", ": s3cret", "a b: s3cret", "X: ${NO_SUCH_VARIABLE} s3cret", "X: s3cret\x00"} {
		_, err := headersOf([]string{bad})
		require.Error(t, err, "%q", bad)
		require.NotContains(t, err.Error(), "s3cret")
	}
}
