package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
)

// expectation is what the checker is known to find on a foreign server. Each
// finding was confirmed by a person who read the frames and the
// specification; Why says it in a sentence.
type expectation struct {
	Server   string    `json:"server"`   // package and version
	Findings []finding `json:"findings"` // fails and warnings, ordered by revision and check
}

type finding struct {
	Check        string   `json:"check"`
	Revision     string   `json:"revision"`
	Verdict      string   `json:"verdict"` // fail or warn
	Requirements []string `json:"requirements"`
	Spec         string   `json:"spec"`
	Expected     string   `json:"expected"`
	Observed     string   `json:"observed"`
	Why          string   `json:"why"`                 // why the finding is right
	Sometimes    bool     `json:"sometimes,omitempty"` // the server does it by chance: it may be absent
	Frames       []string `json:"frames"`
}

const expectedDir = "../../testdata/peers/expected"

func loadExpectation(t *testing.T, name string) expectation {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(expectedDir, name+".json"))
	require.NoError(t, err)
	var e expectation
	require.NoError(t, json.Unmarshal(b, &e))
	return e
}

// without leaves out what comes by chance and did not come this time.
func (e expectation) without(got expectation) expectation {
	e.Findings = slices.DeleteFunc(slices.Clone(e.Findings), func(f finding) bool {
		return f.Sometimes && !slices.ContainsFunc(got.Findings, func(g finding) bool { return g.Check == f.Check && g.Revision == f.Revision })
	})
	return e
}

// text is the expectation as its file has it: JSON that people read and compare,
// with nothing escaped for HTML.
func (e *expectation) text(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "\t")
	require.NoError(t, enc.Encode(e))
	return b.Bytes()
}

// TestExpectationsAreWrittenPlainly holds that what -update writes reads as it
// was found, and is read again as it was.
func TestExpectationsAreWrittenPlainly(t *testing.T) {
	e := expectation{Server: "a & b", Findings: []finding{{Check: "x", Frames: []string{`<@1ms {"a":"<b>"}`, "→ \u2028"}}}}
	text := string(e.text(t))
	require.Contains(t, text, `"server": "a & b"`)
	require.Contains(t, text, `"<@1ms {\"a\":\"<b>\"}"`)
	require.True(t, strings.HasSuffix(text, "\n}\n"))
	var back expectation
	require.NoError(t, json.Unmarshal([]byte(text), &back))
	require.Equal(t, e, back)
}

// TestFindingsOfChanceMayBeAbsent holds that only those are let go.
func TestFindingsOfChanceMayBeAbsent(t *testing.T) {
	chance, sure := finding{Check: "a", Revision: "r", Sometimes: true}, finding{Check: "b", Revision: "r"}
	e := expectation{Findings: []finding{chance, sure}}
	require.Equal(t, []finding{sure}, e.without(expectation{}).Findings)
	require.Equal(t, []finding{chance, sure}, e.without(expectation{Findings: []finding{{Check: "a", Revision: "r"}}}).Findings)
}

// TestExpectedFindingsAreEvidenced holds that what is claimed about foreign
// servers names the rule, its place and the frames that show it.
func TestExpectedFindingsAreEvidenced(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(expectedDir, "*.json"))
	require.NoError(t, err)
	require.Len(t, files, len(peers))
	for _, p := range peers {
		e := loadExpectation(t, p.name)
		require.NotEmpty(t, e.Server)
		require.NotEmpty(t, e.Findings)
		for _, f := range e.Findings {
			t.Run(p.name+"/"+f.Revision+"/"+f.Check, func(t *testing.T) {
				f.evidenced(t, catalogue.Server)
			})
		}
	}
}

// evidenced wants of a finding on one side all by which it can be followed.
func (f *finding) evidenced(t *testing.T, side catalogue.Side) {
	t.Helper()
	require.Contains(t, []string{"fail", "warn"}, f.Verdict)
	require.NotEmpty(t, f.Requirements)
	for _, id := range f.Requirements {
		r, known := catalogue.Lookup(id)
		require.True(t, known && r.Applies(f.Revision, side), "requirement %s", id)
	}
	require.True(t, strings.HasPrefix(f.Spec, "https://modelcontextprotocol.io/specification/") || strings.HasPrefix(f.Spec, "https://github.com/modelcontextprotocol/"), f.Spec)
	require.NotEmpty(t, f.Expected)
	require.NotEmpty(t, f.Observed)
	require.NotEmpty(t, f.Frames)
	require.NotEmpty(t, f.Why, "a finding that nobody confirmed")
}

// peer is a foreign server that make e2e judges.
type peer struct {
	name    string
	server  string
	command []string // relative to the root of the repository; {port} is a free port
	// Over HTTP: where it is reached then, and what it needs in its environment.
	url string
	env []string
}

const (
	serverEverything = "testdata/peers/node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
	goEverything     = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server v1.8.0"
)

var peers = []peer{
	{name: "server-everything", server: "npm @modelcontextprotocol/server-everything 2026.8.31", command: []string{"node", serverEverything}},
	{name: "go-sdk-everything", server: goEverything, command: []string{"bin/peers/go-sdk-everything"}},
	{name: "mcp-go-everything", server: "github.com/mark3labs/mcp-go/examples/everything v1.2.1", command: []string{"bin/peers/mcp-go-everything"}},
	{
		name: "typescript-v2", server: "npm @modelcontextprotocol/server 2.4.0, the server of the matrix",
		command: []string{"node", "testdata/peers/node/typescript2.mjs", "-serve", "stdio"},
	},
	{
		name: "server-everything-http", server: "npm @modelcontextprotocol/server-everything 2026.8.31, streamableHttp",
		command: []string{"node", serverEverything, "streamableHttp"}, env: []string{"PORT={port}"}, url: "http://127.0.0.1:{port}/mcp",
	},
	{
		name: "server-everything-sse", server: "npm @modelcontextprotocol/server-everything 2026.8.31, sse",
		command: []string{"node", serverEverything, "sse"}, env: []string{"PORT={port}"}, url: "http://127.0.0.1:{port}/sse",
	},
	{
		name: "go-sdk-everything-http", server: goEverything + ", stateless",
		command: []string{"bin/peers/go-sdk-everything", "-http", "127.0.0.1:{port}"}, url: "http://127.0.0.1:{port}/",
	},
	{
		name: "go-sdk-everything-http-stateful", server: goEverything + ", with sessions",
		command: []string{"bin/peers/go-sdk-everything", "-stateless=false", "-http", "127.0.0.1:{port}"}, url: "http://127.0.0.1:{port}/",
	},
	{ // its port is fixed
		name: "mcp-go-everything-http", server: "github.com/mark3labs/mcp-go/examples/everything v1.2.1, http",
		command: []string{"bin/peers/mcp-go-everything", "-t", "http"}, url: "http://127.0.0.1:8080/mcp",
	},
}
