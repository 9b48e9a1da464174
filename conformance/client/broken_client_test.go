package client_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/runtime/wire"
)

// rawClient is a client without the runtime, which does all that a client may do and,
// where it has a fault, one thing wrong. It speaks both eras.
type rawClient struct {
	ctx   context.Context
	reach client.Reach
	fault fault

	modern bool // the era that it speaks just now
	rev    string
	caps   wire.Raw // of the server
	tools  map[string]wire.Raw
	state  string // of the last round, for faults

	mu      sync.Mutex
	next    int
	pending map[string]chan wire.Raw
	server  *client.Process // over stdio
	work    sync.WaitGroup
	gone    chan struct{} // closed when the connection ends

	// Over HTTP.
	web       *http.Client
	session   string
	endpoint  string // of HTTP+SSE
	token     string
	scope     string
	clientID  map[string][2]string // id and secret by authorization server
	steps     int                  // authorizations so far
	stop      context.CancelFunc
	lastState string
	sent      atomic.Int64
	auth      sync.Mutex // one authorization at a time
	listenID  int
}

// fault is one thing that a broken client does wrong.
type fault struct {
	name  string
	check string // that names it
	at    string // revision
	over  catalogue.Transport
	plays []string // scripts that show it, beside the good server
	// line changes a message before it is sent, head the header of a POST; where
	// neither does, the client itself looks for the name.
	line func(text string) string
	head func(h http.Header, text string)
	// more are other checks that may say something about it, too.
	more []string
}

func (c *rawClient) is(name string) bool { return c.fault.name == name }

const (
	metaVersion = "io.modelcontextprotocol/protocolVersion"
	metaCaps    = "io.modelcontextprotocol/clientCapabilities"
	metaInfo    = "io.modelcontextprotocol/clientInfo"
	newest      = "2025-11-25"
	stateless   = "2026-07-28"
	patience    = slow * 400 * time.Millisecond
)

var errGone = errors.New("the server is gone")

// rawTarget is the client with a fault.
func rawTarget(f fault) client.Target {
	return client.Target{
		Over: []catalogue.Transport{catalogue.Stdio, catalogue.HTTP, catalogue.SSE},
		Launch: func(r client.Reach) check.Launcher {
			return check.Pipe{Serve: func(ctx context.Context, in io.Reader, _, errs io.Writer) check.Exit {
				ctx, stop := context.WithCancel(ctx)
				defer stop()
				// A client that is told to leave closes its input.
				go func() { _, _ = io.Copy(io.Discard, in); stop() }()
				c := &rawClient{ctx: ctx, stop: stop, reach: r, fault: f, pending: map[string]chan wire.Raw{}, tools: map[string]wire.Raw{}, clientID: map[string][2]string{}, gone: make(chan struct{})}
				tr := &http.Transport{}
				defer tr.CloseIdleConnections()
				c.web = &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
				err := c.run()
				if err != nil {
					fmt.Fprintln(errs, err)
					return check.Exit{Code: 1}
				}
				return check.Exit{}
			}}
		},
	}
}

func (c *rawClient) run() (err error) {
	defer func() {
		if !c.is("leaves-running") { // what reads from it ends with the server
			c.work.Wait()
		}
	}()
	defer c.stop()
	defer func() { c.leave() }()
	if c.reach.Transport == catalogue.Stdio {
		c.start()
	}
	if c.reach.Transport == catalogue.SSE {
		if err := c.openSSE(c.reach.URL); err != nil {
			return err
		}
	}
	if err := c.connect(); err != nil {
		return err
	}
	err = c.useAll()
	if errors.Is(err, errGone) && c.modern && c.reach.Transport == catalogue.Stdio && strings.HasPrefix(c.reach.Script, "dying") {
		return c.restart()
	}
	return err
}

// connect finds out the era and makes the handshake where there is one.
func (c *rawClient) connect() error {
	if c.reach.Transport != catalogue.SSE {
		old, err := c.probe()
		if c.is("probes-apart") && err == nil && c.reach.Transport == catalogue.Stdio {
			_ = c.server.In.Close()
			select {
			case <-c.gone:
			case <-time.After(patience):
				c.server.Kill()
			case <-c.ctx.Done():
				return c.ctx.Err()
			}
			c.start()
		}
		if !old {
			return err
		}
	}
	c.modern = false
	return c.handshake()
}

// probe asks for the versions; old says that the server is one of the older
// era.
func (c *rawClient) probe() (old bool, err error) {
	if c.is("get-first") {
		c.openGet("")
	}
	if c.is("legacy-first") {
		_, _ = c.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`)
	}
	c.modern, c.rev = true, stateless
	method := "server/discover"
	if c.is("no-probe") {
		method = "tools/list"
	}
	for try := 0; ; try++ {
		a, err := c.request(method, "{}")
		code, _ := a.Get("error").Get("code").Int()
		switch {
		case errors.Is(err, errTimeout):
			if c.is("no-fallback-timeout") {
				return false, err
			}
			return true, nil
		case err != nil:
			status := statusError(0)
			if !errors.As(err, &status) {
				return false, err
			}
			if c.is("no-fallback-html") && strings.HasSuffix(c.reach.Script, "html") {
				return false, err
			}
			if c.is("poll-get-first") {
				return false, err
			}
			return true, nil
		case a.Get("result") != nil:
			c.caps = a.Get("result").Get("capabilities")
			if c.is("no-probe") {
				c.caps = wire.Raw(`{"tools":{}}`)
			}
			return false, nil
		case c.is("draft-code") && code == -32004 && try == 0:
		case c.is("falls-back-modern-error") && (code == -32022), c.is("falls-back-400") && (code == -32021 || code == -32020):
			return true, nil
		case code == -32022 || code == -32021 || code == -32020:
			listed := false
			for v := range a.Get("error").Get("data").Get("supported").Elems() {
				s, _ := v.Str()
				listed = listed || s == stateless
			}
			switch {
			case c.is("no-version-retry"):
				return false, errors.New("refused")
			case c.is("endless-versions") && try < 12:
				continue
			case code == -32022 && !listed:
				return false, errors.New("no common version")
			case try > 2:
				return false, errors.New("refused")
			}
		case c.is("fallback-one-code") && code != -32601:
			return false, errors.New("refused")
		default:
			return true, nil
		}
	}
}

func (c *rawClient) handshake() error {
	if c.is("ping-first") {
		_, _ = c.request("tools/list", "{}")
	}
	offer := newest
	if c.is("offers-old") {
		offer = "2024-11-05"
	}
	caps := `{"roots":{"listChanged":true},"sampling":{},"elicitation":{}}`
	if c.reach.Revision == newest {
		caps = `{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"form":{}},"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}}`
	}
	switch {
	case c.is("plain-caps"), strings.HasPrefix(c.fault.name, "undeclared-"):
		caps = `{}`
	case strings.HasPrefix(c.fault.name, "few-"):
		caps = `{"roots":{},"sampling":{},"elicitation":{"form":{}}}`
	}
	if c.is("early-request") {
		c.work.Go(func() {
			time.Sleep(50 * time.Millisecond)
			_, _ = c.request("tools/list", "{}")
		})
	}
	if c.is("initialize-in-array") {
		_ = c.send(`[{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}]`, nil)
	}
	beside := c.is("stream-beside") && c.reach.Transport == catalogue.HTTP
	if beside && c.reach.Script == client.Good {
		c.openGet("")
	}
	a, err := c.request("initialize", `{"protocolVersion":"`+offer+`","capabilities":`+caps+`,"clientInfo":{"name":"raw","title":"Raw","version":"1"}}`)
	if errors.Is(err, errTimeout) && c.is("cancels-initialize") {
		_ = c.notify("notifications/cancelled", `{"requestId":`+strconv.Itoa(c.lastID())+`}`)
	}
	if beside && c.reach.Script != client.Good { // it was on its way before the answer came
		c.mu.Lock()
		session := c.session
		c.session = ""
		c.mu.Unlock()
		c.openGet("")
		c.mu.Lock()
		c.session = session
		c.mu.Unlock()
	}
	status := statusError(0)
	if errors.As(err, &status) && !beside && c.reach.Transport == catalogue.HTTP && (status == 400 || status == 404 || status == 405) {
		if c.is("probes-405-only") && status != 405 {
			return err
		}
		if err := c.openSSE(c.reach.URL); err != nil {
			return err
		}
		if c.is("no-switch") {
			return errors.New("left")
		}
		return c.handshakeSSE(caps)
	}
	if err != nil {
		return err
	}
	version, _ := a.Get("result").Get("protocolVersion").Str()
	switch {
	case a.Get("error") != nil && !c.is("ignores-refusal"):
		return errors.New("refused")
	case c.is("leaves-own-version"):
		return errors.New("unknown version")
	case version < "2024" && !c.is("takes-any-version") && !c.is("ignores-refusal"):
		return errors.New("unknown version " + version)
	case c.is("leaves-experimental") && a.Get("result").Get("capabilities").Get("experimental") != nil:
		return errors.New("unknown capability")
	}
	c.rev, c.caps = version, a.Get("result").Get("capabilities")
	if !c.is("no-initialized") {
		if err := c.notify("notifications/initialized", ""); err != nil {
			return err
		}
	}
	if c.reach.Transport == catalogue.HTTP && c.endpoint == "" {
		c.openGet("")
	}
	return nil
}

