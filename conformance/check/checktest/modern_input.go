package checktest

import (
	"errors"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

const (
	metaTrace = `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01","tracestate":"a=1,b=2","baggage":"k=v"`
	askState  = `"round-1"`
	alsoState = `"other-1"` // that of the tool ask-too
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
			`{"name":"ask-too","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`,
			`{"name":"region","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"inner":{"type":"object","properties":{"level":{"type":"integer","x-mcp-header":"Level"}}}}},"annotations":{"readOnlyHint":true}}`))
	case r.Method == "tools/call" && r.Params.Get("arguments") != nil && r.Params.Get("arguments").Kind() != wire.KindObject:
		return "", fail(-32602, "arguments is no object")
	case r.Method == "tools/call" && name == "region":
		return `{"content":[{"type":"text","text":"here"}],"resultType":"complete","_meta":{` + metaTrace + `,"` + metaServer + `":` + serverInfo("2026-07-28") + `}}`, nil
	case r.Method == "tools/call" && name == "ask":
		return c.question(r, askState)
	case r.Method == "tools/call" && name == "ask-too":
		return c.question(r, alsoState)
	}
	return "", nil
}

// question asks for all that the client of this request can give, and again
// for what it did not give.
func (c *Conn) question(r *Request, own string) (string, error) {
	caps := r.Meta.Get(metaCaps)
	given := r.Params.Get("inputResponses")
	if state := r.Params.Get("requestState"); state != nil && given != nil && string(state) != own {
		return "", fail(-32602, "no such state")
	} else if state == nil {
		given = nil
	}
	asked := 0
	var in []string
	ask := func(key, method, params string) error {
		asked++
		v := given.Get(key)
		if v == nil {
			if params != "" {
				params = `,"params":` + params
			}
			in = append(in, quote(key)+`:{"method":`+quote(method)+params+`}`)
			return nil
		}
		action, _ := v.Get("action").Str()
		_, named := v.Get("content").Get("name").Str()
		if v.Kind() != wire.KindObject || method == "elicitation/create" && action == "" || action == "accept" && strings.Contains(params, `"form"`) && !named {
			return fail(-32602, "that is no answer to "+key)
		}
		return nil
	}
	var err error
	if el := caps.Get("elicitation"); el != nil {
		if el.Get("form") != nil || el.Get("url") == nil {
			err = ask("name", "elicitation/create", `{"mode":"form","message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`)
		}
		if el.Get("url") != nil {
			err = errors.Join(err, ask("login", "elicitation/create", `{"mode":"url","message":"Log in","url":"https://example.com/login"}`))
		}
	}
	if caps.Get("sampling") != nil {
		err = errors.Join(err, ask("poem", "sampling/createMessage", `{"messages":[{"role":"user","content":{"type":"text","text":"A poem"}}],"maxTokens":10}`))
	}
	if caps.Get("sampling").Get("tools") != nil {
		err = errors.Join(err, ask("sum", "sampling/createMessage", `{`+toolTalk+`}`))
	}
	if caps.Get("roots") != nil {
		err = errors.Join(err, ask("roots", "roots/list", ""))
	}
	switch {
	case err != nil:
		return "", err
	case asked == 0:
		return "", &rpcError{-32021, "this needs elicitation", `{"requiredCapabilities":{"elicitation":{}}}`}
	case len(in) == 0:
		return `{"content":[{"type":"text","text":"thank you"}]}`, nil
	}
	return `{"resultType":"input_required","inputRequests":{` + strings.Join(in, ",") + `},"requestState":` + own +
		`,"_meta":{"` + metaServer + `":` + serverInfo("2026-07-28") + `}}`, nil
}
