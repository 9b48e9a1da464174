package dial_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFaultsAreTested: each fault that a transport has to survive has a test,
// over each transport that can meet it.
func TestFaultsAreTested(t *testing.T) {
	for _, f := range []struct {
		fault string
		tests map[string]string // by transport: folder beside this one, a slash, test
	}{
		{"kill -9 of the server in mid-call", map[string]string{
			"stdio": "jsonl/TestKillInMidCall", "Streamable HTTP": "dial/TestKillOfAnHTTPServer", "HTTP+SSE": "dial/TestRedialOverHTTP",
		}},
		{"a server that stops reading", map[string]string{
			"stdio": "jsonl/TestChildThatStopsReading", "Streamable HTTP": "dial/TestServerThatStopsReading", "HTTP+SSE": "dial/TestServerThatStopsReading",
		}},
		{"a client that stops reading", map[string]string{
			"stdio": "jsonl/TestPeerThatStopsReading", "Streamable HTTP": "streamhttp/TestSlowReader", "HTTP+SSE": "dial/TestTwoEndpointsClient",
		}},
		{"an endless line", map[string]string{
			"stdio": "jsonl/TestEndlessAnswer", "Streamable HTTP": "streamhttp/TestClientBounds", "HTTP+SSE": "dial/TestTwoEndpointsPeer",
		}},
		{"an endless event", map[string]string{
			"Streamable HTTP": "streamhttp/TestClientBounds", "HTTP+SSE": "dial/TestTwoEndpointsPeer",
		}},
		{"many connections and processes leave nothing", map[string]string{
			"stdio": "dial/TestManyProcesses", "Streamable HTTP": "dial/TestManyConnections", "HTTP+SSE": "dial/TestManyConnections",
		}},
		{"a thousand calls at once with random cancellations", map[string]string{
			"stdio": "dial/TestManyCalls", "Streamable HTTP": "dial/TestManyCalls", "HTTP+SSE": "dial/TestManyCalls",
		}},
		{"a cancellation that comes before its call", map[string]string{
			"Streamable HTTP": "dial/TestCancellationOvertakesItsRequest", "HTTP+SSE": "dial/TestCancellationOvertakesItsRequest",
		}},
		{"a server that dies a hundred times and is dialled again", map[string]string{
			"stdio": "dial/TestRedial", "Streamable HTTP": "dial/TestRedialOverHTTP", "HTTP+SSE": "dial/TestRedialOverHTTP",
		}},
		{"a sender as slow as can be", map[string]string{
			"stdio": "dial/TestSlowSender", "Streamable HTTP": "streamhttp/TestSlowSenders", "HTTP+SSE": "dial/TestTwoEndpointsClient",
		}},
		{"a peer that answers twice, never, or with an id of the wrong type", map[string]string{
			"stdio": "jsonl/TestLiar", "Streamable HTTP": "streamhttp/TestClientAnswers", "HTTP+SSE": "dial/TestTwoEndpointsPeer",
		}},
		{"a handler that blocks", map[string]string{
			"stdio": "dial/TestBlockedHandler", "Streamable HTTP": "dial/TestBlockedHandler", "HTTP+SSE": "dial/TestBlockedHandler",
		}},
	} {
		for transport, test := range f.tests {
			folder, name, _ := strings.Cut(test, "/")
			files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
			require.NoError(t, err)
			found := false
			for _, file := range files {
				b, err := os.ReadFile(file)
				require.NoError(t, err)
				found = found || strings.Contains(string(b), "\nfunc "+name+"(t *testing.T)")
			}
			require.True(t, found, "%s, %s: there is no %s", f.fault, transport, test)
		}
	}
}
