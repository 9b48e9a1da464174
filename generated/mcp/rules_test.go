package mcp_test

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/ir"
	v20241105 "github.com/goldwire/goldwire/generated/mcp/v20241105"
	v20250326 "github.com/goldwire/goldwire/generated/mcp/v20250326"
	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	revisions "github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// zero is what the Go zero value of a reference is written as.
func (m model) zero(r ir.Ref) string {
	switch r.Kind {
	case ir.String, ir.Base64:
		return `""`
	case ir.Bool:
		return "false"
	case ir.Int, ir.Float:
		return "0"
	case ir.RawObject, ir.Map:
		return "{}"
	case ir.Slice:
		return "[]"
	case ir.Named:
		x := m.byName[r.Name]
		switch x.Kind {
		case ir.Enum:
			return `""`
		case ir.OneOrMany:
			return "[]"
		case ir.MapOf, ir.KeyedRaw:
			return "{}"
		case ir.Alias:
			return m.zero(ir.Ref{Kind: ir.Named, Name: x.Target})
		case ir.Struct:
			return m.zeroObject(x)
		}
	}
	return "null"
}

func (m model) zeroObject(x *ir.Type) string {
	var out []string
	for _, f := range x.Fields {
		switch {
		case f.Const != "":
			out = append(out, fmt.Sprintf("%q:%q", f.JSON, f.Const))
		case !f.Required:
		case f.Default != nil && f.Default.Zero:
			out = append(out, fmt.Sprintf("%q:%s", f.JSON, f.Default.JSON))
		default:
			out = append(out, fmt.Sprintf("%q:%s", f.JSON, m.zero(f.Type)))
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}

// TestZeroTable holds exact bytes for every type of every revision. Of a Go
// zero value each required member is written and no optional one; and what has
// a member that is there but zero, false, empty or null keeps it.
func TestZeroTable(t *testing.T) {
	eachType(t, func(t *testing.T, m model, x *ir.Type, e entry) {
		if x.Kind != ir.Struct {
			return
		}
		require.Equal(t, m.zeroObject(x), string(e.json().AppendJSON(nil)))
		for pick := range m.arms() {
			for _, f := range []form{zeros, empty} {
				text := m.example(x.Name, f, pick)
				v, _, err := e.read([]byte(text), wire.Options{})
				require.NoError(t, err, text)
				require.Equal(t, text, string(v.AppendJSON(nil)))
			}
		}
	})
}

// TestExtraNeverHidesAField holds for every type of every revision that a
// member which is a field can neither be set as an unknown one nor, put there
// by hand, be written twice.
func TestExtraNeverHidesAField(t *testing.T) {
	eachType(t, func(t *testing.T, m model, x *ir.Type, e entry) {
		if x.Kind != ir.Struct {
			return
		}
		v := e.json()
		require.NoError(t, v.UnmarshalJSON([]byte(m.example(x.Name, least, 0))))
		before := string(v.AppendJSON(nil))
		set := v.(interface {
			SetExtra(name string, value wire.Raw) error
		})
		extra := reflect.ValueOf(v).Elem().FieldByName("Extra").Addr().Interface().(*wire.Members)
		for _, f := range x.Fields {
			require.ErrorIs(t, set.SetExtra(f.JSON, wire.Raw("1")), wire.ErrDuplicate, f.JSON)
			*extra = append(*extra, wire.Member{Name: f.JSON, Value: wire.Raw("1")})
		}
		require.Equal(t, before, string(v.AppendJSON(nil)))
		if len(x.Fields) > 0 {
			require.ErrorContains(t, v.Validate(), ": the name of a field")
		}
		*extra = nil
		require.NoError(t, set.SetExtra("x-note", wire.Raw("1")))
		require.NoError(t, set.SetExtra("x-note", wire.Raw("2")))
		require.Equal(t, "2", wire.Raw(v.AppendJSON(nil)).Get("x-note").String())
	})
}

// TestSmugglingAtEveryPath repeats members of each object of each example, as
// they are spelled and with an escape: an error that names the place, and inside
// raw values no error. In other letters a name is another member, which stays.
func TestSmugglingAtEveryPath(t *testing.T) {
	eachPlace(t, func(t *testing.T, e entry, text wire.Raw, p place, w typed, known bool) {
		if p.raw.Kind() != wire.KindObject || len(p.raw) == 2 {
			return
		}
		open := string(p.raw[:len(p.raw)-1])
		n := 0
		for k, v := range p.raw.Members() {
			if n++; n > 2 || k == "" {
				break
			}
			for _, again := range []string{string(wire.Quote(k)), fmt.Sprintf(`"\u%04x%s"`, k[0], k[1:])} {
				changed := put(text, p, open+","+again+":"+string(v)+"}")
				_, _, err := e.read([]byte(changed), wire.Options{})
				if !known || w.raw {
					if err != nil {
						t.Fatalf("%s: %v: %s", p.path, err, changed)
					}
					continue
				}
				require.ErrorIs(t, err, wire.ErrDuplicate, changed)
				require.Equal(t, under(p.path, k), errorAt(t, err))
			}
			if up := strings.ToUpper(k); up != k && p.raw.Get(up) == nil {
				e.same(t, put(text, p, open+","+string(wire.Quote(up))+":"+string(v)+"}"))
			}
		}
	})
}

// TestDepthOfTheWholeMessage holds in every revision that brackets are counted
// from the start of the message, the envelope and raw values included, and that
// the limit is 256.
func TestDepthOfTheWholeMessage(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"v","io.modelcontextprotocol/clientCapabilities":{}}`
	for revision, decode := range decoders {
		call := func(depth int) []byte { // of which the message, params and arguments are three
			n := depth - 3
			return []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",` + meta + `,"arguments":{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}}}`)
		}
		_, answer, err := decode(call(256))
		require.NoError(t, err, revision)
		for _, depth := range []int{257, 1_000_000} {
			_, _, err = decode(call(depth))
			require.ErrorIs(t, err, wire.ErrDepth, "%s: %d", revision, depth)
		}
		result := func(depth int) jsonrpc.Frame {
			n := depth - 2
			return jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}}`)}
		}
		_, err = answer(result(256))
		require.NoError(t, err, revision)
		_, err = answer(result(257))
		require.ErrorIs(t, err, wire.ErrDepth, revision)
	}
}

// TestIDsInEveryRevision holds which ids a request may have, and that they come
// back as they are written.
func TestIDsInEveryRevision(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"v","io.modelcontextprotocol/clientCapabilities":{}}`
	for revision, decode := range decoders {
		call := func(id string) []byte {
			return []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list","params":{` + meta + `}}`)
		}
		for _, id := range []string{`0`, `""`, `1.0`, `9007199254740993`, `12345678901234567890`, `-1`, `"a\"b"`} {
			m, _, err := decode(call(id))
			require.NoError(t, err, "%s: %s", revision, id)
			require.Equal(t, id, wire.Raw(m.AppendJSON(nil)).Get("id").String(), revision)
		}
		for _, id := range []string{`null`, `1.5`, `true`, `[]`, `{}`} {
			_, _, err := decode(call(id))
			require.ErrorContains(t, err, "id", "%s: %s", revision, id)
		}
	}
}

