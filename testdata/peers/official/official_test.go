//go:build e2e

package official

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
)

var goldwire string // the program, built for this run

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "official")
	if err == nil {
		goldwire = filepath.Join(dir, "goldwire")
		build := exec.Command("go", "build", "-o", goldwire, "./cmd/goldwire")
		build.Dir = "../../.."
		build.Stderr = os.Stderr
		err = build.Run()
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// A set of the suite is what one revision requires, and what is run beside that.
type set struct {
	revision         string
	scored, unscored int // scenarios of the server set
	clients          int // scenarios of the client set that are not about authorization
}

var sets = []set{
	{revision: "2025-11-25", scored: 30, unscored: 3, clients: 5},
	{revision: "2026-07-28", scored: 37, unscored: 13, clients: 8},
}

// scenario is what the suite found in one scenario.
type scenario struct {
	name                            string
	passed, failed, warned, skipped int
	problems                        []string
}

// ok reports whether no check failed or warned.
func (s *scenario) ok() bool { return s.failed == 0 && s.warned == 0 }

// run runs a set of the suite; kind is server or client.
func run(t *testing.T, kind, revision string, args ...string) (found []*scenario, unscored []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	results := t.TempDir()
	cmd := exec.CommandContext(ctx, "node_modules/.bin/node", append([]string{
		"node_modules/@modelcontextprotocol/conformance/dist/index.js", kind, "--requirements", revision, "--output-dir", results,
	}, args...)...)
	out, err := cmd.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	require.True(t, err == nil || errors.As(err, &exit), "%v", err) // it ends with 1 for what is counted below
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	require.NoError(t, err)
	deep, err := filepath.Glob(filepath.Join(results, "*", "*", "checks.json")) // auth/…
	require.NoError(t, err)
	for _, f := range append(files, deep...) {
		rel, err := filepath.Rel(results, filepath.Dir(f))
		require.NoError(t, err)
		name := regexp.MustCompile(`-\d{4}-\d{2}-\d{2}T[-\d]+Z$`).ReplaceAllString(filepath.ToSlash(rel), "")
		found = append(found, read(t, f, strings.TrimPrefix(name, kind+"-")))
	}
	_, rest, said := strings.Cut(string(out), "Not scored for ")
	require.True(t, said, "%s", out)
	for _, m := range regexp.MustCompile(`(?m)^\s+[✓✗] (\S+) \(`).FindAllStringSubmatch(rest, -1) {
		unscored = append(unscored, m[1])
	}
	slices.SortFunc(found, func(a, b *scenario) int { return strings.Compare(a.name, b.name) })
	return found, unscored
}

func read(t *testing.T, file, name string) *scenario {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var checks []struct {
		ID, Name, Status, Description, ErrorMessage string
		Details                                     json.RawMessage
	}
	require.NoError(t, json.Unmarshal(b, &checks))
	s := &scenario{name: name}
	defer func() { // what a client said
		if said, err := os.ReadFile(filepath.Join(filepath.Dir(file), "stderr.txt")); err == nil && len(said) > 0 && !s.ok() {
			s.problems = append(s.problems, "stderr: "+string(said))
		}
	}()
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			s.passed++
		case "SKIPPED":
			s.skipped++
		case "INFO":
		case "WARNING":
			s.warned++
			s.problems = append(s.problems, fmt.Sprintf("warning %s: %s %s %.500s", c.ID, c.Description, c.ErrorMessage, c.Details))
		default:
			s.failed++
			s.problems = append(s.problems, fmt.Sprintf("%s %s: %s %s %.500s", strings.ToLower(c.Status), c.ID, c.Description, c.ErrorMessage, c.Details))
		}
	}
	return s
}

// table shows what was found.
func table(title string, found []*scenario, unscored []string) string {
	var b bytes.Buffer
	fmt.Fprintln(&b, title)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "pass\tfail\twarn\tskip\t\t")
	for _, s := range found {
		mark := "ok"
		if !s.ok() {
			mark = "NO"
		}
		if slices.Contains(unscored, s.name) {
			mark += " (not scored)"
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t\t  %s  %s\n", s.passed, s.failed, s.warned, s.skipped, s.name, mark)
	}
	_ = w.Flush()
	for _, s := range found {
		for _, p := range s.problems {
			fmt.Fprintf(&b, "%s: %s\n", s.name, p)
		}
	}
	return b.String()
}

// start starts a program that serves HTTP, waits until it says where, and ends it
// with the test. says matches what it says, with the URL as its group if it says
// one.
func start(t *testing.T, says string, env []string, command ...string) (url string) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = w, w
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	at, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		pattern := regexp.MustCompile(says)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			if m := pattern.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case at <- m[len(m)-1]:
				default:
				}
			}
		}
		_ = r.Close()
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			_ = cmd.Process.Kill()
			t.Errorf("%s does not end", command)
		}
		if command[0] == goldwire {
			require.Zero(t, cmd.ProcessState.ExitCode(), "%s", command)
		}
	})
	select {
	case url = <-at:
	case <-ended:
		t.Fatalf("%s ended: %s", command, cmd.ProcessState)
	case <-time.After(time.Minute):
		t.Fatalf("%s does not say where it serves", command)
	}
	return url
}