func (c *rawClient) handshakeSSE(caps string) error {
	a, err := c.request("initialize", `{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`)
	if err != nil {
		return err
	}
	c.rev, c.caps = "2024-11-05", a.Get("result").Get("capabilities")
	return c.notify("notifications/initialized", "")
}

// useAll uses what the server offers.
func (c *rawClient) useAll() error {
	if c.reach.Script == "dying-subscription" || c.is("polls") {
		if c.modern {
			c.work.Go(func() {
				_, _ = c.request("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
			})
			was := c.lastID()
			for range 100 {
				c.pause(5 * time.Millisecond)
				if c.listenID = c.lastID(); c.listenID > was {
					break
				}
			}
		}
	}
	if c.is("old-era-probe-again") && !c.modern {
		c.modern = true
		_, _ = c.request("server/discover", "{}")
		c.modern = false
	}
	switch {
	case c.is("modern-initialized") && c.modern:
		_ = c.notify("notifications/initialized", "")
	case c.is("announces-roots") && c.modern:
		_ = c.notify("notifications/roots/list_changed", "")
	case c.is("uses-extension"):
		_, _ = c.request("tasks/get", `{"taskId":"x"}`)
	case c.is("later-method"):
		_, _ = c.request("tasks/list", "{}")
	case c.is("odd-status"):
		_ = c.notify("notifications/tasks/status", `{"taskId":"x"}`)
	case c.is("posts-cancellation"):
		_ = c.notify("notifications/cancelled", `{"requestId":1}`)
	case c.is("chokes-on-schemas") && c.reach.Script == "costly-schemas":
		_, _ = c.list("tools/list", "tools")
		c.pause(10 * time.Second)
		return nil
	case c.is("fears-stderr") && c.reach.Script == "stderr", c.is("reads-name") && c.reach.Script == "other-name":
		return errors.New("left")
	}
	if c.has("tools") || c.is("uses-undeclared") {
		if err := c.useTools(); err != nil {
			return err
		}
	}
	if c.has("prompts") {
		prompts, err := c.list("prompts/list", "prompts")
		if err != nil {
			return err
		}
		for _, p := range prompts {
			name, _ := p.Get("name").Str()
			args := ""
			for a := range p.Get("arguments").Elems() {
				n, _ := a.Get("name").Str()
				args = `,"arguments":{` + quote(n) + `:"Ann"}`
			}
			if _, err := c.request("prompts/get", `{"name":`+quote(name)+args+`}`); err != nil {
				return err
			}
		}
	}
	if c.has("resources") {
		resources, err := c.list("resources/list", "resources")
		if err != nil {
			return err
		}
		for _, r := range resources {
			if _, err := c.request("resources/read", `{"uri":`+string(r.Get("uri"))+`}`); err != nil {
				return err
			}
		}
		if _, err := c.list("resources/templates/list", "resourceTemplates"); err != nil {
			return err
		}
	}
	if c.has("completions") {
		for _, v := range []string{"a", "ab", "abc", "abcd", "abcde", "abcdef"} {
			if _, err := c.request("completion/complete", `{"ref":{"type":"ref/prompt","name":"letter"},"argument":{"name":"name","value":"`+v+`"}}`); err != nil {
				return err
			}
			if !c.is("hasty-completion") {
				break
			}
		}
	}
	if c.has("logging") {
		if _, err := c.request("logging/setLevel", `{"level":"warning"}`); err != nil {
			return err
		}
	}
	if !c.modern {
		if _, err := c.request("ping", ""); err != nil && !errors.Is(err, errTimeout) {
			return err
		}
		if !strings.HasPrefix(c.fault.name, "few-") && !strings.HasPrefix(c.fault.name, "undeclared-") && !c.is("plain-caps") && c.reach.Script != "session-gone" {
			_ = c.notify("notifications/roots/list_changed", "")
		}
	}
	if c.is("cancels-done") {
		done := strconv.Itoa(c.lastID())
		for range 2 {
			c.pause(300 * time.Millisecond)
			_, _ = c.request("ping", "")
		}
		_ = c.notify("notifications/cancelled", `{"requestId":`+done+`}`)
	}
	if c.is("cancels-unknown") {
		_ = c.notify("notifications/cancelled", `{"requestId":"never-sent"}`)
	}
	if c.is("floods") {
		for range 150 {
			_ = c.notify("notifications/progress", `{"progressToken":"x","progress":1}`)
		}
	}
	if c.is("steady-pings") {
		for range 6 {
			_, _ = c.request("ping", "")
		}
	}
	switch c.reach.Script {
	case "short-lived":
		switch {
		case c.is("polls"):
			for i := range 7 {
				c.pause(250*time.Millisecond + time.Duration(i%3)*40*time.Millisecond)
				_, _ = c.request("tools/list", "{}")
			}
		}
	case "dying-subscription", "dying":
		if c.reach.Transport == catalogue.Stdio && c.modern {
			c.mu.Lock()
			gone := c.gone
			c.mu.Unlock()
			select {
			case <-gone:
				return c.restart()
			case <-time.After(time.Second):
			case <-c.ctx.Done():
			}
		}
	}
	return nil
}

func (c *rawClient) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.ctx.Done():
	}
}

func (c *rawClient) has(capability string) bool {
	if c.is("uses-undeclared") {
		return true
	}
	return c.caps.Get(capability) != nil
}

func (c *rawClient) useTools() error {
	tools, err := c.list("tools/list", "tools")
	if err != nil {
		return err
	}
	for _, v := range c.reach.Env {
		if text, ok := strings.CutPrefix(v, "MCP_CONFORMANCE_CONTEXT="); ok {
			for call := range wire.Raw(text).Get("toolCalls").Elems() {
				if c.reach.Script != "designated" {
					break
				}
				name, _ := call.Get("name").Str()
				if _, err := c.call(name, string(call.Get("arguments"))); err != nil {
					return err
				}
			}
			if c.reach.Script == "designated" {
				return nil
			}
		}
	}
	if c.is("ends-with-get") && c.reach.Script == "closed-stream" {
		c.pause(60 * time.Millisecond)
	}
	for _, t := range tools {
		c.lookAt(string(t))
		name, _ := t.Get("name").Str()
		if c.modern && c.reach.Transport == catalogue.HTTP && strings.HasPrefix(name, "wrong_") && !(c.is("calls-" + name)) {
			continue
		}
		args := []string{}
		for p, s := range t.Get("inputSchema").Get("properties").Members() {
			switch kind, _ := s.Get("type").Str(); kind {
			case "number", "integer":
				args = append(args, quote(p)+":1")
			case "string":
				args = append(args, quote(p)+`:"hello"`)
			}
		}
		if c.is("tool-case") {
			name = strings.ToUpper(name)
		}
		if _, err := c.call(name, "{"+strings.Join(args, ",")+"}"); err != nil {
			if errors.Is(err, errTimeout) {
				continue
			}
			return err
		}
	}
	return nil
}

