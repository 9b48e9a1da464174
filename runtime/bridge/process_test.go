//go:build unix

package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/ssehttp"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

const childEnv = "GOLDWIRE_BRIDGE_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	code := m.Run()
	if code == 0 {
		code = leaks()
	}
	os.Exit(code)
}

// leaks fails the run when goroutines of this module are still there after a
// while.
func leaks() int {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 250 {
		buf := make([]byte, 4<<20)
		left := 0
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(stack, "goldwire/runtime/") && !strings.Contains(stack, "bridge.leaks") {
				left++
			}
		}
		if left == 0 {
			return 0
		}
		<-tick.C
	}
	_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
	fmt.Fprintln(os.Stderr, "goroutines are left behind")
	return 1
}

// child is a server that does what tools are called.
func child() {
	out := bufio.NewWriter(os.Stdout)
	say := func(format string, args ...any) {
		fmt.Fprintf(out, format+"\n", args...)
		_ = out.Flush()
	}
	mode := os.Getenv(childEnv)
	if mode == "stillborn" {
		fmt.Fprintln(os.Stderr, "no config found")
		os.Exit(7)
	}
	stubborn := mode == "stubborn"
	if stubborn {
		signal.Ignore(syscall.SIGTERM)
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if stubborn {
				select {}
			}
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name, ProtocolVersion string
				Arguments             struct{ N int }
			}
		}
		_ = json.Unmarshal(line, &m)
		switch m.Method {
		case "initialize":
			if mode == "grandchild" {
				cmd := exec.Command("sleep", "1000")
				_ = cmd.Start()
				say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"%d","version":"%d"}}}`, m.ID, m.Params.ProtocolVersion, os.Getpid(), cmd.Process.Pid)
				continue
			}
			say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"%d","version":"0"}}}`, m.ID, m.Params.ProtocolVersion, os.Getpid())
		case "server/discover":
			if mode == "old" {
				say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
				continue
			}
			say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"%d","version":"0"}}}}`, m.ID, os.Getpid())
		case "tools/list":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}`, m.ID)
		case "tools/call":
			switch m.Params.Name {
			case "die":
				fmt.Fprintln(os.Stderr, "Bye, cruel world")
				os.Exit(9)
			case "crash":
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			case "wait":
				continue
			case "twice":
				say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
			case "huge":
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"x":"`, m.ID)
				piece := strings.Repeat("x", 1<<20)
				for range m.Params.Arguments.N {
					_, _ = out.WriteString(piece)
				}
				say(`"}}`)
				continue
			case "endless":
				_, _ = out.WriteString(`{"jsonrpc":"2.0","method":"notifications/message","params":"`)
				piece := strings.Repeat("x", 1<<20)
				for {
					if _, err := out.WriteString(piece); err != nil {
						return
					}
				}
			case "flood":
				go func() {
					for i := 0; ; i++ {
						if _, err := fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`+"\n", i); err != nil {
							return
						}
					}
				}()
				continue
			}
			say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[{"type":"text","text":"%d"}]}}`, m.ID, os.Getpid())
		case "notifications/cancelled":
			fmt.Fprintln(os.Stderr, "cancelled "+string(bytes.TrimSpace(line)))
		default:
			if m.ID != nil && m.Method != "" {
				say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
			}
		}
	}
}

// children is a process for each dial, and what they write to stderr.
func children(t *testing.T, mode string) (*jsonl.Process, func() string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	var mu sync.Mutex
	var errs strings.Builder
	return &jsonl.Process{Path: self, Env: map[string]string{childEnv: mode}, StopAfter: 100 * time.Millisecond, KillAfter: 100 * time.Millisecond, Stderr: func(line string) {
			mu.Lock()
			defer mu.Unlock()
			errs.WriteString(line + "\n")
		}}, func() string {
			mu.Lock()
			defer mu.Unlock()
			return errs.String()
		}
}

// overHTTP serves a bridge over both HTTP transports.
func overHTTP(t *testing.T, d jsonrpc.Dialer, o Options) (b *Bridge, url string, stop func()) {
	t.Helper()
	if o.Logger == nil {
		o.Logger = quietLog()
	}
	b = New(d, o)
	h := streamhttp.NewHandler(b, streamhttp.HandlerOptions{Logger: quietLog()})
	old := ssehttp.NewHandler(b, ssehttp.HandlerOptions{Logger: quietLog()})
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	mux.Handle("/sse", old)
	srv := httptest.NewServer(mux)
	var once sync.Once
	stop = func() {
		once.Do(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_ = h.Shutdown(ctx)
			_ = old.Shutdown(ctx)
			srv.Close()
			require.NoError(t, b.Close(context.Background()))
		})
	}
	t.Cleanup(stop)
	return b, srv.URL, stop
}