// serving is what goldwire says when it serves.
const serving = `serving at (http\S+/mcp)`

// judge holds that a server passes both sets as a whole. passedOver are scenarios
// in which the suite finds nothing to look at.
func judge(t *testing.T, title, url string, passedOver ...string) {
	for _, s := range sets {
		t.Run(s.revision, func(t *testing.T) {
			found, unscored := run(t, "server", s.revision, "--url", url)
			t.Log(table(title+", server, "+s.revision, found, unscored))
			require.Len(t, unscored, s.unscored)
			require.Len(t, found, s.scored+s.unscored)
			for _, f := range found {
				require.Zero(t, f.failed+f.warned, "%s: %s", f.name, strings.Join(f.problems, "\n"))
				require.Equal(t, f.passed == 0, slices.Contains(passedOver, f.name), "%s: %d checks passed", f.name, f.passed)
			}
		})
	}
}

// TestE2EOfficialServer holds that one process of the reference server passes the
// sets of both eras, with the scenarios that are not scored, without a warning.
func TestE2EOfficialServer(t *testing.T) {
	judge(t, "goldwire serve", start(t, serving, nil, goldwire, "serve", "--http", "127.0.0.1:0", "--sse"), notifications)
}

// notifications is a scenario whose one check the suite always skips.
const notifications = "tasks-status-notifications"

// TestE2EOfficialBridge holds the same of the server over stdio behind a bridge.
// It cannot close the stream of a call from there, which the suite passes over.
func TestE2EOfficialBridge(t *testing.T) {
	judge(t, "goldwire bridge -- goldwire serve", start(t, serving, nil, goldwire, "bridge", "--listen", "127.0.0.1:0", "--", goldwire, "serve"),
		notifications, "server-sse-polling")
}

// TestE2EOfficialForeignServer holds that a foreign server over stdio behind a
// bridge passes what it passes alone over HTTP, and is there for clients of the
// newest revision as well.
func TestE2EOfficialForeignServer(t *testing.T) {
	const everything = "../node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
	_, port, err := net.SplitHostPort(free(t))
	require.NoError(t, err)
	start(t, `listening on port`, []string{"PORT=" + port}, "node", everything, "streamableHttp")
	alone, unscored := run(t, "server", sets[0].revision, "--url", "http://127.0.0.1:"+port+"/mcp")
	t.Log(table("server-everything, server, "+sets[0].revision, alone, unscored))
	url := start(t, serving, nil, goldwire, "bridge", "--listen", "127.0.0.1:0", "--", "node", everything)
	through, unscored := run(t, "server", sets[0].revision, "--url", url)
	t.Log(table("goldwire bridge -- server-everything, server, "+sets[0].revision, through, unscored))
	require.Len(t, through, len(alone))
	for i, s := range through {
		require.Equal(t, alone[i].name, s.name)
		require.True(t, s.ok() || !alone[i].ok(), "%s: %s", s.name, strings.Join(s.problems, "\n"))
		require.LessOrEqual(t, s.failed, alone[i].failed, "%s: %s", s.name, strings.Join(s.problems, "\n"))
	}
	// Its tools and prompts have other names than the suite's.
	modern, unscored := run(t, "server", sets[1].revision, "--url", url)
	t.Log(table("goldwire bridge -- server-everything, server, "+sets[1].revision, modern, unscored))
	needs := []string{"caching", "dns-rebinding-protection", "http-header-validation", "prompts-list", "resources-list", "tools-list"}
	for _, s := range modern {
		if i := slices.Index(needs, s.name); i >= 0 {
			require.True(t, s.ok() && s.passed > 0, "%s: %s", s.name, strings.Join(s.problems, "\n"))
			needs = slices.Delete(needs, i, i+1)
		}
	}
	require.Empty(t, needs)
}

// TestE2EOfficialClient holds that the reference client passes every client
// scenario that is not about authorization.
func TestE2EOfficialClient(t *testing.T) {
	for _, s := range sets {
		t.Run(s.revision, func(t *testing.T) {
			found, unscored := run(t, "client", s.revision, "--command", "'"+goldwire+"' client")
			found = slices.DeleteFunc(found, func(f *scenario) bool { return strings.HasPrefix(f.name, "auth/") })
			t.Log(table("goldwire client, "+s.revision, found, unscored))
			require.Len(t, found, s.clients)
			for _, f := range found {
				require.True(t, f.ok() && f.passed > 0, "%s: %s", f.name, strings.Join(f.problems, "\n"))
			}
		})
	}
}

// free is an address that nobody listens at now.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}