// lookAt fetches what a careful client leaves alone.
func (c *rawClient) lookAt(tool string) {
	for _, at := range canary.FindAllString(tool, -1) {
		switch {
		case c.is("follows-references") && strings.Contains(at, "/canary/schema"), c.is("loads-icons") && strings.Contains(at, "/canary/icon"):
			c.fetch(at, nil)
		case c.is("loads-icons-as-user") && strings.Contains(at, "/canary/own-icon"):
			c.fetch(at, http.Header{"Authorization": {"Bearer secret"}})
		}
	}
}

var canary = regexp.MustCompile(`http://[0-9.:]+/canary/[a-z./-]+`)

// list reads all pages of a list.
func (c *rawClient) list(method, member string) ([]wire.Raw, error) {
	var all []wire.Raw
	params := "{}"
	for page := 0; page < 50; page++ {
		if page == 1 && c.is("foreign-cursor") {
			params = `{"cursor":"guessed-2"}`
		}
		a, err := c.request(method, params)
		if errors.Is(err, errTimeout) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if e := a.Get("error"); e != nil {
			code, _ := e.Get("code").Int()
			if code == -32602 && page > 0 && !c.is("retries-cursor") {
				all, params = nil, "{}"
				continue
			}
			if c.is("retries-cursor") && page < 4 {
				continue
			}
			return all, nil
		}
		got := 0
		for e := range a.Get("result").Get(member).Elems() {
			all = append(all, e)
			got++
			if name, ok := e.Get("name").Str(); ok && member == "tools" {
				c.tools[name] = e
			}
		}
		next := a.Get("result").Get("nextCursor")
		text, _ := next.Str()
		switch {
		case next == nil && c.is("past-the-end") && page < 2 && params != "{}":
			params = `{"cursor":"more"}`
			continue
		case next == nil,
			text == "" && c.is("empty-is-end"),
			got == 0 && c.is("empty-page-is-end"),
			c.is("first-page-only"):
			return all, nil
		}
		if c.is("trims-cursor") {
			text = strings.TrimSpace(text)
		}
		params = `{"cursor":` + quote(text) + `}`
		if c.is("cursor-number") {
			params = `{"cursor":7}`
		}
	}
	return all, nil
}

// call calls a tool, as a task where it has to be one.
func (c *rawClient) call(name, args string) (wire.Raw, error) {
	tool := c.tools[name]
	support, _ := tool.Get("execution").Get("taskSupport").Str()
	task := ""
	if support == "required" && !c.is("no-task") || support == "forbidden" && c.is("task-forbidden") {
		task = `,"task":{"ttl":60000}`
	}
	a, err := c.request("tools/call", `{"name":`+quote(name)+`,"arguments":`+args+task+`}`)
	if err != nil {
		return nil, err
	}
	if t := a.Get("result").Get("task"); t != nil {
		if c.is("cancels-task") {
			_ = c.notify("notifications/cancelled", `{"requestId":`+strconv.Itoa(c.lastID())+`}`)
		}
		return a, c.follow(t)
	}
	if code, _ := a.Get("error").Get("code").Int(); code == -32020 && !c.is("no-refresh") {
		if _, err := c.list("tools/list", "tools"); err != nil {
			return nil, err
		}
		if a, err = c.request("tools/call", `{"name":`+quote(name)+`,"arguments":`+args+`}`); err != nil {
			return nil, err
		}
	} else if code == -32020 {
		if a, err = c.request("tools/call", `{"name":`+quote(name)+`,"arguments":`+args+`}`); err != nil {
			return nil, err
		}
	}
	return c.rounds("tools/call", `"name":`+quote(name)+`,"arguments":`+args, a)
}

// follow polls a task to its end.
func (c *rawClient) follow(t wire.Raw) error {
	id := string(t.Get("taskId"))
	for range 10 {
		ms, _ := t.Get("pollInterval").Int()
		if !c.is("polls-tasks-fast") {
			c.pause(time.Duration(ms) * time.Millisecond)
		}
		meta := ""
		if c.is("names-task-twice") {
			meta = `,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":` + id + `}}`
		}
		a, err := c.request("tasks/get", `{"taskId":`+id+meta+`}`)
		if err != nil {
			return err
		}
		t = a.Get("result")
		if s, _ := t.Get("status").Str(); s != "working" {
			break
		}
	}
	_, err := c.request("tasks/result", `{"taskId":`+id+`}`)
	return err
}

// rounds answers what a result wants to know, until it is complete.
func (c *rawClient) rounds(method, params string, a wire.Raw) (wire.Raw, error) {
	for range 6 {
		kind, _ := a.Get("result").Get("resultType").Str()
		if kind == "" && c.is("untyped-again") && c.modern && a.Get("result") != nil {
			kind = "input_required"
		}
		if kind != "input_required" {
			return a, nil
		}
		if c.is("ignores-state") && a.Get("result").Get("inputRequests") == nil {
			return nil, errors.New("left")
		}
		state := a.Get("result").Get("requestState")
		if state != nil {
			c.state = string(state)
		}
		var answers []string
		for key, in := range a.Get("result").Get("inputRequests").Members() {
			m, _ := in.Get("method").Str()
			answer, ok := c.answerOf(m, in.Get("params"))
			if !ok {
				return a, nil // what it has not declared it cannot tell
			}
			if c.is("enveloped-input") {
				answer = `{"jsonrpc":"2.0","id":1,"result":` + answer + `}`
			}
			if c.is("renames-keys") {
				key = strings.TrimSpace(key) + "-1"
			}
			answers = append(answers, quote(key)+":"+answer)
			if c.is("one-input") {
				break
			}
		}
		again := params
		if c.is("changes-arguments") {
			again = strings.Replace(again, `"arguments":{`, `"arguments":{"more":1,`, 1)
			again = strings.Replace(again, `"more":1,}`, `"more":1}`, 1)
		}
		if c.is("extra-key") {
			answers = append(answers, `"unasked":{"action":"decline"}`)
		}
		if len(answers) > 0 {
			again += `,"inputResponses":{` + strings.Join(answers, ",") + `}`
		}
		switch {
		case c.is("trims-state") && state != nil:
			text, _ := state.Str()
			again += `,"requestState":` + quote(strings.TrimSpace(text))
		case state != nil:
			again += `,"requestState":` + string(state)
		case c.is("untyped-again"):
			again += `,"requestState":"x"`
		case c.is("keeps-state") && c.state != "":
			again += `,"requestState":` + c.state
		}
		if c.is("same-id") {
			c.mu.Lock()
			c.next--
			c.mu.Unlock()
		}
		if c.is("leaks-state") {
			_, _ = c.request("prompts/list", `{"requestState":"x"}`)
		}
		b, err := c.request(method, "{"+again+"}")
		if err != nil {
			return nil, err
		}
		a = b
	}
	return a, nil
}

