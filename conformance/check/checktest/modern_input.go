package checktest

import (
	"strings"
)

const (
	metaTrace = `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01","tracestate":"a=1,b=2","baggage":"k=v"`
	askState  = `"round-1"`
)

// special answers what a stateless revision answers in its own way; both empty
// is for everything else.
func (c *Conn) special(r *Request) (string, error) {
	if !c.Server.Has("tools") {
		return "", nil
	}
	name, _ := r.Params.Get("name").Str()
	switch {
	case r.Method == "tools/list":
		return c.page(r, "tools", append(c.tools(r),
			`{"name":"region","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"inner":{"type":"object","properties":{"level":{"type":"integer","x-mcp-header":"Level"}}}}},"annotations":{"readOnlyHint":true}}`))
	case r.Method == "tools/call" && name == "region":
		return `{"content":[{"type":"text","text":"here"}],"resultType":"complete","_meta":{` + metaTrace + `,"` + metaServer + `":` + serverInfo("2026-07-28") + `}}`, nil
	case r.Method == "tools/call" && name == "ask":
		return c.question(r)
	}
	return "", nil
}

// question asks for all that the client of this request can give.
func (c *Conn) question(r *Request) (string, error) {
	if state := r.Params.Get("requestState"); state != nil && r.Params.Get("inputResponses") != nil {
		if string(state) != askState {
			return "", fail(-32602, "no such state")
		}
		return `{"content":[{"type":"text","text":"thank you"}]}`, nil
	}
	caps := r.Meta.Get(metaCaps)
	var in []string
	if el := caps.Get("elicitation"); el != nil {
		if el.Get("form") != nil || el.Get("url") == nil {
			in = append(in, `"name":{"method":"elicitation/create","params":{"mode":"form","message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}`)
		}
		if el.Get("url") != nil {
			in = append(in, `"login":{"method":"elicitation/create","params":{"mode":"url","message":"Log in","url":"https://example.com/login"}}`)
		}
	}
	if caps.Get("sampling") != nil {
		in = append(in, `"poem":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"A poem"}}],"maxTokens":10}}`)
	}
	if caps.Get("sampling").Get("tools") != nil {
		in = append(in, `"sum":{"method":"sampling/createMessage","params":{`+toolTalk+`}}`)
	}
	if caps.Get("roots") != nil {
		in = append(in, `"roots":{"method":"roots/list"}`)
	}
	if len(in) == 0 {
		return "", &rpcError{-32021, "this needs elicitation", `{"requiredCapabilities":{"elicitation":{}}}`}
	}
	return `{"resultType":"input_required","inputRequests":{` + strings.Join(in, ",") + `},"requestState":` + askState +
		`,"_meta":{"` + metaServer + `":` + serverInfo("2026-07-28") + `}}`, nil
}
