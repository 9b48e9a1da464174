package checktest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

const (
	metaVersion = "io.modelcontextprotocol/protocolVersion"
	metaCaps    = "io.modelcontextprotocol/clientCapabilities"
	metaLevel   = "io.modelcontextprotocol/logLevel"
	metaSub     = "io.modelcontextprotocol/subscriptionId"
	metaServer  = "io.modelcontextprotocol/serverInfo"
)

// Levels are the names of the log levels, least severe first.
var Levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// request answers a request: the text of a result, or an error. Both empty is
// no answer for now.
func (c *Conn) request(r *Request) (string, error) {
	if r.Modern || c.Revision == "" && r.Method != "initialize" && r.Method != "ping" && c.Server.Speaks("2026-07-28") {
		return c.modern(r)
	}
	if c.Revision == "" && r.Method != "initialize" && r.Method != "ping" {
		return "", fail(-32600, "initialize first")
	}
	switch r.Method {
	case "initialize":
		return c.initialize(r)
	case "ping":
		return "{}", nil
	case "logging/setLevel":
		if !c.Server.Has("logging") {
			break
		}
		level, _ := r.Params.Get("level").Str()
		if !slices.Contains(Levels, level) {
			return "", fail(-32602, "no such level")
		}
		c.Level = level
		return "{}", nil
	case "resources/subscribe", "resources/unsubscribe":
		if !c.Server.Has("resources") {
			break
		}
		uri, err := c.uri(r)
		if err != nil {
			return "", err
		}
		c.subs[uri] = r.Method == "resources/subscribe"
		if c.subs[uri] {
			c.Line(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":` + quote(uri) + `}}`)
		}
		return "{}", nil
	case "tasks/get", "tasks/result", "tasks/cancel", "tasks/list":
		if c.Revision != tasksRevision || !c.Server.Has("tasks") {
			break
		}
		return c.task(r)
	}
	return c.feature(r)
}

func (c *Conn) initialize(r *Request) (string, error) {
	offered, ok := r.Params.Get("protocolVersion").Str()
	if !ok || r.Params.Get("capabilities").Kind() != wire.KindObject || r.Params.Get("clientInfo").Kind() != wire.KindObject {
		return "", fail(-32602, "initialize lacks a member")
	}
	legacy := c.Server.versions(false)
	if len(legacy) == 0 {
		return "", &rpcError{-32602, "this server speaks " + strings.Join(c.Server.versions(true), ", "), ""}
	}
	c.client = r.Params.Get("capabilities")
	c.Revision = legacy[len(legacy)-1]
	if slices.Contains(legacy, offered) {
		c.Revision = offered
	}
	return `{"protocolVersion":` + quote(c.Revision) + `,"capabilities":` + c.Server.capabilities(c.Revision) + `,"serverInfo":` + serverInfo(c.Revision) + `}`, nil
}

func serverInfo(rev string) string {
	icons := ""
	if rev >= "2025-11-25" {
		icons = `,"icons":[{"src":"data:image/png;base64,iVBORw0KGgo=","mimeType":"image/png","sizes":["48x48"],"theme":"light"}]`
	}
	return `{"name":"checktest","version":"1.0.0"` + icons + `}`
}

func (s *Server) capabilities(rev string) string {
	caps := map[string]any{}
	if s.Has("tools") {
		caps["tools"] = map[string]any{"listChanged": true}
	}
	if s.Has("prompts") {
		caps["prompts"] = map[string]any{"listChanged": true}
	}
	if s.Has("resources") {
		caps["resources"] = map[string]any{"subscribe": true, "listChanged": true}
	}
	if s.Has("logging") {
		caps["logging"] = map[string]any{}
	}
	if s.Has("completions") && rev >= "2025-03-26" {
		caps["completions"] = map[string]any{}
	}
	if s.Has("tasks") && rev == tasksRevision {
		caps["tasks"] = map[string]any{"list": map[string]any{}, "cancel": map[string]any{}, "requests": map[string]any{"tools": map[string]any{"call": map[string]any{}}}}
	}
	return obj(caps)
}

// taskIDs are those of the tasks that a connection makes, one after the other.
var taskIDs = []string{"9f1c2e7ab04d4c6f8e35d17a60b2c981", "c3b8d5f0e2a14796b1d94e0f7a5c6823", "07e4a9d13c5f4b28a6f0e8d27b91c54e", "5d2b70c8f9e146a3b7c5d10e4f8a9b36"}

// tasksRevision is the only one that has tasks.
const tasksRevision = "2025-11-25"

// feature answers what is the same in both eras.
func (c *Conn) feature(r *Request) (string, error) {
	area, _, _ := strings.Cut(r.Method, "/")
	if area == "completion" {
		area = "completions"
	}
	if !c.Server.Has(area) {
		return "", fail(-32601, "method not found")
	}
	switch r.Method {
	case "tools/list":
		return c.page(r, "tools", c.tools(r))
	case "prompts/list":
		return c.page(r, "prompts", []string{
			`{"name":"plain","description":"No arguments"}`,
			`{"name":"greet","description":"Greets","arguments":[{"name":"who","required":true},{"name":"how"}]}`,
			`{"name":"picture"}`,
			`{"name":"doc"}`,
		})
	case "resources/list":
		modified := ""
		if c.rev(r) >= "2025-06-18" {
			modified = `,"lastModified":"2025-01-12T15:00:58Z"`
		}
		return c.page(r, "resources", []string{
			`{"uri":"test://text","name":"text","mimeType":"text/plain"}`,
			`{"uri":"test://blob","name":"blob","mimeType":"image/png","annotations":{"audience":["user"],"priority":0.5` + modified + `}}`,
			`{"uri":"file:///srv/docs/readme.txt","name":"readme","mimeType":"text/plain"}`,
		})
	case "resources/templates/list":
		return c.page(r, "resourceTemplates", []string{`{"uriTemplate":"test://item/{id}","name":"item"}`})
	case "tools/call":
		return c.callTool(r)
	case "prompts/get":
		return c.getPrompt(r)
	case "resources/read":
		uri, err := c.uri(r)
		if err != nil {
			return "", err
		}
		if uri == "test://blob" {
			return `{"contents":[{"uri":"test://blob","mimeType":"image/png","blob":"` + png + `"}]}`, nil
		}
		return `{"contents":[{"uri":` + quote(uri) + `,"mimeType":"text/plain","text":"content"}]}`, nil
	case "completion/complete":
		return c.complete(r)
	}
	return "", fail(-32601, "method not found")
}

// page serves two entries at a time.
func (c *Conn) page(r *Request, member string, all []string) (string, error) {
	const size = 2
	from := 0
	if cur := r.Params.Get("cursor"); cur != nil {
		s, ok := cur.Str()
		n, err := strconv.Atoi(strings.TrimPrefix(s, "after-"))
		if !ok || err != nil || n <= 0 || n >= len(all) {
			return "", fail(-32602, "no such cursor")
		}
		from = n
	}
	to := min(from+size, len(all))
	next := ""
	if to < len(all) {
		next = `,"nextCursor":"after-` + strconv.Itoa(to) + `"`
	}
	return `{` + quote(member) + `:[` + strings.Join(all[from:to], ",") + `]` + next + `}`, nil
}

func (c *Conn) rev(r *Request) string {
	if r.Modern {
		return "2026-07-28"
	}
	return c.Revision
}

func (c *Conn) tools(r *Request) []string {
	rev := c.rev(r)
	ro, out := "", ""
	if rev >= "2025-03-26" {
		ro = `,"annotations":{"readOnlyHint":true}`
	}
	if rev >= "2025-06-18" {
		out = `,"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}`
	}
	tools := []string{
		`{"name":"hello","description":"Says hello","inputSchema":{"type":"object"}` + ro + `}`,
		`{"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"integer","minimum":3}},"required":["a","b"]}` + out + ro + `}`,
		`{"name":"picture","inputSchema":{"type":"object","properties":{}}` + ro + `}`,
		`{"name":"work","description":"Reports progress and logs","inputSchema":{"type":"object"}` + ro + `}`,
		`{"name":"slow","description":"Takes its time","inputSchema":{"type":"object"}` + ro + `}`,
		`{"name":"danger","description":"Not to be called","inputSchema":{"type":"object"}}`,
		`{"name":"ask","description":"Asks the client","inputSchema":{"type":"object"}` + ro + `}`,
	}
	if rev >= "2025-06-18" && !r.Modern {
		tools = append(tools, `{"name":"form","description":"Asks for a name and waits for it","inputSchema":{"type":"object"}`+ro+`}`)
	}
	if rev == tasksRevision {
		tools = append(tools, `{"name":"visit","description":"Wants a URL visited first","inputSchema":{"type":"object"}`+ro+`}`)
	}
	if rev == tasksRevision && c.Server.Has("tasks") {
		tools = append(tools,
			`{"name":"job","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}`+ro+`}`,
			`{"name":"long-job","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}`+ro+`}`)
	}
	return tools
}

func (c *Conn) callTool(r *Request) (string, error) {
	name, ok := r.Params.Get("name").Str()
	args := r.Params.Get("arguments")
	if !ok || args != nil && args.Kind() != wire.KindObject {
		return "", fail(-32602, "tools/call wants a name and an object of arguments")
	}
	rev := c.rev(r)
	if rev == tasksRevision && c.Server.Has("tasks") {
		asTask := r.Params.Get("task") != nil
		switch {
		case asTask && name != "job" && name != "long-job", !asTask && name == "long-job":
			return "", fail(-32601, "not as a task, or only as one")
		case asTask:
			id := taskIDs[len(c.tasks)%len(taskIDs)]
			c.tasks = append(c.tasks, id)
			if token := r.Meta.Get("progressToken"); token != nil {
				c.State["token "+id] = token
			}
			return `{"task":` + c.taskObject(id, "working") + `}`, nil
		case name == "job":
			return `{"content":[{"type":"text","text":"done"}]}`, nil
		}
	}
	switch name {
	case "visit":
		return "", &rpcError{-32042, "visit the page first", `{"elicitations":[{"mode":"url","message":"sign in","url":"https://example.com/in","elicitationId":"1"}]}`}
	case "hello":
		if r.Modern {
			return `{"content":[{"type":"text","text":"hello"}]}`, nil
		}
		return `{"content":[{"type":"text","text":"hello"}],"_meta":{"com.example/x":1}}`, nil
	case "form":
		if r.Modern || c.client.Get("elicitation") == nil {
			return `{"content":[{"type":"text","text":"nobody to ask"}]}`, nil
		}
		c.asked++
		id := `"form-` + strconv.Itoa(c.asked) + `"`
		c.waiting[id] = r
		c.Line(`{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}`)
		return "", nil
	case "ask":
		c.ask()
		return `{"content":[{"type":"text","text":"asked"}]}`, nil
	case "add":
		a, okA := args.Get("a").Float()
		b, okB := args.Get("b").Int()
		if !okA || !okB {
			return `{"content":[{"type":"text","text":"a and b are numbers"}],"isError":true}`, nil
		}
		sum := `{"sum":` + strconv.FormatFloat(a+float64(b), 'g', -1, 64) + `}`
		structured := ""
		if rev >= "2025-06-18" {
			structured = `,"structuredContent":` + sum
		}
		return `{"content":[{"type":"text","text":` + quote(sum) + `}]` + structured + `}`, nil
	case "picture":
		return `{"content":[{"type":"image","mimeType":"image/png","data":"` + png + `"},{"type":"resource","resource":{"uri":"test://text","mimeType":"text/plain","text":"content"}}]}`, nil
	case "work":
		if token := r.Meta.Get("progressToken"); token != nil {
			for i := 1; i <= 3; i++ {
				c.Line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":3,"message":"step %d"}}`, token, i, i))
			}
		}
		c.log(r, "warning")
		c.Stderr("working: äöü")
		if !r.Modern {
			c.Line(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		return `{"content":[{"type":"text","text":"done"}]}`, nil
	case "slow":
		ctx, cancel := context.WithCancel(c.Context)
		c.mu.Lock()
		c.running[string(r.ID)] = cancel
		c.mu.Unlock()
		c.slow.Go(func() {
			select {
			case <-ctx.Done():
			case <-time.After(400 * time.Millisecond):
				result := `{"content":[{"type":"text","text":"at last"}]}`
				if r.Modern {
					result = finish(result, "")
				}
				c.Line(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":` + result + `}`)
			}
		})
		return "", nil
	case "danger":
		c.State["danger"] = true
		return `{"content":[]}`, nil
	}
	return "", fail(-32602, "no such tool")
}

// log sends a log message when the peer asked for its level.
func (c *Conn) log(r *Request, level string) {
	if !c.Server.Has("logging") {
		return
	}
	floor := c.Level
	if r.Modern {
		floor, _ = r.Meta.Get(metaLevel).Str()
		if floor == "" {
			return
		}
	}
	if floor == "" || slices.Index(Levels, level) >= slices.Index(Levels, floor) {
		c.Line(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":` + quote(level) + `,"logger":"work","data":"working"}}`)
	}
}

func (c *Conn) getPrompt(r *Request) (string, error) {
	name, _ := r.Params.Get("name").Str()
	for _, v := range r.Params.Get("arguments").Members() {
		if v.Kind() != wire.KindString {
			return "", fail(-32602, "arguments are strings")
		}
	}
	message := func(content string) string {
		return `{"messages":[{"role":"user","content":` + content + `}]}`
	}
	switch name {
	case "plain":
		return message(`{"type":"text","text":"hi"}`), nil
	case "greet":
		who, ok := r.Params.Get("arguments").Get("who").Str()
		if !ok {
			return "", fail(-32602, "who is missing")
		}
		return message(`{"type":"text","text":` + quote("hello "+who) + `}`), nil
	case "doc":
		return message(`{"type":"resource","resource":{"uri":"test://text","mimeType":"text/plain","text":"content"}}`), nil
	case "picture":
		return message(`{"type":"image","mimeType":"image/png","data":"` + png + `"}`), nil
	}
	return "", fail(-32602, "no such prompt")
}

func (c *Conn) uri(r *Request) (string, error) {
	uri, ok := r.Params.Get("uri").Str()
	if !ok {
		return "", fail(-32602, "uri is missing")
	}
	id, item := strings.CutPrefix(uri, "test://item/")
	if uri == "test://text" || uri == "test://blob" || uri == "file:///srv/docs/readme.txt" || item && id != "" && !strings.ContainsAny(id, "/ ") {
		return uri, nil
	}
	code := -32002
	if r.Modern {
		code = -32602
	}
	return "", &rpcError{code, "no such resource", `{"uri":` + quote(uri[:min(len(uri), 100)]) + `}`}
}

func (c *Conn) complete(r *Request) (string, error) {
	ref := r.Params.Get("ref")
	kind, _ := ref.Get("type").Str()
	name, _ := ref.Get("name").Str()
	uri, _ := ref.Get("uri").Str()
	arg := r.Params.Get("argument")
	_, named := arg.Get("name").Str()
	value, valued := arg.Get("value").Str()
	switch {
	case kind == "ref/prompt" && slices.Contains([]string{"plain", "greet", "picture", "doc"}, name):
	case kind == "ref/resource" && (uri == "test://item/{id}" || strings.HasPrefix(uri, "test://item/")):
	default:
		return "", fail(-32602, "no such reference")
	}
	if !named || !valued {
		return "", fail(-32602, "argument is missing")
	}
	for _, v := range r.Params.Get("context").Get("arguments").Members() {
		if v.Kind() != wire.KindString {
			return "", fail(-32602, "context arguments are strings")
		}
	}
	if len(value) > 100 {
		return `{"completion":{"values":[]}}`, nil
	}
	return `{"completion":{"values":["one","two"],"total":2,"hasMore":false}}`, nil
}

func (c *Conn) notification(r *Request) {
	if r.Method == "notifications/cancelled" {
		id := r.Params.Get("requestId")
		c.unlisten(id)
		c.mu.Lock()
		cancel := c.running[string(id)]
		c.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	}
}

// reply takes the client's answer to a request of the server, and answers the
// call that waited for it.
func (c *Conn) reply(v wire.Raw) {
	id := string(v.Get("id"))
	r := c.waiting[id]
	if r == nil {
		return
	}
	delete(c.waiting, id)
	result := `{"content":[{"type":"text","text":"no name"}]}`
	if action, _ := v.Get("result").Get("action").Str(); action == "accept" {
		name, ok := v.Get("result").Get("content").Get("name").Str()
		result = `{"content":[{"type":"text","text":` + quote("hello "+name) + `}]}`
		if !ok {
			result = `{"content":[{"type":"text","text":"that is no name"}],"isError":true}`
		}
	}
	if a := c.output(r, `{"jsonrpc":"2.0","id":`+string(r.ID)+`,"result":`+result+`}`); a != "" {
		c.Line(a)
	}
}

// toolTalk is a request for sampling in which the model has used a tool.
const toolTalk = `"messages":[{"role":"user","content":{"type":"text","text":"sum"}},` +
	`{"role":"assistant","content":[{"type":"tool_use","id":"use-1","name":"add","input":{}}]},` +
	`{"role":"user","content":[{"type":"tool_result","toolUseId":"use-1","content":[{"type":"text","text":"3"}]}]}],` +
	`"maxTokens":5,"tools":[{"name":"add","inputSchema":{"type":"object"}}]`

// ask sends what requests the client can take and does not wait for answers.
func (c *Conn) ask() {
	next := func() string {
		c.asked++
		return `"ask-` + strconv.Itoa(c.asked) + `"`
	}
	if c.client.Get("sampling") != nil {
		id, params := next(), `"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5`
		if c.client.Get("sampling").Get("tools") != nil {
			params = toolTalk
		}
		c.Line(`{"jsonrpc":"2.0","id":` + id + `,"method":"sampling/createMessage","params":{` + params + `,"_meta":{"progressToken":` + id + `}}}`)
		c.Line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
	}
	if c.client.Get("roots") != nil {
		c.Line(`{"jsonrpc":"2.0","id":` + next() + `,"method":"roots/list"}`)
	}
	if c.client.Get("elicitation").Get("url") != nil {
		id := next()
		c.Line(`{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":{"mode":"url","message":"log in","url":"https://example.com/in?lang=en","elicitationId":` + id + `}}`)
		c.Line(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":` + id + `}}`)
	}
	if c.client.Get("elicitation") != nil {
		c.Line(`{"jsonrpc":"2.0","id":` + next() + `,"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}`)
	}
}

func (c *Conn) taskObject(id, status string) string {
	return `{"taskId":` + quote(id) + `,"status":` + quote(status) + `,"createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":60000,"pollInterval":10}`
}

// task answers the methods of tasks. A task is done when it was asked for once,
// or its result was.
func (c *Conn) task(r *Request) (string, error) {
	if r.Method == "tasks/list" {
		if r.Params.Get("cursor") != nil {
			return "", fail(-32602, "no such cursor")
		}
		var all []string
		for _, id := range c.tasks {
			all = append(all, c.taskObject(id, c.status(id)))
		}
		return `{"tasks":[` + strings.Join(all, ",") + `]}`, nil
	}
	id, _ := r.Params.Get("taskId").Str()
	if !slices.Contains(c.tasks, id) {
		return "", fail(-32602, "no such task")
	}
	switch r.Method {
	case "tasks/result":
		if c.status(id) == "cancelled" {
			return "", fail(-32602, "it was cancelled")
		}
		c.State["status "+id] = "completed"
		return `{"content":[{"type":"text","text":"done"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":` + quote(id) + `}}}`, nil
	case "tasks/cancel":
		if c.status(id) != "working" {
			return "", fail(-32602, "it is done")
		}
		c.State["status "+id] = "cancelled"
		return c.taskObject(id, "cancelled"), nil
	}
	switch token, _ := c.State["token "+id].(wire.Raw); {
	case c.status(id) != "working":
	case c.State["asked "+id] == nil:
		c.State["asked "+id] = true
		if token != nil {
			c.Line(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(token) + `,"progress":1,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":` + quote(id) + `}}}}`)
		}
	default:
		c.State["status "+id] = "completed"
		c.Line(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":` + c.taskObject(id, "completed") + `}`)
	}
	return c.taskObject(id, c.status(id)), nil
}

// status is that of a task: working unless something was said of it.
func (c *Conn) status(id string) string {
	if s, ok := c.State["status "+id].(string); ok {
		return s
	}
	return "working"
}
