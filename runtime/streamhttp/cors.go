package streamhttp

import (
	"net/http"
	"strings"
)

// CORS lets pages of other origins use a handler: it answers what browsers ask
// before they send a request of a page (preflight), and says which headers of the
// response the page may read. allowedOrigins are those of
// HandlerOptions.AllowedOrigins, which the handler needs as well, and may be nil
// as they. It is the outermost middleware, since a preflight carries no
// authorization:
//
//	origins := []string{"https://app.example"}
//	h := streamhttp.NewHandler(server, streamhttp.HandlerOptions{AllowedOrigins: origins})
//	http.Handle("/mcp", streamhttp.CORS(authorized(h), origins))
//
// Requests without an Origin, or with one that is not allowed, pass as they are:
// the handler judges them. No cookies are asked for. Specification: the Fetch
// standard, CORS protocol.
func CORS(next http.Handler, allowedOrigins []string) http.Handler {
	return &cors{next: next, guard: NewGuard(allowedOrigins, nil)}
}

type cors struct {
	next  http.Handler
	guard *Guard
}

// exposed are the response headers that clients read.
const exposed = "Mcp-Session-Id, Mcp-Protocol-Version, Www-Authenticate, Mcp-Auth-Server, Retry-After, X-Request-Id"

// preflightAge is how long a browser may keep the answer to a preflight, in
// seconds: the most that any of them does.
const preflightAge = "7200"

func (c *cors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hd := w.Header()
	hd.Add("Vary", "Origin")
	if len(r.Header["Origin"]) == 0 || !c.guard.originAllowed(r) {
		c.next.ServeHTTP(w, r)
		return
	}
	hd.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		hd.Set("Access-Control-Expose-Headers", exposed)
		c.next.ServeHTTP(w, r)
		return
	}
	hd.Add("Vary", "Access-Control-Request-Headers")
	hd.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	if asked := allowedHeaders(r.Header["Access-Control-Request-Headers"]); asked != "" {
		hd.Set("Access-Control-Allow-Headers", asked)
	}
	hd.Set("Access-Control-Max-Age", preflightAge)
	w.WriteHeader(http.StatusNoContent)
}

// allowedHeaders are those of the headers that a page asks for which clients send.
func allowedHeaders(asked []string) string {
	var all []string
	for _, v := range asked {
		for name := range strings.SplitSeq(v, ",") {
			name = strings.ToLower(strings.Trim(name, " \t"))
			switch name {
			case "accept", "authorization", "content-type", "last-event-id", "traceparent", "tracestate", "baggage", "x-request-id":
			default:
				if !strings.HasPrefix(name, "mcp-") || !token(name) {
					continue
				}
			}
			all = append(all, name)
		}
	}
	return strings.Join(all, ", ")
}