// answerOf answers a question; false where the client does not.
func (c *rawClient) answerOf(method string, params wire.Raw) (string, bool) {
	switch method {
	case "roots/list":
		return `{"roots":[{"uri":"file:///home/raw","name":"home"}]}`, true
	case "sampling/createMessage":
		if mode, _ := params.Get("toolChoice").Get("mode").Str(); c.is("uses-tools-anyway") && mode == "none" || c.is("few-tool-use") && params.Get("tools") != nil {
			return `{"role":"assistant","content":{"type":"tool_use","id":"u1","name":"clock","input":{}},"model":"m"}`, true
		}
		if c.modern && params.Get("tools") != nil {
			return `{"role":"assistant","content":{"type":"text","text":"No tools."},"model":"m"}`, true
		}
		return `{"role":"assistant","content":{"type":"text","text":"Hello.","annotations":{"audience":["user"],"priority":0.5}},"model":"raw-1"}`, true
	case "elicitation/create":
		if mode, _ := params.Get("mode").Str(); mode == "url" {
			at, _ := params.Get("url").Str()
			if c.is("opens-url") {
				c.fetch(at, nil)
			}
			if c.is("accepts-url") || c.is("few-accepts-url") {
				return `{"action":"accept"}`, true
			}
			if c.modern {
				return `{"action":"decline"}`, true
			}
			return "", false
		}
		if c.is("no-content") {
			return `{"action":"accept"}`, true
		}
		var fields []string
		for name, p := range params.Get("requestedSchema").Get("properties").Members() {
			v := p.Get("default")
			if c.is("ignores-defaults") && v != nil {
				v = nil
			}
			kind, _ := p.Get("type").Str()
			switch {
			case v != nil:
			case kind == "string" && p.Get("enum") != nil:
				for e := range p.Get("enum").Elems() {
					v = e
					break
				}
			case kind == "string":
				v = wire.Raw(`"raw"`)
			case kind == "boolean":
				v = wire.Raw("false")
			default:
				v = wire.Raw("7")
			}
			fields = append(fields, quote(name)+":"+string(v))
		}
		return `{"action":"accept","content":{` + strings.Join(fields, ",") + `}}`, true
	}
	return "", false
}

// serve answers a request of the server; "" for not at all.
func (c *rawClient) serve(m wire.Raw) string {
	method, _ := m.Get("method").Str()
	params := m.Get("params")
	id := string(m.Get("id"))
	good := func(result string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}` }
	fail := func(code int, text string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + strconv.Itoa(code) + `,"message":` + quote(text) + `}}`
	}
	if c.modern {
		if c.is("answers-stray") {
			return good("{}")
		}
		if c.is("answers-stray-by-error") {
			return fail(-32001, "not now")
		}
		return ""
	}
	november := c.rev == newest
	switch {
	case method == "ping":
		if strings.HasPrefix(c.fault.name, "deaf-after-odd") && c.marked("odd") || c.marked("deaf") {
			return ""
		}
		if c.is("chokes-on-meta") && params.Get("_meta") != nil {
			return fail(-32602, "Invalid params")
		}
		return good("{}")
	case method == "roots/list" && !c.is("plain-caps"):
		answer, _ := c.answerOf(method, params)
		return good(answer)
	case c.is("plain-caps"), strings.HasPrefix(method, "tasks/") && !november:
		return fail(-32601, "Method not found")
	case method == "sampling/createMessage":
		if params.Get("messages") == nil && !c.is("takes-anything") {
			return fail(-32602, "Invalid params")
		}
		text := string(params.Get("messages"))
		if strings.Contains(text, "tool_use") && !c.is("takes-mixed") {
			return fail(-32602, "Invalid params: results of tools are missing or mixed")
		}
		if params.Get("tools") != nil && strings.HasPrefix(c.fault.name, "few-") && !c.is("few-tools") {
			return fail(-32602, "Invalid params: no tools")
		}
	case method == "elicitation/create":
		mode, _ := params.Get("mode").Str()
		switch {
		case params.Get("message") == nil && !c.is("takes-anything"):
			return fail(-32602, "Invalid params")
		case mode == "" && c.is("refuses-modeless"):
			return fail(-32602, "Invalid params: no mode")
		case mode == "url" && !c.is("accepts-url"):
			if c.is("opens-url") {
				c.answerOf(method, params)
			}
			return fail(-32602, "Invalid params: no such mode")
		}
	case strings.HasPrefix(method, "tasks/"):
		return c.serveTask(method, params, good, fail)
	case c.is("knows-all"):
		return good("{}")
	default:
		return fail(-32601, "Method not found")
	}
	if c.is("few-refuses-tasks") && params.Get("task") != nil {
		return fail(-32602, "Invalid params: no tasks")
	}
	answer, ok := c.answerOf(method, params)
	if !ok {
		return fail(-32601, "Method not found")
	}
	if token := params.Get("_meta").Get("progressToken"); token != nil {
		_ = c.notify("notifications/progress", `{"progressToken":`+string(token)+`,"progress":1,"total":2,"message":"half"}`)
		_ = c.notify("notifications/progress", `{"progressToken":`+string(token)+`,"progress":2,"total":2}`)
	}
	token := string(params.Get("_meta").Get("progressToken"))
	if params.Get("task") != nil && november && !strings.HasPrefix(c.fault.name, "few-") {
		made := c.makeTask(answer, good)
		if c.is("task-progress-unnamed") && token != "" {
			c.reply(made)
			_ = c.notify("notifications/progress", `{"progressToken":`+token+`,"progress":3}`)
			return ""
		}
		return made
	}
	if c.is("late-progress") && token != "" {
		c.reply(good(answer))
		_ = c.notify("notifications/progress", `{"progressToken":`+token+`,"progress":3}`)
		return ""
	}
	return good(answer)
}

// tasks of the client, by id.
type rawTask struct{ status, answer string }

var rawTasks sync.Map // by client

func (c *rawClient) tasks() map[string]*rawTask {
	v, _ := rawTasks.LoadOrStore(c, map[string]*rawTask{})
	return v.(map[string]*rawTask)
}

func (c *rawClient) makeTask(answer string, good func(string) string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	ts := c.tasks()
	id := "raw-task-" + strconv.Itoa(len(ts)+1)
	if c.is("same-task-id") {
		id = "raw-task"
	}
	ts[id] = &rawTask{"working", answer}
	return good(`{"task":{` + c.taskState(id) + `}}`)
}

func (c *rawClient) taskState(id string) string {
	return `"taskId":` + quote(id) + `,"status":"` + c.tasks()[id].status + `","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000`
}

func (c *rawClient) serveTask(method string, params wire.Raw, good func(string) string, fail func(int, string) string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, _ := params.Get("taskId").Str()
	t := c.tasks()[id]
	switch {
	case method == "tasks/list":
		var all []string
		if c.is("hides-tasks") {
			return good(`{"tasks":[]}`)
		}
		for id := range c.tasks() {
			all = append(all, "{"+c.taskState(id)+"}")
		}
		return good(`{"tasks":[` + strings.Join(all, ",") + `]}`)
	case t == nil && c.is("any-task") && method != "tasks/result":
		return good(`{"taskId":` + quote(id) + `,"status":"failed","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000}`)
	case t == nil:
		return fail(-32602, "Invalid params: no such task")
	case method == "tasks/get":
		if c.is("meta-task-wins") && params.Get("_meta") != nil {
			return fail(-32602, "Invalid params: no such task")
		}
		return good("{" + c.taskState(id) + "}")
	case method == "tasks/cancel":
		if t.status != "working" && !c.is("cancels-final") {
			return fail(-32602, "Invalid params: the task is final")
		}
		t.status = "cancelled"
		defer func() {
			if c.is("revives-tasks") {
				t.status = "working"
			}
		}()
		return good("{" + c.taskState(id) + "}")
	case method == "tasks/result":
		t.status = "completed"
		if c.is("task-progress-late") {
			go func() {
				_ = c.notify("notifications/progress", `{"progressToken":"asked-1","progress":3,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":`+quote(id)+`}}}`)
			}()
			time.Sleep(0)
		}
		return good(`{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":` + quote(id) + `}},` + strings.TrimPrefix(t.answer, "{"))
	}
	return fail(-32601, "Method not found")
}