// TestCutValues holds in every revision that completion values can be cut to
// as many as may be sent, and that it is told whether any were.
func TestCutValues(t *testing.T) {
	eachRevision(t, func(t *testing.T, m model) {
		for n, cut := range map[int]bool{0: false, 100: false, 101: true, 250: true} {
			text := `{"values":[` + strings.TrimSuffix(strings.Repeat(`"a",`, n), ",") + `]}`
			v, _, err := types[m.Revision]["Completion"].read([]byte(text), wire.Options{})
			require.NoError(t, err)
			require.Equal(t, cut, v.Validate() != nil)
			require.Equal(t, cut, v.(interface{ CutValues() bool }).CutValues())
			require.NoError(t, v.Validate())
			require.Equal(t, min(n, 100), strings.Count(string(v.AppendJSON(nil)), `"a"`))
		}
	})
}

// TestParamsAreRefusedWithTheirPlace holds in every revision that params which
// break the schema are answered with -32602, and that the caller reads where.
func TestParamsAreRefusedWithTheirPlace(t *testing.T) {
	for revision, server := range servers {
		t.Run(revision, func(t *testing.T) {
			method, cases := "initialize", map[string]string{
				``: "params are required",
				`,"params":{"capabilities":[],"protocolVersion":"` + revision + `"}`:                                                           "capabilities: want an object, got an array",
				`,"params":{"capabilities":{},"protocolVersion":"` + revision + `"}`:                                                           "clientInfo: missing",
				`,"params":{"capabilities":{},"protocolVersion":"` + revision + `","clientInfo":{"name":"c","version":1}}`:                     "clientInfo.version: want a string, got a number",
				`,"params":{"capabilities":{},"protocolVersion":"` + revision + `","clientInfo":{"name":"c","version":"1"},"capabilities":{}}`: "capabilities: duplicate member",
			}
			if rules, _ := revisions.For(revision); rules.Stateless {
				method, cases = "server/discover", map[string]string{
					``:                       "params",
					`,"params":{}`:           "_meta",
					`,"params":{"_meta":{}}`: "protocolVersion",
					`,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + revision + `","io.modelcontextprotocol/clientCapabilities":7}}`: "clientCapabilities",
				}
			}
			for params, want := range cases {
				in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"` + method + `"` + params + "}\n")
				var out strings.Builder
				require.NoError(t, jsonrpc.Serve(context.Background(), jsonl.Pipe(io.NopCloser(in), nopCloser{&out}), server))
				answer := wire.Raw(strings.TrimSpace(out.String()))
				require.Equal(t, "-32602", answer.Get("error").Get("code").String(), "%s: %s", params, answer)
				message, _ := answer.Get("error").Get("message").Str()
				require.Contains(t, message, want, params)
			}
		})
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// TestHalfACapabilityIsRefused holds in every revision that a server which
// offers tools but no list of them, or the other way round, does not start.
func TestHalfACapabilityIsRefused(t *testing.T) {
	for revision, halves := range map[string][2]jsonrpc.Binder{
		"2024-11-05": {v20241105.Server{CallTool: never[v20241105.CallToolParams, v20241105.CallToolResult]}, v20241105.Server{ListTools: never[v20241105.ListToolsParams, v20241105.ListToolsResult]}},
		"2025-03-26": {v20250326.Server{CallTool: never[v20250326.CallToolParams, v20250326.CallToolResult]}, v20250326.Server{ListTools: never[v20250326.ListToolsParams, v20250326.ListToolsResult]}},
		"2025-06-18": {v20250618.Server{CallTool: never[v20250618.CallToolParams, v20250618.CallToolResult]}, v20250618.Server{ListTools: never[v20250618.ListToolsParams, v20250618.ListToolsResult]}},
		"2025-11-25": {v20251125.Server{CallTool: never[v20251125.CallToolParams, v20251125.CallToolResult]}, v20251125.Server{ListTools: never[v20251125.ListToolsParams, v20251125.ListToolsResult]}},
		"2026-07-28": {v20260728.Server{CallTool: never[v20260728.CallToolParams, v20260728.CallToolResult]}, v20260728.Server{ListTools: never[v20260728.ListToolsParams, v20260728.ListToolsResult]}},
	} {
		for i, missing := range []string{"ListTools", "CallTool"} {
			_, err := jsonrpc.Bind(halves[i])
			require.ErrorContains(t, err, missing, revision)
		}
	}
}

func never[P, R any](context.Context, *P) (*R, error) { return nil, nil }
