package client

import (
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// oddState is a state that only comes back whole if nobody reads it.
var oddState = `  {"a":1,` + "\t" + `"é" : \u0041 "` + strings.Repeat("☃ß", 13000) + "\u0000 "

// inputScripts want input before they answer, as stateless servers do.
func inputScripts() []Script {
	return []Script{
		{
			Name: scriptRounds, About: "calls that want input, in several rounds", Since: modern,
			Serve: func(p *Play) {
				p.On[callTool] = func(c *Call) {
					answered := c.Params.Get("inputResponses") != nil
					state, _ := c.Params.Get("requestState").Str()
					questions := declaredQuestions(p, c.Meta(metaCaps))
					switch {
					case !answered && state == "":
						c.InputRequired(questions, string(wire.Quote(oddState)))
					case state != "":
						// The second round has no state, if there is something to
						// ask at all.
						if questions != "" {
							c.InputRequired(questions, "")
						}
					}
				}
			},
		},
		{
			Name: scriptAllRounds, About: "calls that want input of every kind, whether the client has it or not", Since: modern,
			Serve: func(p *Play) {
				p.On[callTool] = func(c *Call) {
					if c.Params.Get("inputResponses") == nil {
						c.InputRequired(everyQuestion(p), "")
					}
				}
			},
		},
		{
			Name: scriptStateOnly, About: "calls that have to be made again with a state", Since: modern,
			Serve: func(p *Play) {
				p.On[callTool] = func(c *Call) {
					if c.Params.Get("requestState") == nil {
						c.InputRequired("", `"again-`+strconv.Itoa(c.N)+`"`)
					}
				}
			},
		},
	}
}

// question is an entry of inputRequests.
func inputRequest(key, method, params string) string {
	return string(wire.Quote(key)) + `:{"method":"` + method + `","params":` + params + `}`
}

// declaredQuestions are those that a client with these capabilities has to
// answer; "" for none.
func declaredQuestions(p *Play, caps wire.Raw) string {
	var qs []string
	if e := caps.Get("elicitation"); e != nil {
		if e.Get("form") != nil || e.Get("url") == nil {
			qs = append(qs, inputRequest("a b", "elicitation/create", simpleForm), inputRequest("__proto__", "elicitation/create", defaultForm))
		}
		if e.Get("url") != nil {
			qs = append(qs, inputRequest("url", "elicitation/create", urlForm(p)))
		}
	}
	if s := caps.Get("sampling"); s != nil {
		qs = append(qs, inputRequest("é", "sampling/createMessage", briefSampling))
		if s.Get("tools") != nil {
			qs = append(qs, inputRequest("tools", "sampling/createMessage", toolSampling))
		}
	}
	if caps.Get("roots") != nil {
		qs = append(qs, inputRequest("0", "roots/list", "{}"))
	}
	if len(qs) == 0 {
		return ""
	}
	return "{" + strings.Join(qs, ",") + "}"
}

func everyQuestion(p *Play) string {
	return "{" + strings.Join([]string{
		inputRequest("form", "elicitation/create", simpleForm), inputRequest("url", "elicitation/create", urlForm(p)),
		inputRequest("sampling", "sampling/createMessage", openSampling), inputRequest("roots", "roots/list", "{}"),
	}, ",") + "}"
}