func connectHTTP(t *testing.T, url string) *v20251125.RemoteServer {
	t.Helper()
	server, err := v20251125.Connect(t.Context(), streamhttp.URL(url), v20251125.Client{Info: v20251125.Implementation{Name: "c", Version: "1"}})
	require.NoError(t, err)
	return server
}

func pidOf(t *testing.T, server *v20251125.RemoteServer) int {
	t.Helper()
	pid, err := strconv.Atoi(server.Info.Name)
	require.NoError(t, err)
	return pid
}

// goneProcess waits until there is no process of that id any more, or only what nobody
// has waited for yet.
func goneProcess(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return !alive(pid) }, 30*time.Second, 5*time.Millisecond, "process %d is left", pid)
}

// process is one that was alive: its id may be another's later, or a thread's.
type process struct {
	pid  int
	born string // when it was started, "" where that cannot be told
}

func processOf(pid int) process {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return process{pid: pid}
	}
	return process{pid, fields[19]}
}

func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return os.IsNotExist(err) && syscall.Kill(pid, 0) == nil && !procfs()
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func procfs() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

// TestDeathOfAServerReachesItsClient holds that a call in whose middle the process
// ends is answered with its exit code or signal and the end of its stderr, that
// the session is over, and that the next one has a new process.
func TestDeathOfAServerReachesItsClient(t *testing.T) {
	for _, c := range []struct{ tool, data, message string }{
		{"die", `{"exitCode":9,"stderr":"Bye, cruel world"}`, "exited with code 9"},
		{"crash", `{"signal":"killed","stderr":""}`, "signal killed"},
	} {
		for _, path := range []string{"/mcp", "/sse"} {
			t.Run(c.tool+path, func(t *testing.T) {
				p, _ := children(t, "plain")
				b, url, _ := overHTTP(t, p, Options{})
				server := connectHTTP(t, url+path)
				_, err := server.CallTool(t.Context(), &v20251125.CallToolParams{Name: c.tool})
				var e *jsonrpc.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, CodeServerEnded, e.Code)
				require.JSONEq(t, c.data, string(e.Data))
				require.Contains(t, e.Message, c.message)
				first := pidOf(t, server)
				goneProcess(t, first)
				require.Eventually(t, func() bool { return b.Stats().Sessions == 0 }, 5*time.Second, time.Millisecond)
				if path == "/mcp" { // this transport begins a lost session again by itself
					res, err := server.CallTool(t.Context(), &v20251125.CallToolParams{Name: "pid"})
					require.NoError(t, err)
					require.NotEqual(t, strconv.Itoa(first), res.Content[0].(*v20251125.TextContent).Text)
				}
				require.NoError(t, server.Close())
				again := connectHTTP(t, url+path)
				require.NotEqual(t, first, pidOf(t, again))
				require.NoError(t, again.Close())
			})
		}
	}
}

// TestDeathOfASharedServer holds the same for clients without sessions: the next
// request starts a new process.
func TestDeathOfASharedServer(t *testing.T) {
	for _, mode := range []string{"plain", "old"} { // passed on, and converted
		t.Run(mode, func(t *testing.T) { testDeathOfASharedServer(t, mode) })
	}
}

func testDeathOfASharedServer(t *testing.T, mode string) {
	p, _ := children(t, mode)
	b, url, _ := overHTTP(t, p, Options{})
	server, err := v20260728.Connect(t.Context(), streamhttp.URL(url+"/mcp"), v20260728.Client{})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	pid := func() string {
		res, err := server.CallTool(t.Context(), &v20260728.CallToolParams{Name: "pid"})
		require.NoError(t, err)
		return res.Content[0].(*v20260728.TextContent).Text
	}
	first := pid()
	require.Equal(t, first, pid())
	waiting := make(chan error, 1)
	go func() {
		_, err := server.CallTool(t.Context(), &v20260728.CallToolParams{Name: "wait"})
		waiting <- err
	}()
	require.Eventually(t, func() bool {
		switch r := b.stateless[v20260728.Revision].peek().(type) {
		case *pipe:
			x, _ := r.asks.newest(func(x *passing) bool { return x.method == "tools/call" })
			return x != nil
		case *converter:
			return r.upstream().Stats().Calls > 0 || len(r.errands()) > 0
		}
		return false
	}, 5*time.Second, time.Millisecond)
	_, err = server.CallTool(t.Context(), &v20260728.CallToolParams{Name: "die"})
	for _, err := range []error{err, <-waiting} {
		var e *jsonrpc.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, CodeServerEnded, e.Code)
		require.JSONEq(t, `{"exitCode":9,"stderr":"Bye, cruel world"}`, string(e.Data))
	}
	require.NotEqual(t, first, pid())
}

