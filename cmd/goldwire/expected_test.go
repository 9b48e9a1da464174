package main

import (
	"encoding/json"
	"os"
	"path/filepath"
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
	Why          string   `json:"why"` // why the finding is right
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
				require.Contains(t, []string{"fail", "warn"}, f.Verdict)
				require.NotEmpty(t, f.Requirements)
				for _, id := range f.Requirements {
					_, known := catalogue.Lookup(id)
					require.True(t, known, "requirement %s", id)
				}
				require.True(t, strings.HasPrefix(f.Spec, "https://modelcontextprotocol.io/specification/"), f.Spec)
				require.NotEmpty(t, f.Expected)
				require.NotEmpty(t, f.Observed)
				require.NotEmpty(t, f.Frames)
				require.NotEmpty(t, f.Why, "a finding that nobody confirmed")
			})
		}
	}
}

// peer is a foreign server that make e2e judges.
type peer struct {
	name    string
	server  string
	command []string // relative to the root of the repository
}

var peers = []peer{
	{"server-everything", "npm @modelcontextprotocol/server-everything 2026.8.31", []string{"node", "testdata/peers/node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"}},
	{"go-sdk-everything", "github.com/modelcontextprotocol/go-sdk/conformance/everything-server v1.8.0", []string{"bin/peers/go-sdk-everything"}},
	{"mcp-go-everything", "github.com/mark3labs/mcp-go/examples/everything v1.2.1", []string{"bin/peers/mcp-go-everything"}},
}
