package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/record"
)

// running is a command of a script that serves at an address.
type running struct {
	cmd  *exec.Cmd
	said chan string // the rest of its stderr, once it has ended
}

// TestRecordScripts runs the commands that work with recordings as their users
// do. In them "running NAME goldwire args…" starts a command that says an
// address, which becomes the variable NAME, and "ended NAME CODE" ends it and
// wants its exit status; what it said then is in the file NAME.log.
func TestRecordScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Files: scripts(t, "testdata/record", "http", "stdio"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Values["running"] = map[string]*running{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":  wantStatus,
			"running": startRunning,
			"ended":   endRunning,
		},
	})
}

func startRunning(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: running NAME goldwire args...")
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
	r := &running{cmd: cmd, said: make(chan string, 1)}
	go func() {
		b, _ := io.ReadAll(lines)
		r.said <- string(b)
	}()
	all := ts.Value("running").(map[string]*running)
	all[args[0]] = r
	ts.Defer(func() {
		if all[args[0]] == r { // the script did not end it
			_ = cmd.Process.Signal(syscall.SIGTERM)
			<-r.said
			_ = cmd.Wait()
		}
	})
}

func endRunning(ts *testscript.TestScript, neg bool, args []string) {
	all := ts.Value("running").(map[string]*running)
	if neg || len(args) != 2 || all[args[0]] == nil {
		ts.Fatalf("usage: ended NAME CODE")
	}
	r := all[args[0]]
	delete(all, args[0])
	ts.Check(r.cmd.Process.Signal(os.Interrupt))
	said := <-r.said
	wantExit(ts, r.cmd.Wait(), args[1], said)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".log"), []byte(said), 0o666))
}

func TestRecordingsThatAreCutAreReadToTheCut(t *testing.T) {
	const whole = "goldwire-transcript: 1\nrecorded: goldwire record\n>>1 POST /mcp\n>>1 host: h\n>1 {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n<<1 202\n"
	file := filepath.Join(t.TempDir(), "x.wire")
	head := strings.Index(whole, ">>1")
	for n := head; n <= len(whole); n++ {
		require.NoError(t, os.WriteFile(file, []byte(whole[:n]), 0o600))
		rec, err := readRecording(file)
		require.NoError(t, err, "%q", whole[:n])
		want := strings.Count(whole[head:n], "\n")
		if whole[n-1] != '\n' {
			want++ // the note that says so
		}
		require.Len(t, rec.Events, want, "%q", whole[:n])
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestVerdictsThatCannotBeWrittenAreNoSuccess holds that record --judge does not
// end with status 0 where nobody could read what it found.
func TestVerdictsThatCannotBeWrittenAreNoSuccess(t *testing.T) {
	rec, err := parseRecording("x", []byte("goldwire-transcript: 1\nrecorded: goldwire record\ntransport: stdio\n"+
		`> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`+"\n"+
		`< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`+"\n"))
	require.NoError(t, err)
	rules, err := record.ParseRules(nil, os.LookupEnv)
	require.NoError(t, err)
	code, err := (&recordFlags{}).verdicts(io.Discard, rec, rules)
	require.NoError(t, err)
	require.Equal(t, exitOK, code)
	code, err = (&recordFlags{}).verdicts(brokenWriter{}, rec, rules)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Equal(t, exitNoResult, code)
}