// TestServerThatCannotLive holds that clients hear why, at once, and that such a
// server is not started for every request.
func TestServerThatCannotLive(t *testing.T) {
	p, errs := children(t, "stillborn")
	b, url, _ := overHTTP(t, p, Options{})
	_, err := v20251125.Connect(t.Context(), streamhttp.URL(url+"/mcp"), v20251125.Client{})
	var e *jsonrpc.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, CodeServerEnded, e.Code)
	require.JSONEq(t, `{"exitCode":7,"stderr":"no config found"}`, string(e.Data))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+meta+`,"name":"x"}}`))
	require.NoError(t, err)
	for name, value := range map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": v20260728.Revision, "Mcp-Method": "tools/call", "Mcp-Name": "x"} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req) // the tools have to be listed first, which fails
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	require.Contains(t, string(body), `"data":{"exitCode":7,"stderr":"no config found"}`)
	for range 100 {
		_, err = v20260728.Connect(t.Context(), streamhttp.URL(url+"/mcp"), v20260728.Client{})
		require.ErrorAs(t, err, &e)
		if e.Code == jsonrpc.CodeCircuitOpen {
			break
		}
		require.Equal(t, CodeServerEnded, e.Code)
	}
	require.Equal(t, jsonrpc.CodeCircuitOpen, e.Code)
	require.NotNil(t, e.Data.Get("retryAfterMs"))
	require.LessOrEqual(t, strings.Count(errs(), "no config found"), 1+4*(freeStarts+2), "two processes a start, and two requests a client")
	require.Equal(t, Stats{}, b.Stats())

	b, url, _ = overHTTP(t, jsonl.Command("/nonexistent/server"), Options{})
	_, err = v20251125.Connect(t.Context(), streamhttp.URL(url+"/mcp"), v20251125.Client{})
	require.ErrorAs(t, err, &e)
	require.Equal(t, CodeServerEnded, e.Code)
	require.Contains(t, e.Message, "could not be started")
	require.Equal(t, Stats{}, b.Stats())
}

// TestSessionsLeaveNoProcess holds that a hundred sessions with a process each,
// which has one of its own, leave none: whether the client ends them, goes away,
// or the bridge ends.
func TestSessionsLeaveNoProcess(t *testing.T) {
	p, _ := children(t, "grandchild")
	b, url, stop := overHTTP(t, p, Options{})
	const n = 100
	made := make(chan process, 2*n)
	patient := v20251125.Client{Options: jsonrpc.Options{Timeout: new(time.Duration)}} // so many take a busy machine long to start
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			path := []string{"/mcp", "/sse"}[i%2]
			server, err := v20251125.Connect(t.Context(), streamhttp.URL(url+path), patient)
			if err != nil {
				t.Error(err)
				return
			}
			made <- processOf(pidOf(t, server))
			grandchild, _ := strconv.Atoi(server.Info.Version)
			made <- processOf(grandchild)
			if i%4 < 2 { // the others are left to the bridge
				_ = server.Close()
			} else {
				t.Cleanup(func() { _ = server.Close() })
			}
		})
	}
	wg.Wait()
	require.Eventually(t, func() bool { return b.Stats().Sessions == n/2 }, time.Minute, time.Millisecond)
	stop()
	close(made)
	count := 0
	for p := range made {
		count++
		require.Positive(t, p.pid)
		if processOf(p.pid) == p {
			goneProcess(t, p.pid)
		}
	}
	require.Equal(t, 2*n, count)
}

// TestStubbornServerIsKilled holds that a process which heeds neither the end of
// its stdin nor SIGTERM does not outlive its session.
func TestStubbornServerIsKilled(t *testing.T) {
	p, _ := children(t, "stubborn")
	_, url, stop := overHTTP(t, p, Options{})
	one, two := connectHTTP(t, url+"/mcp"), connectHTTP(t, url+"/mcp")
	first, second := pidOf(t, one), pidOf(t, two)
	require.NoError(t, one.Close())
	goneProcess(t, first)
	require.True(t, alive(second))
	stop()
	goneProcess(t, second)
	_ = two.Close()
}

// TestHugeLines holds that a large answer is passed, and one beyond the bound is
// an error of its call and nothing worse.
func TestHugeLines(t *testing.T) {
	p, _ := children(t, "plain")
	p.Options.MaxMessage = 8 << 20
	_, url, _ := overHTTP(t, p, Options{})
	server := connectHTTP(t, url+"/mcp")
	defer func() { _ = server.Close() }()
	huge := func(n int) error {
		res, err := server.CallTool(t.Context(), &v20251125.CallToolParams{Name: "huge", Arguments: []byte(fmt.Sprintf(`{"n":%d}`, n))})
		if err == nil {
			require.Len(t, res.Extra.Get("x"), n<<20+2)
		}
		return err
	}
	require.NoError(t, huge(5))
	var e *jsonrpc.Error
	require.ErrorAs(t, huge(9), &e)
	require.Equal(t, CodeUnreachable, e.Code)
	require.Contains(t, e.Message, "too long")
	require.NoError(t, huge(1))
}

