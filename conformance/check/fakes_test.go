package check_test

import (
	"fmt"
	"strings"

	"github.com/goldwire/goldwire/conformance/broken"
	"github.com/goldwire/goldwire/conformance/check/checktest"
)

type (
	server  = checktest.Server
	conn    = checktest.Conn
	request = checktest.Request
)

// mutants are the broken servers by their names, which begin with the id of the
// check that has to notice.
func mutants() map[string]mutant {
	all := map[string]mutant{}
	for _, f := range broken.Servers() {
		if f.Server != nil {
			all[f.Name] = mutant{f.Revision, *f.Server, f.Tolerated}
		}
	}
	return all
}

const (
	keyVersion = "io.modelcontextprotocol/protocolVersion"
	keyCaps    = "io.modelcontextprotocol/clientCapabilities"
	keySub     = "io.modelcontextprotocol/subscriptionId"
	keyInfo    = "io.modelcontextprotocol/serverInfo"

	discover = "server/discover"
	listen   = "subscriptions/listen"
)

// holds matches lines that hold a text.
func holds(s string) func(string) bool {
	return func(line string) bool { return strings.Contains(line, s) }
}

// lines deals with lines that match in place of the server.
func lines(match func(line string) bool, fn func(c *conn, line string)) server {
	return server{Input: func(c *conn, line []byte) bool {
		if !match(string(line)) {
			return false
		}
		fn(c, string(line))
		return true
	}}
}

func errorLine(r *request, code int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, r.ID, code, message)
}

func errorOf(code int) func(*request, string) string {
	return func(r *request, _ string) string { return errorLine(r, code, "no") }
}
