package client

import (
	"encoding/base64"
	"io"
	"log"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/runtime/wire"
)

// The good server: what it offers, and how it answers.

var silent = log.New(io.Discard, "", 0)

// Keys of _meta.
const (
	versionKey      = "io.modelcontextprotocol/protocolVersion"
	capabilitiesKey = "io.modelcontextprotocol/clientCapabilities"
	subscriptionKey = "io.modelcontextprotocol/subscriptionId"
	serverInfoKey   = "io.modelcontextprotocol/serverInfo"
)

func atLeastJune(rev string) bool { return check.AtLeast(rev, "2025-06-18") }

// furnish gives the play what the good server offers in its revision.
func (p *Play) furnish() {
	june, march := atLeastJune(p.Speaks), check.AtLeast(p.Speaks, "2025-03-26")
	title := func(s string) string {
		if !june {
			return ""
		}
		return `,"title":` + string(wire.Quote(s))
	}
	readOnly := ""
	if march {
		readOnly = `,"annotations":{"readOnlyHint":true,"openWorldHint":false}`
	}
	out := ""
	if june {
		out = `,"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}`
	}
	p.Info = `{"name":"goldwire-scripted"` + title("Goldwire's scripted server") + `,"version":"1.0.0"}`
	p.Instructions = "Every tool here is harmless."
	p.Tools = []string{
		`{"name":"add_numbers"` + title("Add") + `,"description":"Adds two numbers.","inputSchema":{"type":"object","properties":{"a":{"type":"number","description":"The first number"},"b":{"type":"number","description":"The second number"}},"required":["a","b"]}` + out + readOnly + `}`,
		`{"name":"echo"` + title("Echo") + `,"description":"Says again what it is told.","inputSchema":{"type":"object","properties":{"message":{"type":"string","description":"What to say"}},"required":["message"]}` + readOnly + `}`,
		`{"name":"greeting"` + title("Greeting") + `,"description":"Says hello.","inputSchema":{"type":"object","properties":{}}` + readOnly + `}`,
	}
	p.Prompts = []string{
		`{"name":"summary"` + title("Summary") + `,"description":"Asks for a summary."}`,
		`{"name":"letter"` + title("Letter") + `,"description":"Asks for a letter to somebody.","arguments":[{"name":"name","description":"To whom","required":true}]}`,
	}
	p.Resources = []string{
		`{"uri":"memo://readme","name":"readme"` + title("Read me") + `,"description":"A short text.","mimeType":"text/plain"}`,
		`{"uri":"memo://pixel","name":"pixel"` + title("Pixel") + `,"description":"A small picture.","mimeType":"image/png"}`,
	}
	p.Templates = []string{
		`{"uriTemplate":"memo://notes/{name}","name":"notes"` + title("Notes") + `,"description":"Notes by their names.","mimeType":"text/plain"}`,
	}
	p.PageSize = 2
	p.Hints = `"ttlMs":60000,"cacheScope":"private"`
	completions := ""
	if march {
		completions = `,"completions":{}`
	}
	logging := `,"logging":{}`
	if p.Modern() {
		logging = ""
	}
	p.Capabilities = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}` + completions + logging + `}`
	if march && !p.Modern() {
		p.Session = token()
	}
}

var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

type fault struct {
	code int64
	text string
	data string
	bad  bool // over HTTP it is told by status 400
}

// whole adds to the members of a result what every one of that method has in
// the revision.
func (p *Play) whole(method, members string) string {
	if !p.Modern() {
		return members
	}
	members = strings.TrimSpace(members)
	rest := strings.TrimSpace(strings.TrimPrefix(members, "{"))
	v := wire.Raw(members)
	add := ""
	put := func(name, member string) {
		if v.Get(name) == nil {
			add += member + ","
		}
	}
	put("resultType", `"resultType":"complete"`)
	put("_meta", `"_meta":{"`+serverInfoKey+`":`+p.Info+`}`)
	switch method {
	case "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read":
		if p.Hints != "" {
			put("ttlMs", p.Hints)
		}
	}
	if rest == "}" {
		add = strings.TrimSuffix(add, ",")
	}
	return "{" + add + rest
}

// withMeta adds a member to the _meta of params that have none.
func withMeta(params, key, value string) string {
	meta := `"_meta":{` + string(wire.Quote(key)) + `:` + value + `}`
	if rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(params), "{")); rest != "" && rest != "}" {
		return "{" + meta + "," + rest
	}
	return "{" + meta + "}"
}

func metaText(c *Call, key string) string {
	s, _ := c.Meta(key).Str()
	return s
}

// good gives the result of the good server, without what is common to all.
func (p *Play) good(c *Call) (string, *fault) {
	if c.ID == nil {
		return "", nil
	}
	if p.Modern() {
		if f := p.wellMeant(c); f != nil {
			return "", f
		}
		if c.Exchange != nil && p.refused(c) {
			return "", nil
		}
	}
	if p.Modern() {
		if v := c.Params.Get("inputResponses"); v != nil && v.Kind() != wire.KindObject {
			return "", &fault{code: -32602, text: "Invalid params: inputResponses is no object"}
		}
		if v := c.Params.Get("requestState"); v != nil && v.Kind() != wire.KindString {
			return "", &fault{code: -32602, text: "Invalid params: requestState is no string"}
		}
	}
	members, f := p.answer(c)
	if f != nil {
		return "", f
	}
	if members == "" { // held, or answered
		return "", nil
	}
	return p.whole(c.Method, members), nil
}

// wellMeant holds the metadata of a request of a stateless revision.
func (p *Play) wellMeant(c *Call) *fault {
	version := c.Meta(versionKey)
	asked, ok := version.Str()
	supported := func(requested string) *fault {
		return &fault{code: -32022, text: "Unsupported protocol version", data: `{"supported":[` + string(wire.Quote(p.Speaks)) + `],"requested":` + requested + `}`}
	}
	switch {
	case version == nil && c.Method == "initialize":
		requested := string(c.Params.Get("protocolVersion"))
		if _, ok := c.Params.Get("protocolVersion").Str(); !ok {
			requested = `""`
		}
		return supported(requested)
	case !ok:
		return &fault{code: -32602, text: "Invalid params: _meta has no " + versionKey, bad: true}
	case c.Meta(capabilitiesKey).Kind() != wire.KindObject:
		return &fault{code: -32602, text: "Invalid params: _meta has no " + capabilitiesKey, bad: true}
	case asked != p.Speaks:
		return supported(string(version))
	}
	return nil
}

func unknown(method string) *fault { return &fault{code: -32601, text: "Method not found: " + method} }

func (p *Play) has(capability string) bool { return wire.Raw(p.Capabilities).Get(capability) != nil }

// answer gives the members of the result that are the method's own.
func (p *Play) answer(c *Call) (string, *fault) {
	need := func(capability string) bool { return p.has(capability) }
	switch c.Method {
	case "initialize":
		if p.Modern() {
			return "", unknown(c.Method)
		}
		if _, ok := c.Params.Get("protocolVersion").Str(); p.Strict && (!ok || c.Params.Get("capabilities").Kind() != wire.KindObject || c.Params.Get("clientInfo").Kind() != wire.KindObject) {
			return "", &fault{code: -32602, text: "Invalid params: want protocolVersion, capabilities and clientInfo"}
		}
		return `{"protocolVersion":` + string(wire.Quote(p.Speaks)) + `,"capabilities":` + p.Capabilities + `,"serverInfo":` + p.Info + p.instructions() + `}`, nil
	case "server/discover":
		if !p.Modern() {
			return "", unknown(c.Method)
		}
		return `{"supportedVersions":[` + string(wire.Quote(p.Speaks)) + `],"capabilities":` + p.Capabilities + p.instructions() + `}`, nil
	case "ping":
		if p.Modern() {
			return "", unknown(c.Method)
		}
		return `{}`, nil
	case "logging/setLevel":
		if p.Modern() || !need("logging") {
			return "", unknown(c.Method)
		}
		level, _ := c.Params.Get("level").Str()
		if !slices.Contains(logLevels, level) {
			return "", &fault{code: -32602, text: "Invalid params: no such level"}
		}
		return `{}`, nil
	case "resources/subscribe", "resources/unsubscribe":
		if p.Modern() || !need("resources") {
			return "", unknown(c.Method)
		}
		return `{}`, nil
	case "subscriptions/listen":
		if !p.Modern() {
			return "", unknown(c.Method)
		}
		return p.listenTo(c)
	case "tools/list":
		return p.list(c, "tools", "tools", p.Tools)
	case "prompts/list":
		return p.list(c, "prompts", "prompts", p.Prompts)
	case "resources/list":
		return p.list(c, "resources", "resources", p.Resources)
	case "resources/templates/list":
		return p.list(c, "resources", "resourceTemplates", p.Templates)
	case "tools/call":
		if !need("tools") {
			return "", unknown(c.Method)
		}
		return p.callTool(c)
	case "prompts/get":
		if !need("prompts") {
			return "", unknown(c.Method)
		}
		return p.getPrompt(c)
	case "resources/read":
		if !need("resources") {
			return "", unknown(c.Method)
		}
		return p.read(c)
	case "completion/complete":
		if !need("completions") && check.AtLeast(p.Speaks, "2025-03-26") {
			return "", unknown(c.Method)
		}
		ref, arg := c.Params.Get("ref"), c.Params.Get("argument")
		_, hasName := arg.Get("name").Str()
		_, hasValue := arg.Get("value").Str()
		switch kind := check.Name(ref, "type"); {
		case !hasName || !hasValue,
			kind == "ref/prompt" && !find(p.Prompts, "name", check.Name(ref, "name")),
			kind == "ref/resource" && !find(p.Templates, "uriTemplate", check.Name(ref, "uri")) && !find(p.Resources, "uri", check.Name(ref, "uri")),
			kind != "ref/prompt" && kind != "ref/resource":
			return "", &fault{code: -32602, text: "Invalid params: there is nothing to complete"}
		}
		return `{"completion":{"values":["one","two"],"total":2,"hasMore":false}}`, nil
	}
	return "", unknown(c.Method)
}

func (p *Play) instructions() string {
	if p.Instructions == "" {
		return ""
	}
	return `,"instructions":` + string(wire.Quote(p.Instructions))
}

// cursor is an opaque name of an offset, good for one session where there are
// sessions.
func (p *Play) cursor(c *Call, at int) string {
	session := ""
	if !p.Modern() {
		session = " in " + c.way.key()
	}
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(at) + session))
}

func (p *Play) list(c *Call, capability, member string, entries []string) (string, *fault) {
	if !p.has(capability) {
		return "", unknown(c.Method)
	}
	from := 0
	if v := c.Params.Get("cursor"); v != nil {
		text, _ := v.Str()
		if p.PageSize > 0 {
			for at := p.PageSize; at < len(entries); at += p.PageSize {
				if text == p.cursor(c, at) {
					from = at
				}
			}
		}
		if from == 0 {
			return "", &fault{code: -32602, text: "Invalid params: no such cursor"}
		}
	}
	to, next := len(entries), ""
	if p.PageSize > 0 && from+p.PageSize < to {
		to = from + p.PageSize
		next = `,"nextCursor":` + string(wire.Quote(p.cursor(c, to)))
	}
	return `{` + string(wire.Quote(member)) + `:[` + strings.Join(entries[from:to], ",") + `]` + next + `}`, nil
}

func find(entries []string, member, value string) bool {
	for _, e := range entries {
		if check.Name(wire.Raw(e), member) == value {
			return true
		}
	}
	return false
}

// callTool answers for each listed tool: add_numbers adds, any other one says
// its name.
func (p *Play) callTool(c *Call) (string, *fault) {
	name := c.Name("name")
	if !find(p.Tools, "name", name) {
		return "", &fault{code: -32602, text: "Unknown tool: " + name}
	}
	args := c.Params.Get("arguments")
	if args != nil && args.Kind() != wire.KindObject {
		return "", &fault{code: -32602, text: "Invalid params: the arguments are no object"}
	}
	if !c.quiet {
		c.Progress("1")
	}
	switch name {
	case "add_numbers":
		a, aok := args.Get("a").Float()
		b, bok := args.Get("b").Float()
		if !aok || !bok {
			return `{"content":[{"type":"text","text":"a and b have to be numbers"}],"isError":true}`, nil
		}
		sum := strconv.FormatFloat(a+b, 'g', -1, 64)
		structured := ""
		if atLeastJune(p.Speaks) {
			structured = `,"structuredContent":{"sum":` + sum + `}`
		}
		if structured != "" { // and again for clients that do not know of it
			sum = `{"sum":` + sum + `}`
		}
		return `{"content":[{"type":"text","text":` + string(wire.Quote(sum)) + `}]` + structured + `}`, nil
	case "echo":
		text, ok := args.Get("message").Str()
		if !ok {
			return `{"content":[{"type":"text","text":"message has to be a string"}],"isError":true}`, nil
		}
		return `{"content":[{"type":"text","text":` + string(wire.Quote(text)) + `}]}`, nil
	}
	return `{"content":[{"type":"text","text":` + string(wire.Quote("This is "+name+".")) + `}]}`, nil
}

func (p *Play) getPrompt(c *Call) (string, *fault) {
	name := c.Name("name")
	if !find(p.Prompts, "name", name) {
		return "", &fault{code: -32602, text: "Unknown prompt: " + name}
	}
	to, given := c.Params.Get("arguments").Get("name").Str()
	if name == "letter" && !given {
		return "", &fault{code: -32602, text: "Invalid params: the argument name is missing"}
	}
	return `{"description":"A prompt.","messages":[{"role":"user","content":{"type":"text","text":` + string(wire.Quote(strings.TrimSpace("Please write the "+name+". "+to))) + `}}]}`, nil
}

// pixel is a PNG picture of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

func (p *Play) read(c *Call) (string, *fault) {
	uri, ok := c.Params.Get("uri").Str()
	if !ok {
		return "", &fault{code: -32602, text: "Invalid params: uri is missing"}
	}
	quoted := string(wire.Quote(uri))
	switch {
	case uri == "memo://pixel":
		return `{"contents":[{"uri":` + quoted + `,"mimeType":"image/png","blob":"` + pixel + `"}]}`, nil
	case find(p.Resources, "uri", uri), strings.HasPrefix(uri, "memo://notes/"):
		return `{"contents":[{"uri":` + quoted + `,"mimeType":"text/plain","text":"This is a text."}]}`, nil
	}
	code := int64(-32602)
	if !p.Modern() {
		code = -32002
	}
	return "", &fault{code: code, text: "Resource not found", data: `{"uri":` + quoted + `}`}
}

// listenTo opens a subscription: it is acknowledged, and stays open.
func (p *Play) listenTo(c *Call) (string, *fault) {
	if c.Exchange != nil {
		c.Exchange.Stream()
	}
	asked := c.Params.Get("notifications")
	if asked.Kind() != wire.KindObject {
		return "", &fault{code: -32602, text: "Invalid params: notifications is missing"}
	}
	var granted []string
	for k, v := range asked.Members() {
		switch on, _ := v.Bool(); {
		case on && (k == "toolsListChanged" || k == "promptsListChanged" || k == "resourcesListChanged"):
			granted = append(granted, string(wire.Quote(k))+":true")
		case k == "resourceSubscriptions" && v.Kind() == wire.KindArray:
			granted = append(granted, string(wire.Quote(k))+":"+string(v))
		}
	}
	p.mu.Lock()
	p.listens = append(p.listens, c) // who hears of it may end the server at once
	p.mu.Unlock()
	c.Notify("notifications/subscriptions/acknowledged", withMeta(`{"notifications":{`+strings.Join(granted, ",")+`}}`, subscriptionKey, string(c.ID)))
	p.mu.Lock()
	c.acknowledged = true
	p.mu.Unlock()
	p.becomeReady()
	c.Hold()
	return "", nil
}

// DecodeHeader gives the text that a header of a stateless revision stands for:
// it may be written in Base64. False when it is none.
func DecodeHeader(value string) (string, bool) {
	const before, after = "=?base64?", "?="
	if !strings.HasPrefix(value, before) || !strings.HasSuffix(value, after) || len(value) < len(before)+len(after) {
		return value, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(value[len(before) : len(value)-len(after)])
	return string(b), err == nil && utf8.Valid(b)
}