func quote(s string) string { return string(wire.Quote(s)) }

var errTimeout = errors.New("no answer in time")

// request sends a request and waits for the answer, a whole message.
func (c *rawClient) request(method, params string) (wire.Raw, error) {
	c.mu.Lock()
	c.next++
	id := strconv.Itoa(c.next)
	answer := make(chan wire.Raw, 1)
	c.pending[id] = answer
	gone := c.gone
	c.mu.Unlock()
	text := `{"jsonrpc":"2.0","id":` + id + `,"method":` + quote(method)
	if c.modern {
		params = c.withMeta(params)
	} else if method == "tools/call" {
		params = strings.TrimSuffix(params, "}") + `,"_meta":{"progressToken":"p` + id + `"}}`
	}
	if params != "" {
		text += `,"params":` + params
	}
	text += "}"
	if err := c.send(text, answer); err != nil {
		return nil, err
	}
	wait := patience
	if method == "server/discover" && c.reach.Script == "mute-probe" || method == "subscriptions/listen" {
		wait = slow * 700 * time.Millisecond
	}
	if method == "subscriptions/listen" {
		wait = time.Minute
	}
	if c.reach.Script == "polling" || c.reach.Script == "slow-initialize" || c.reach.Script == "asks" || c.reach.Script == "task-asks" || c.reach.Script == "faulty-asks" {
		wait = slow * 3 * time.Second
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case a := <-answer:
		return a, nil
	case <-c.ctx.Done():
		return nil, c.ctx.Err()
	case <-gone:
		select {
		case a := <-answer:
			return a, nil
		default:
		}
		return nil, errGone
	case <-timer.C:
	}
	if c.is("asks-again") && method != "initialize" {
		c.pause(100 * time.Millisecond)
		return c.request(method, params)
	}
	if c.is("deaf-after-late") {
		c.mark("deaf")
	}
	if (c.fault.line != nil || c.is("reuses-open-id")) && c.reach.Script != "silence" {
		return nil, errTimeout // what it sent is not what it knows
	}
	if method != "initialize" && !(c.modern && c.reach.Transport == catalogue.HTTP) && method != "server/discover" {
		_ = c.notify("notifications/cancelled", `{"requestId":`+id+`,"reason":"timeout"}`)
	}
	c.pause(150 * time.Millisecond) // what comes late is ignored
	if c.is("deaf-after-late") {
		c.pause(5 * time.Second)
	}
	return nil, errTimeout
}

// withMeta gives the params of a stateless request their metadata.
func (c *rawClient) withMeta(params string) string {
	caps := `{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"extensions":{"com.example/raw":{}}}`
	if strings.HasPrefix(c.fault.name, "undeclared-") {
		caps = `{}`
	}
	if strings.HasPrefix(c.fault.name, "few-") {
		caps = `{"roots":{},"sampling":{},"elicitation":{"form":{}}}`
	}
	meta := `"_meta":{"` + metaVersion + `":"` + stateless + `","` + metaCaps + `":` + caps + `,"` + metaInfo + `":{"name":"raw","version":"1","icons":[{"src":"https://example.com/raw.png","sizes":["48x48"]}]},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","com.example/own":1,"progressToken":"t` + strconv.Itoa(c.lastID()) + `"}`
	if strings.TrimSpace(params) == "{}" || params == "" {
		return "{" + meta + "}"
	}
	return "{" + meta + "," + strings.TrimPrefix(params, "{")
}

func (c *rawClient) notify(method, params string) error {
	text := `{"jsonrpc":"2.0","method":` + quote(method)
	if params != "" {
		text += `,"params":` + params
	}
	return c.send(text+"}", nil)
}

// send sends a message on whatever way there is; the answer of an HTTP request
// goes to answer.
func (c *rawClient) send(text string, answer chan wire.Raw) error {
	if c.fault.line != nil {
		text = c.fault.line(text)
	}
	if c.is("reuses-open-id") && c.reach.Script == "dying-subscription" && strings.Contains(text, `"tools/list"`) {
		text = strings.Replace(text, `"id":`+strconv.Itoa(c.lastID()), `"id":`+strconv.Itoa(c.listenID), 1)
	}
	if text == "" {
		return nil
	}
	if c.reach.Transport == catalogue.Stdio {
		c.mu.Lock()
		s := c.server
		c.mu.Unlock()
		if _, err := io.WriteString(s.In, text+"\n"); err != nil {
			return errGone
		}
		return nil
	}
	if answer != nil {
		// So that what the server asks meanwhile is answered.
		fails := make(chan error, 1)
		c.work.Go(func() { fails <- c.post(text, answer) })
		select {
		case err := <-fails:
			return err
		case a := <-answer:
			answer <- a
			return nil
		case <-time.After(patience * 12):
			return nil
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
	return c.post(text, nil)
}

// take deals with a message of the server.
func (c *rawClient) take(text []byte) {
	v, err := wire.ParseRaw(bytes.TrimSpace(text))
	odd := err != nil
	switch {
	case err != nil:
	case v.Kind() == wire.KindArray:
		odd = true
		if c.rev != "2025-03-26" && !c.is("takes-arrays") {
			break
		}
		var replies []string
		n := 0
		for m := range v.Elems() {
			n++
			if m.Get("method") != nil && m.Get("id") != nil {
				replies = append(replies, c.serve(m))
			}
		}
		switch {
		case c.is("splits-arrays"):
			for _, r := range replies {
				c.reply(r)
			}
		case c.is("drops-arrays") && len(replies) > 0:
		case n == 0 && c.is("answers-empty-array"), n > 0 && len(replies) == 0 && c.is("answers-notifications-array"):
			c.reply("[]")
		case n == 0:
			c.reply(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}`)
		case len(replies) > 0:
			c.reply("[" + strings.Join(replies, ",") + "]")
		}
	case v.Get("method") != nil && v.Get("id") != nil && v.Get("method").Kind() == wire.KindString && v.Get("jsonrpc") != nil:
		if r := c.serve(v); r != "" {
			c.reply(r)
			if c.is("answers-twice") {
				c.reply(r)
			}
		}
	case v.Get("method") != nil && v.Get("id") == nil:
		method, _ := v.Get("method").Str()
		odd = method == "notifications/cancelled" || method == "notifications/elicitation/complete"
		if c.is("answers-notifications") {
			c.reply(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`)
		}
	case v.Get("id") != nil && v.Get("method") == nil && (v.Get("result") != nil || v.Get("error") != nil):
		c.mu.Lock()
		waits := c.pending[string(v.Get("id"))]
		c.mu.Unlock()
		if strings.Contains(string(text), "example.invalid/dialect") {
			c.mark("odd")
		}
		if waits != nil {
			select {
			case waits <- v:
			default:
			}
		}
	default:
		odd = true
	}
	if odd {
		c.mark("odd")
	}
}

func (c *rawClient) mark(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastState = what
}

func (c *rawClient) marked(what string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastState == what
}

// lastID is the id of the last request.
func (c *rawClient) lastID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

func (c *rawClient) reply(text string) {
	if c.reach.Transport == catalogue.Stdio {
		_ = c.send(text, nil)
		return
	}
	c.work.Go(func() { _ = c.send(text, nil) })
}

// Over stdio.

func (c *rawClient) start() {
	c.mu.Lock()
	c.server = c.reach.Start()
	c.gone = make(chan struct{})
	s, gone := c.server, c.gone
	c.mu.Unlock()
	c.work.Go(func() {
		defer close(gone)
		r := bufio.NewReader(s.Out)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			c.take(line)
		}
	})
}