// TestLineWithoutEnd holds that a call of a server which never ends a line is
// answered, that its session ends, and that the others go on.
func TestLineWithoutEnd(t *testing.T) {
	p, _ := children(t, "plain")
	_, url, _ := overHTTP(t, p, Options{})
	server, other := connectHTTP(t, url+"/mcp"), connectHTTP(t, url+"/mcp")
	defer func() { require.NoError(t, server.Close()) }()
	defer func() { require.NoError(t, other.Close()) }()
	_, err := server.CallTool(t.Context(), &v20251125.CallToolParams{Name: "endless"})
	var e *jsonrpc.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, CodeServerEnded, e.Code)
	require.Contains(t, e.Message, "was given up and still runs (message too long")
	_, err = other.Ping(t.Context(), nil)
	require.NoError(t, err)
	goneProcess(t, pidOf(t, server))
}

// TestFloodHurtsNobodyElse holds that a server which never stops talking, to a
// client that does not listen, neither takes memory without bound nor keeps others
// from their servers.
func TestFloodHurtsNobodyElse(t *testing.T) {
	p, _ := children(t, "plain")
	_, url, _ := overHTTP(t, p, Options{})
	post := func(session, body string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Content-Type", "application/json")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		return res
	}
	res := post("", initialize)
	_, _ = io.Copy(io.Discard, res.Body)
	require.NoError(t, res.Body.Close())
	session := res.Header.Get("Mcp-Session-Id")
	flooded := post(session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"flood"}}`)
	line := make([]byte, 64)
	_, err := flooded.Body.Read(line) // and no more
	require.NoError(t, err)
	other := connectHTTP(t, url+"/mcp")
	for range 100 {
		_, err := other.CallTool(t.Context(), &v20251125.CallToolParams{Name: "pid"})
		require.NoError(t, err)
	}
	require.NoError(t, other.Close())
	require.NoError(t, flooded.Body.Close())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url+"/mcp", nil)
	require.NoError(t, err)
	req.Header.Set("Mcp-Session-Id", session)
	res, err = http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusNoContent, res.StatusCode)
}

// TestClientThatGoesAwayCancels holds that the end of a request's connection, in
// the revision where that cancels it, reaches the server as a cancellation.
func TestClientThatGoesAwayCancels(t *testing.T) {
	p, errs := children(t, "plain")
	b, url, _ := overHTTP(t, p, Options{})
	server, err := v20260728.Connect(t.Context(), streamhttp.URL(url+"/mcp"), v20260728.Client{})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	for name, call := range map[string]func(context.Context) error{
		"tools/call": func(ctx context.Context) error {
			_, err := server.CallTool(ctx, &v20260728.CallToolParams{Name: "wait"})
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- call(ctx) }()
		require.Eventually(t, func() bool {
			x, _ := b.stateless[v20260728.Revision].peek().(*pipe).asks.newest(func(x *passing) bool { return x.method == name })
			return x != nil
		}, 5*time.Second, time.Millisecond)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.Eventually(t, func() bool { return strings.Contains(errs(), "notifications/cancelled") }, 5*time.Second, time.Millisecond)
	}
}

// TestAnswersTwice holds that the second answer to a call is nobody's.
func TestAnswersTwice(t *testing.T) {
	p, _ := children(t, "plain")
	_, url, _ := overHTTP(t, p, Options{})
	server := connectHTTP(t, url+"/mcp")
	defer func() { require.NoError(t, server.Close()) }()
	for range 20 {
		_, err := server.CallTool(t.Context(), &v20251125.CallToolParams{Name: "twice"})
		require.NoError(t, err)
		res, err := server.CallTool(t.Context(), &v20251125.CallToolParams{Name: "pid"})
		require.NoError(t, err)
		require.Equal(t, server.Info.Name, res.Content[0].(*v20251125.TextContent).Text)
	}
}

// TestTooManySessions holds the bound on processes.
func TestTooManySessions(t *testing.T) {
	p, _ := children(t, "plain")
	_, url, _ := overHTTP(t, p, Options{MaxSessions: 1})
	for range 1 + slack {
		server := connectHTTP(t, url+"/mcp")
		t.Cleanup(func() { _ = server.Close() })
	}
	_, err := v20251125.Connect(t.Context(), streamhttp.URL(url+"/mcp"), v20251125.Client{})
	require.ErrorContains(t, err, "too many sessions")
}

// errands are those whose handler runs.
func (c *converter) errands() []*errand {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*errand(nil), c.running...)
}
