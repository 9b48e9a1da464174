package checktest

import (
	"bytes"
	"fmt"
	"strings"
)

// What follows makes servers that break a rule.

// On rewrites the answers to a method.
func On(method string, fn func(r *Request, a string) string) Server {
	return Server{Output: func(_ *Conn, r *Request, a string) string {
		if r != nil && r.Method == method {
			return fn(r, a)
		}
		return a
	}}
}

// Swap replaces text in the answers to a method.
func Swap(method, old, with string) Server {
	return On(method, func(_ *Request, a string) string { return strings.Replace(a, old, with, 1) })
}

// SwapArg is Swap for requests whose params hold a text.
func SwapArg(method, holds, old, with string) Server {
	return On(method, func(r *Request, a string) string {
		if strings.Contains(string(r.Params), holds) {
			return strings.Replace(a, old, with, 1)
		}
		return a
	})
}

// Say sends a line before the answer to a method.
func Say(method, line string) Server {
	return Server{Output: func(c *Conn, r *Request, a string) string {
		if r != nil && r.Method == method {
			c.Line(line)
		}
		return a
	}}
}

// Give answers a method by a result whatever the server thinks of it.
func Give(method, holds, result string) Server {
	return On(method, func(r *Request, a string) string {
		if strings.Contains(string(r.Params), holds) {
			return Result(r, result)
		}
		return a
	})
}

// Result is an answer with that result. To an object it adds what every result
// of a stateless revision carries, where the request is of one and it lacks
// that.
func Result(r *Request, result string) string {
	add := func(member, value string) {
		if members, ok := strings.CutSuffix(result, "}"); ok && r.Modern && !strings.Contains(result, quote(member)) {
			result = members + `,` + quote(member) + `:` + value + `}`
		}
	}
	if result == "{}" && r.Modern {
		result = `{"resultType":"complete"}`
	}
	add("resultType", `"complete"`)
	add("_meta", `{"`+metaServer+`":`+serverInfo("2026-07-28")+`}`)
	if strings.HasSuffix(r.Method, "/list") || r.Method == "resources/read" || r.Method == "server/discover" {
		add("ttlMs", "0")
		add("cacheScope", `"private"`)
	}
	return `{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":` + result + `}`
}

// Refuse answers a method by an error.
func Refuse(method, holds string, code int) Server {
	return On(method, func(r *Request, a string) string {
		if strings.Contains(string(r.Params), holds) {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`, r.ID, code)
		}
		return a
	})
}

// DieOn ends the server at a line that holds a text.
func DieOn(text string) Server {
	return Server{Input: func(c *Conn, line []byte) bool {
		if bytes.Contains(line, []byte(text)) {
			c.Exit(1)
			return true
		}
		return false
	}}
}

// Reply sends a line for each that holds a text, which the server deals with
// as it should.
func Reply(holds, line string) Server {
	return Server{Input: func(c *Conn, in []byte) bool {
		if bytes.Contains(in, []byte(holds)) {
			c.Line(line)
		}
		return false
	}}
}

// Mute ignores lines that hold a text.
func Mute(text string) Server {
	return Server{Input: func(_ *Conn, line []byte) bool { return bytes.Contains(line, []byte(text)) }}
}

// Features are what a Server may be made Without.
var Features = []string{"tools", "prompts", "resources", "completions", "logging", "tasks", "extensions"}