func (c *rawClient) restart() error {
	if c.is("no-restart") {
		c.pause(5 * time.Second)
		return nil
	}
	c.start()
	if _, err := c.probe(); err != nil {
		return err
	}
	if !c.is("no-resubscribe") && c.reach.Script == "dying-subscription" {
		c.work.Go(func() { _, _ = c.request("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`) })
		c.pause(50 * time.Millisecond)
	}
	_, err := c.request("tools/list", "{}")
	return err
}

// leave ends the connection as it should be ended.
func (c *rawClient) leave() {
	switch {
	case c.reach.Transport == catalogue.Stdio:
		if c.is("partial-line") {
			_, _ = io.WriteString(c.server.In, `{"jsonrpc":"2.0","method":"notifications/x`)
		}
		if c.is("signals-first") {
			c.server.Signal("SIGTERM")
			c.pause(20 * time.Millisecond)
		}
		_ = c.server.In.Close()
		if c.is("leaves-running") {
			return
		}
		for _, name := range []string{"SIGTERM", "KILL"} {
			select {
			case <-c.server.Exited():
				return
			case <-time.After(200 * time.Millisecond):
			}
			if name == "KILL" {
				c.server.Kill()
			} else {
				c.server.Signal(name)
			}
		}
	case c.session != "" && !c.is("keeps-session"):
		req, _ := http.NewRequest(http.MethodDelete, c.reach.URL, nil)
		c.headers(req.Header)
		if c.is("delete-no-session") {
			req.Header.Del("Mcp-Session-Id")
		}
		if resp, err := c.web.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}
}

// Over HTTP.

type statusError int

func (e statusError) Error() string { return "status " + strconv.Itoa(int(e)) }

func (c *rawClient) headers(h http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != "" {
		h.Set("Mcp-Session-Id", c.session)
	}
	if !c.modern && c.rev >= "2025-06-18" && !c.is("no-version-header") {
		h.Set("Mcp-Protocol-Version", c.rev)
		if c.is("other-version-header") {
			h.Set("Mcp-Protocol-Version", "2025-03-26")
		}
	}
	if c.token != "" {
		scheme := "Bearer "
		if c.is("auth-scheme") {
			scheme = "bearer-token "
		}
		h.Set("Authorization", scheme+c.token)
	}
}

// post sends one message.
func (c *rawClient) post(text string, answer chan wire.Raw) error {
	for try := 0; ; try++ {
		err := c.postOnce(text, answer)
		var status *challenge
		if !errors.As(err, &status) || try > 8 {
			return err
		}
		if status.code == 403 && c.is("auth-no-step-up") || status.code == 403 && try > 2 && !c.is("auth-endless") || status.code == 401 && c.is("auth-needs-refresh") && try == 0 && c.has401() {
			return statusError(status.code)
		}
		c.auth.Lock()
		err = c.authorize(status.header)
		c.auth.Unlock()
		if err != nil {
			return err
		}
	}
}

// has401 reports whether the client was authorized before.
func (c *rawClient) has401() bool {
	c.auth.Lock()
	defer c.auth.Unlock()
	return c.steps > 0
}

type challenge struct {
	code   int
	header string
}

func (e *challenge) Error() string { return "status " + strconv.Itoa(e.code) }

func (c *rawClient) postOnce(text string, answer chan wire.Raw) error {
	at := c.reach.URL
	if c.endpoint != "" {
		at = c.endpoint
	}
	c.mu.Lock()
	if c.is("auth-query") && c.token != "" {
		at += "?access_token=" + c.token
	}
	c.mu.Unlock()
	if c.is("odd-path") && strings.Contains(text, "notifications/") {
		at += "/notify"
	}
	method := http.MethodPost
	if c.is("puts") && strings.Contains(text, "notifications/") {
		method = http.MethodPut
	}
	req, err := http.NewRequestWithContext(c.ctx, method, at, strings.NewReader(text))
	if err != nil {
		return err
	}
	v := wire.Raw(text)
	name, _ := v.Get("method").Str()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	c.headers(req.Header)
	inSession := req.Header.Get("Mcp-Session-Id") != ""
	if name == "initialize" && !c.is("session-on-initialize") {
		req.Header.Del("Mcp-Session-Id")
		req.Header.Del("Mcp-Protocol-Version")
	}
	if c.modern && v.Kind() == wire.KindObject {
		c.statelessHeaders(req.Header, v, name)
	}
	if c.sent.Add(1) > 6 && c.is("auth-skips-token") {
		req.Header.Del("Authorization")
	}
	if c.fault.head != nil {
		c.fault.head(req.Header, text)
	}
	resp, err := c.web.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if s := resp.Header.Get("Mcp-Session-Id"); s != "" && name == "initialize" && !c.is("no-session") {
		c.mu.Lock()
		c.session = s
		c.mu.Unlock()
	}
	if c.is("stateless-session") && resp.Header.Get("Mcp-Session-Id") != "" {
		c.mu.Lock()
		c.session = resp.Header.Get("Mcp-Session-Id")
		c.mu.Unlock()
	}
	if c.is("exact-header-case") && c.reach.Script == "header-case" {
		return nil
	}
	switch {
	case resp.StatusCode == 401 || resp.StatusCode == 403:
		_, _ = io.Copy(io.Discard, resp.Body)
		return &challenge{resp.StatusCode, strings.Join(resp.Header.Values("WWW-Authenticate"), ", ")}
	case resp.StatusCode == 404 && inSession && !c.modern && answer != nil:
		return c.sessionGone(text, answer)
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		if c.is("no-streams") {
			return nil
		}
		done, last, retry := c.readStream(resp.Body, v.Get("id"), "")
		if done || answer == nil || c.ctx.Err() != nil {
			return nil
		}
		return c.brokenStream(text, answer, last, retry)
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") && !(c.is("no-json") && c.modern && name == "tools/list"):
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		known := v.Get("id") != nil
		if resp.StatusCode >= 400 && known {
			if e, _ := wire.ParseRaw(b); e.Get("error") == nil || e.Get("id").Kind() == wire.KindNull {
				return statusError(resp.StatusCode)
			}
		}
		c.take(b)
		return nil
	case resp.StatusCode >= 400:
		return statusError(resp.StatusCode)
	}
	return nil
}

// sessionGone begins a new session and sends the request again, from the first
// page if it was for another one.
func (c *rawClient) sessionGone(text string, answer chan wire.Raw) error {
	if c.is("forgets-session") {
		c.mu.Lock()
		c.session = ""
		c.mu.Unlock()
	}
	if c.is("keeps-dead-session") || c.is("forgets-session") {
		_ = c.postOnce(`{"jsonrpc":"2.0","id":9001,"method":"ping"}`, nil)
		return errors.New("the session is gone")
	}
	if !c.is("session-on-initialize") {
		c.mu.Lock()
		c.session = ""
		c.mu.Unlock()
	}
	if _, err := c.request("initialize", `{"protocolVersion":"`+newest+`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`); err != nil {
		return err
	}
	_ = c.notify("notifications/initialized", "")
	if strings.Contains(text, `"cursor"`) && !c.is("keeps-cursor") {
		c.take([]byte(`{"jsonrpc":"2.0","id":` + string(wire.Raw(text).Get("id")) + `,"error":{"code":-32602,"message":"the cursor is gone"}}`))
		return nil
	}
	return c.postOnce(text, answer)
}

func (c *rawClient) brokenStream(text string, answer chan wire.Raw, last string, retry time.Duration) error {
	if c.modern {
		if c.is("same-id-again") {
			return c.postOnce(text, answer)
		}
		if c.is("resumes-stateless") {
			c.openGet("x")
		}
		c.mu.Lock()
		c.next++
		id := strconv.Itoa(c.next)
		c.pending[id] = answer
		c.mu.Unlock()
		was := string(wire.Raw(text).Get("id"))
		return c.postOnce(strings.Replace(text, `"id":`+was, `"id":`+id, 1), answer)
	}
	switch {
	case last == "" || c.is("no-resume"):
		c.pause(700 * time.Millisecond)
		return errors.New("the stream broke")
	case c.is("resumes-wrong"):
		last = "0"
	}
	if !c.is("hasty-resume") {
		c.pause(retry)
	}
	c.openGet(last)
	return nil
}

// openGet opens the stream beside the answers, or takes up another one.
func (c *rawClient) openGet(last string) {
	req, _ := http.NewRequestWithContext(c.ctx, http.MethodGet, c.reach.URL, nil)
	req.Header.Set("Accept", "text/event-stream")
	if c.is("get-accepts-json") {
		req.Header.Set("Accept", "application/json")
	}
	c.headers(req.Header)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	opened := make(chan struct{})
	c.work.Go(func() {
		resp, err := c.web.Do(req)
		close(opened)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
			c.readStream(resp.Body, nil, "")
			if c.is("ends-with-get") && c.ctx.Err() == nil && last == "" {
				c.stop()
			}
		}
	})
	select {
	case <-opened:
	case <-c.ctx.Done():
	}
}

func (c *rawClient) openSSE(at string) error {
	req, _ := http.NewRequestWithContext(c.ctx, http.MethodGet, at, nil)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := c.web.Do(req)
	if err != nil {
		return err
	}
	named := make(chan string, 1)
	c.work.Go(func() {
		defer resp.Body.Close()
		c.readStream(&endpointReader{Reader: resp.Body, named: named}, nil, "sse")
	})
	select {
	case path := <-named:
		u, err := url.Parse(at)
		if err != nil {
			return err
		}
		if u, err = u.Parse(path); err != nil {
			return err
		}
		if c.is("guesses-endpoint") {
			u.RawQuery += "&x=1"
		}
		c.endpoint = u.String()
		return nil
	case <-time.After(time.Second):
		return errors.New("no endpoint")
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// endpointReader finds the first event of an HTTP+SSE stream.
type endpointReader struct {
	io.Reader
	named chan string
	seen  bool
}

func (r *endpointReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if !r.seen {
		if _, rest, ok := strings.Cut(string(b[:n]), "event: endpoint\ndata: "); ok {
			r.seen = true
			path, _, _ := strings.Cut(rest, "\n")
			r.named <- path
		}
	}
	return n, err
}

// readStream reads events; done says that the answer to id came.
func (c *rawClient) readStream(body io.Reader, id wire.Raw, _ string) (done bool, last string, retry time.Duration) {
	r := bufio.NewReader(body)
	var data []string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return done, last, retry
		}
		line = strings.TrimRight(line, "\r\n")
		name, value, colon := strings.Cut(line, ":")
		if c.is("unknown-field") && line != "" && !colon {
			return true, last, retry
		}
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if text := strings.Join(data, "\n"); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
				if id != nil && wire.Equal(wire.Raw(text).Get("id"), id) && wire.Raw(text).Get("method") == nil {
					done = true
				}
				c.take([]byte(text))
			}
			data = nil
		case name == "data" && !(c.is("one-data-line") && len(data) > 0):
			data = append(data, value)
		case name == "id":
			last = value
		case name == "retry":
			ms, _ := strconv.Atoi(value)
			retry = time.Duration(ms) * time.Millisecond
		}
	}
}

