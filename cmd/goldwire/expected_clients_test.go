package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
)

// judgedClient is a client that make e2e judges; GOLDWIRE in its command stands
// for this program.
type judgedClient struct {
	name    string
	client  string
	command []string // relative to the root of the repository
	clean   bool     // nothing is found
	flags   []string // of check
}

const (
	officialBin = "testdata/peers/official/node_modules/.bin/"
	node22      = "testdata/peers/official/node_modules/node/bin/node" // what the Inspector wants
)

var judgedClients = []judgedClient{
	{name: "goldwire-client", client: "goldwire client", command: []string{"GOLDWIRE", "client", "{url}"}, clean: true, flags: []string{"--revision", "all"}},
	{name: "goldwire-client-stdio", client: "goldwire client", command: []string{"GOLDWIRE", "client", "--", "{command}"}, clean: true, flags: []string{"--revision", "all"}},
	{name: "goldwire-call", client: "goldwire call", command: []string{"GOLDWIRE", "call", "--tools", "--", "{command}"}, clean: true, flags: []string{"--revision", "all"}},
	{name: "go-sdk-everything-client", client: "github.com/modelcontextprotocol/go-sdk/conformance/everything-client v1.8.0", command: []string{"bin/peers/go-sdk-everything-client"}},
	{name: "inspector-http", client: "npm @modelcontextprotocol/inspector 2.12.0, --cli", command: []string{node22, officialBin + "mcp-inspector", "--cli", "{url}", "--method", "tools/list"}},
	{name: "inspector-stdio", client: "npm @modelcontextprotocol/inspector 2.12.0, --cli", command: []string{node22, officialBin + "mcp-inspector", "--cli", "{command}", "--method", "tools/call", "--tool-name", "add_numbers", "--tool-arg", "a=1", "--tool-arg", "b=2"}},
	{name: "mcp-remote", client: "npm mcp-remote 0.15.1, between goldwire call and HTTP", command: []string{"GOLDWIRE", "call", "--revision", "2025-11-25", "--timeout", "20s", "tools/call", `{"name":"add_numbers","arguments":{"a":1,"b":2}}`, "--", node22, officialBin + "mcp-remote", "{url}"}},
}

const expectedClientsDir = expectedDir + "/clients"

// TestExpectedFindingsOnClientsAreEvidenced holds that what is claimed about
// foreign clients names the rule, its place and the frames that show it.
func TestExpectedFindingsOnClientsAreEvidenced(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(expectedClientsDir, "*.json"))
	require.NoError(t, err)
	n := 0
	for _, p := range judgedClients {
		if p.clean {
			continue
		}
		n++
		e := loadExpectation(t, "clients/"+p.name)
		require.NotEmpty(t, e.Server)
		for _, f := range e.Findings {
			t.Run(p.name+"/"+f.Revision+"/"+f.Check, func(t *testing.T) {
				f.evidenced(t, catalogue.Client)
			})
		}
	}
	require.Len(t, files, n)
}
