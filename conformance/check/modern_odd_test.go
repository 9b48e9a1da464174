package check_test

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/runtime/wire"
)

const modernRevision = "2026-07-28"

// delayed makes the answers come in another order than the requests, each
// after a time of its own.
func delayed(every func(n int) time.Duration) server {
	return server{Output: func(c *conn, _ *request, a string) string {
		n, _ := c.State["n"].(int)
		c.State["n"] = n + 1
		if a == "" {
			return ""
		}
		time.AfterFunc(every(n), func() { c.Line(a) })
		return ""
	}}
}

// everyAnswer rewrites all lines that the server answers with.
func everyAnswer(fn func(a string) string) server {
	return server{Output: func(_ *conn, _ *request, a string) string {
		if a == "" {
			return a
		}
		return fn(a)
	}}
}

// spaced puts blanks where JSON allows them, and turns the members around.
func spaced(a string) string {
	var parts []string
	for k, v := range wire.Raw(a).Members() {
		parts = append(parts, string(wire.Quote(k))+" : "+string(v))
	}
	slices.Reverse(parts)
	return " { " + strings.Join(parts, " ,\t") + " } "
}

// escaped spells string ids by escapes.
func escaped(a string) string {
	id, ok := wire.Raw(a).Get("id").Str()
	if !ok || id == "" {
		return a
	}
	var b strings.Builder
	for _, r := range id {
		if r < 0x10000 {
			b.WriteString(`\u` + strings.Repeat("0", 4-len(strconv.FormatInt(int64(r), 16))) + strconv.FormatInt(int64(r), 16))
		} else {
			b.WriteRune(r)
		}
	}
	return strings.Replace(a, `"id":`+string(wire.Raw(a).Get("id")), `"id":"`+b.String()+`"`, 1)
}

// TestOddButCorrectServersDoNotFail holds that what the specification leaves
// open, contradicts itself on, or allows in an unusual form is no failure.
func TestOddButCorrectServersDoNotFail(t *testing.T) {
	servers := map[string]struct {
		server checktest.Server
		warns  []string // checks that may warn
	}{
		"slow":                             {server: server{Input: func(*conn, []byte) bool { time.Sleep(400 * time.Millisecond); return false }}},
		"slow to start":                    {server: server{Start: func(*conn) { time.Sleep(8 * time.Second) }}},
		"answers in any order":             {server: delayed(func(n int) time.Duration { return time.Duration(n*37%11) * 9 * time.Millisecond })},
		"answers late and in any order":    {server: delayed(func(n int) time.Duration { return time.Duration(n*53%7) * 60 * time.Millisecond })},
		"blanks and order of members":      {server: everyAnswer(spaced)},
		"carriage returns":                 {server: everyAnswer(func(a string) string { return a + "\r" })},
		"ids by escapes":                   {server: everyAnswer(escaped)},
		"integers with a fraction of zero": {server: everyAnswer(func(a string) string { return strings.Replace(a, `"ttlMs":1000`, `"ttlMs":1000.0`, 1) })},
		"members of its own": {server: everyAnswer(func(a string) string {
			return strings.Replace(strings.Replace(a, `"resultType"`, `"com.example":{"a":[null,1.5]},"resultType"`, 1), `"_meta":{`, `"_meta":{"com.example/x":[{}],"plain":null,"":1,`, 1)
		})},
		"no name": {
			server: everyAnswer(func(a string) string { return strings.Replace(a, keyInfo, "com.example/info", 1) }),
			warns:  []string{"meta-server-info"},
		},
		"null for an unreadable id": {
			server: server{Output: func(_ *conn, r *request, a string) string {
				if r == nil && !strings.Contains(a, `"id"`) {
					return strings.Replace(a, `"error"`, `"id":null,"error"`, 1)
				}
				return a
			}},
			warns: []string{"modern-unreadable-id"},
		},
		"a result for a cancelled subscription": {
			server: lines(holds("no longer needed"), func(c *conn, _ string) {
				c.Line(`{"jsonrpc":"2.0","id":410041,"result":` + c.Farewell(wire.Raw("410041")) + `}`)
			}),
			warns: []string{"listen-cancelled-silent"},
		},
		"no subscriptions and nothing to subscribe to": {
			server: server{Without: checktest.Features, Output: func(_ *conn, r *request, a string) string {
				if r != nil && r.Method == listen {
					return errorOf(-32601)(r, a)
				}
				return a
			}, Input: func(c *conn, line []byte) bool {
				if v, err := wire.ParseRaw(line); err == nil && bytes.Contains(line, []byte(`"`+listen+`"`)) {
					c.Line(errorOf(-32601)(&request{ID: v.Get("id")}, ""))
					return true
				}
				return false
			}},
			warns: []string{"listen-supported"},
		},
		"legacy dates in discovery": {server: checktest.On(discover, func(_ *request, a string) string {
			return strings.Replace(a, `"supportedVersions":["2026-07-28"]`, `"supportedVersions":["2026-07-28","2025-11-25"]`, 1)
		})},
		"legacy dates in refusals": {server: checktest.On(discover, func(_ *request, a string) string {
			return strings.Replace(a, `"supported":["2026-07-28"]`, `"supported":["2026-07-28","2025-11-25"]`, 1)
		})},
		"no hints, no input, no tools to call": {server: server{Without: []string{"tools", "extensions"}}},
		"codes of its own":                     {server: checktest.Swap("tools/call", `"isError":true`, `"isError":true,"code":7`)},
		"refused arguments": {server: checktest.On("tools/call", func(r *request, a string) string {
			if strings.Contains(a, `"isError":true`) {
				return errorOf(-32602)(r, a)
			}
			return a
		})},
		"only tools": {server: server{Versions: []string{modernRevision}, Without: []string{"prompts", "resources", "completions", "logging", "extensions"}}, warns: []string{"tool-embeds-resources"}},
	}
	for i, name := range slices.Sorted(maps.Keys(servers)) {
		if i%raced != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servers[name]
			for id, v := range judge(t, s.server, modernRevision) {
				switch v.Verdict {
				case result.Pass, result.NotObserved, result.NotApplicable:
				case result.Warn:
					require.Contains(t, s.warns, id, "want %s, got %s\n%s", v.Expected, v.Observed, frames(v))
				default:
					require.Fail(t, "a correct server does not pass", "%s %s: want %s, got %s; %s\n%s", v.Verdict, id, v.Expected, v.Observed, v.Reason, frames(v))
				}
			}
		})
	}
}