// statelessHeaders repeats what the body says.
func (c *rawClient) statelessHeaders(h http.Header, v wire.Raw, method string) {
	h.Set("Mcp-Protocol-Version", stateless)
	h.Set("Mcp-Method", method)
	params := v.Get("params")
	switch method {
	case "tools/call", "prompts/get":
		name, _ := params.Get("name").Str()
		h.Set("Mcp-Name", c.encode(name, "name"))
		if method == "tools/call" {
			c.mirror(h, c.tools[name].Get("inputSchema"), params.Get("arguments"), 0)
		}
	case "resources/read":
		uri, _ := params.Get("uri").Str()
		h.Set("Mcp-Name", c.encode(uri, "name"))
	}
}

func (c *rawClient) encode(s, what string) string {
	lookalike := strings.HasPrefix(s, "=?base64?")
	plain := s == strings.TrimSpace(s) && (!lookalike || c.is("plain-lookalike"))
	for _, r := range s {
		plain = plain && r >= 0x20 && r < 0x7f
	}
	if plain || what == "name" && c.is("raw-names") || what == "param" && c.is("raw-params") && !strings.Contains(s, "\n") && !lookalike {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

func (c *rawClient) mirror(h http.Header, schema, args wire.Raw, depth int) {
	for name, s := range schema.Get("properties").Members() {
		v := args.Get(name)
		if header, ok := s.Get("x-mcp-header").Str(); ok && s.Get("x-mcp-header") != nil {
			text := ""
			switch v.Kind() {
			case wire.KindString:
				text, _ = v.Str()
				text = c.encode(text, "param")
			case wire.KindNumber, wire.KindBool:
				text = string(v)
				if c.is("shouts-booleans") && v.Kind() == wire.KindBool {
					text = strings.ToUpper(text)
				}
			case wire.KindNull:
				if !c.is("null-header") {
					continue
				}
				text = "null"
			default:
				if !c.is("absent-header") || depth > 0 {
					continue
				}
				text = "none"
			}
			if depth == 0 && c.is("no-param") || depth > 0 && c.is("no-nested") {
				continue
			}
			h.Set("Mcp-Param-"+header, text)
		} else if c.is("mirrors-all") && depth == 0 && v.Kind() == wire.KindString {
			h.Set("Mcp-Param-"+name, "x")
		}
		c.mirror(h, s, v, depth+1)
	}
}

// Authorization.

func (c *rawClient) fetch(at string, h http.Header) (int, wire.Raw) {
	req, err := http.NewRequestWithContext(c.ctx, http.MethodGet, at, nil)
	if err != nil {
		return 0, nil
	}
	if h != nil {
		req.Header = h
	}
	resp, err := c.web.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	v, _ := wire.ParseRaw(b)
	return resp.StatusCode, v
}

func text(v wire.Raw) string { s, _ := v.Str(); return s }

func param(header, name string) string {
	_, rest, ok := strings.Cut(header, name+`="`)
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func (c *rawClient) authorize(header string) error {
	c.steps++
	if c.steps > 12 || c.steps > 3 && !strings.HasPrefix(c.fault.name, "auth-") && c.reach.Script == "auth-step-up-forever" {
		return errors.New("enough")
	}
	u, err := url.Parse(c.reach.URL)
	if err != nil {
		return err
	}
	root := u.Scheme + "://" + u.Host
	versioned := func() http.Header {
		if c.is("auth-no-version") {
			return nil
		}
		return http.Header{"Mcp-Protocol-Version": {newest}}
	}
	var prm wire.Raw
	issuer := root
	old := c.reach.Revision == "2025-03-26"
	if !old {
		ats := []string{root + "/.well-known/oauth-protected-resource" + u.Path, root + "/.well-known/oauth-protected-resource"}
		if c.is("auth-root-first") {
			slices.Reverse(ats)
		}
		if at := param(header, "resource_metadata"); at != "" && !c.is("auth-ignores-challenge") {
			ats = []string{at}
		} else if at != "" {
			ats = append(ats, at)
		}
		for _, at := range ats {
			if status, v := c.fetch(at, versioned()); status == 200 {
				prm = v
				break
			}
		}
		if prm == nil {
			return errors.New("no metadata of the resource")
		}
		if r := text(prm.Get("resource")); !strings.HasPrefix(c.reach.URL, r) && !c.is("auth-any-resource") {
			return errors.New("metadata of another server")
		}
		for s := range prm.Get("authorization_servers").Elems() {
			issuer = text(s)
			break
		}
	}
	meta, err := c.issuerMetadata(issuer, versioned)
	if err != nil && !old {
		return err
	}
	if old && meta == nil {
		if c.is("auth-no-defaults") {
			return errors.New("no metadata")
		}
		meta = wire.Raw(`{"issuer":"` + root + `","authorization_endpoint":"` + root + `/authorize","token_endpoint":"` + root + `/token","registration_endpoint":"` + root + `/register","code_challenge_methods_supported":["S256"]}`)
	}
	if text(meta.Get("issuer")) != issuer && !c.is("auth-any-issuer") {
		return errors.New("metadata of another issuer")
	}
	if meta.Get("code_challenge_methods_supported") == nil && !c.is("auth-no-pkce-check") {
		return errors.New("no PKCE")
	}
	id, secret, err := c.register(issuer, meta)
	if err != nil {
		return err
	}
	verifier := "verifier-0123456789-0123456789-0123456789-" + strconv.Itoa(c.steps)
	sum := sha256.Sum256([]byte(verifier))
	state := "state-" + strconv.Itoa(c.steps)
	q := url.Values{
		"response_type": {"code"}, "client_id": {id}, "redirect_uri": {"http://127.0.0.1:33333/callback"}, "state": {state},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "resource": {c.reach.URL},
	}
	scope := param(header, "scope")
	if scope == "" {
		var all []string
		for s := range prm.Get("scopes_supported").Elems() {
			all = append(all, text(s))
		}
		scope = strings.Join(all, " ")
	}
	if c.scope != "" && !c.is("auth-forgets-scope") {
		for _, s := range strings.Fields(c.scope) {
			if !slices.Contains(strings.Fields(scope), s) {
				scope += " " + s
			}
		}
	}
	if scope != "" {
		q.Set("scope", scope)
	}
	switch c.fault.name {
	case "auth-no-resource":
		q.Del("resource")
	case "auth-fragment":
		q.Set("resource", c.reach.URL+"#x")
	case "auth-no-challenge":
		q.Del("code_challenge")
		q.Del("code_challenge_method")
	case "auth-plain-pkce":
		q.Set("code_challenge", verifier)
		q.Set("code_challenge_method", "plain")
	case "auth-no-state":
		q.Del("state")
	case "auth-http-redirect":
		q.Set("redirect_uri", "http://example.com/callback")
	case "auth-other-redirect":
		q.Set("redirect_uri", "http://127.0.0.1:33333/other")
	case "auth-no-client":
		q.Del("client_id")
	case "auth-ignores-scope":
		q.Set("scope", "mcp:read")
	case "auth-own-scope":
		if param(header, "scope") == "" {
			q.Set("scope", "everything")
		}
	case "auth-offline", "auth-offline-unregistered":
		q.Set("scope", strings.TrimSpace(scope+" offline_access"))
	}
	c.scope = q.Get("scope")
	req, _ := http.NewRequestWithContext(c.ctx, http.MethodGet, text(meta.Get("authorization_endpoint"))+"?"+q.Encode(), nil)
	resp, err := c.web.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || resp.StatusCode != http.StatusFound {
		return errors.New("no redirect")
	}
	r := back.Query()
	announced, _ := meta.Get("authorization_response_iss_parameter_supported").Bool()
	switch iss := r.Get("iss"); {
	case r.Has("iss") && iss != issuer && !(c.is("auth-any-iss") || c.is("auth-trims-iss") && strings.TrimSuffix(iss, "/") == issuer):
		if c.is("auth-acts-on-error") && r.Has("error") && c.steps < 3 {
			c.scope = ""
			return c.authorize(strings.Replace(header, "mcp:read", "mcp:write", 1))
		}
		return errors.New("another issuer answers")
	case !r.Has("iss") && announced && !c.is("auth-missing-iss"):
		return errors.New("no issuer answers")
	case r.Get("state") != state && !c.is("auth-any-state") && !c.is("auth-no-state"):
		return errors.New("another state")
	case r.Has("iss") && c.is("auth-refuses-iss"), !r.Has("iss") && c.is("auth-wants-iss"):
		return errors.New("an issuer answers")
	case r.Get("code") == "":
		return errors.New("no code")
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {r.Get("code")}, "redirect_uri": {q.Get("redirect_uri")}, "code_verifier": {verifier}, "resource": {c.reach.URL}, "client_id": {id}}
	if c.is("auth-no-token-resource") {
		form.Del("resource")
	}
	if c.is("auth-no-verifier") {
		form.Set("code_verifier", "wrong")
	}
	method := "none"
	for m := range meta.Get("token_endpoint_auth_methods_supported").Elems() {
		method = text(m)
		break
	}
	if c.is("auth-post-only") {
		method = "client_secret_post"
	}
	req, _ = http.NewRequestWithContext(c.ctx, http.MethodPost, text(meta.Get("token_endpoint")), nil)
	switch method {
	case "client_secret_post":
		form.Set("client_secret", secret)
	case "client_secret_basic":
		req.SetBasicAuth(id, secret)
	}
	req.Body = io.NopCloser(strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err = c.web.Do(req)
	if err != nil {
		return err
	}
	b, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	v, _ := wire.ParseRaw(b)
	token := text(v.Get("access_token"))
	if token == "" {
		return errors.New("no token")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !(c.is("auth-old-token") && c.token != "") {
		c.token = token
	}
	return nil
}

func (c *rawClient) issuerMetadata(issuer string, h func() http.Header) (wire.Raw, error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, err
	}
	root := u.Scheme + "://" + u.Host
	path := strings.TrimSuffix(u.Path, "/")
	ats := []string{root + "/.well-known/oauth-authorization-server" + path, root + "/.well-known/openid-configuration" + path}
	if path != "" {
		ats = append(ats, issuer+"/.well-known/openid-configuration")
	}
	if c.is("auth-openid-first") && path == "" {
		slices.Reverse(ats)
	}
	if c.is("auth-openid-only") {
		ats = ats[1:]
	}
	if c.is("auth-appended-first") && path != "" {
		slices.Reverse(ats)
	}
	for _, at := range ats {
		if status, v := c.fetch(at, h()); status == 200 {
			return v, nil
		}
	}
	return nil, errors.New("no metadata of the issuer")
}

func (c *rawClient) register(issuer string, meta wire.Raw) (id, secret string, err error) {
	takes, _ := meta.Get("client_id_metadata_document_supported").Bool()
	switch {
	case c.is("auth-bare-url") && takes:
		return "https://raw.example.com", "", nil
	case takes && !(c.is("auth-registers-anyway") && meta.Get("registration_endpoint") != nil), c.is("auth-url-anyway"):
		return "https://raw.example.com/client.json", "", nil
	}
	key := issuer
	if c.is("auth-one-registration") {
		key = ""
	}
	if known, ok := c.clientID[key]; ok && !c.is("auth-registers-always") {
		return known[0], known[1], nil
	}
	at := text(meta.Get("registration_endpoint"))
	if at == "" || c.is("auth-no-registration") {
		return "", "", errors.New("no registration")
	}
	method := "none"
	for m := range meta.Get("token_endpoint_auth_methods_supported").Elems() {
		method = text(m)
		break
	}
	body := `{"client_name":"raw","redirect_uris":["http://127.0.0.1:33333/callback"],"application_type":"native","grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"` + method + `"}`
	switch c.fault.name {
	case "auth-no-type":
		body = strings.Replace(body, `"application_type":"native",`, "", 1)
	case "auth-web-type":
		body = strings.Replace(body, `"native"`, `"web"`, 1)
	case "auth-offline-unregistered":
		body = strings.Replace(body, `,"refresh_token"`, "", 1)
	}
	for try := 0; ; try++ {
		resp, err := c.web.Post(at, "application/json", strings.NewReader(body))
		if err != nil {
			return "", "", err
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		v, _ := wire.ParseRaw(b)
		if id := text(v.Get("client_id")); id != "" {
			c.clientID[key] = [2]string{id, text(v.Get("client_secret"))}
			return id, text(v.Get("client_secret")), nil
		}
		if !c.is("auth-registers-endlessly") || try > 9 {
			return "", "", errors.New("the registration was refused")
		}
	}
}
