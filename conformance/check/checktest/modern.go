package checktest

import (
	"slices"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// modern answers a request by the rules of a stateless revision.
func (c *Conn) modern(r *Request) (string, error) {
	version, ok := r.Meta.Get(metaVersion).Str()
	if !ok {
		return "", fail(-32602, "_meta lacks the protocol version")
	}
	if r.Meta.Get(metaCaps).Kind() != wire.KindObject {
		return "", fail(-32602, "_meta lacks the client capabilities")
	}
	if modern := c.Server.versions(true); !slices.Contains(modern, version) {
		return "", &rpcError{-32022, "unsupported protocol version", obj(map[string]any{"supported": modern, "requested": version})}
	}
	if level := r.Meta.Get(metaLevel); level != nil {
		if name, _ := level.Str(); !slices.Contains(Levels, name) {
			return "", fail(-32602, "no such level")
		}
	}
	r.Modern = true
	const hints = `,"ttlMs":1000,"cacheScope":"public"`
	switch r.Method {
	case "server/discover":
		caps := c.Server.capabilities(version)
		if c.Server.Has("extensions") {
			caps = strings.Replace(caps, "{", `{"extensions":{"com.example/thing":{}},`, 1)
			caps = strings.Replace(caps, ",}", "}", 1)
		}
		return finish(`{"supportedVersions":`+obj(c.Server.versions(true))+`,"capabilities":`+caps+`}`, hints), nil
	case "subscriptions/listen":
		return c.listen(r)
	case "tools/call", "prompts/get", "resources/read":
		if v := r.Params.Get("inputResponses"); v != nil && v.Kind() != wire.KindObject {
			return "", fail(-32602, "inputResponses is no object")
		}
		if v := r.Params.Get("requestState"); v != nil && v.Kind() != wire.KindString {
			return "", fail(-32602, "requestState is no string")
		}
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list", "completion/complete":
	default:
		return "", fail(-32601, "method not found")
	}
	result, err := c.special(r)
	if err == nil && result == "" {
		result, err = c.feature(r)
	}
	if err != nil || result == "" || strings.Contains(result, `"resultType"`) {
		return result, err
	}
	if r.Method == "tools/call" || r.Method == "prompts/get" || r.Method == "completion/complete" {
		return finish(result, ""), nil
	}
	return finish(result, hints), nil
}

// finish puts in what every result of a stateless revision carries.
func finish(result, hints string) string {
	return strings.TrimSuffix(result, "}") + `,"resultType":"complete"` + hints + `,"_meta":{"` + metaServer + `":` + serverInfo("2026-07-28") + `}}`
}
