// Package revision names the revisions of the protocol in their order and
// holds what each allows on the wire, as one table. No other package compares
// dates.
package revision

import "slices"

// The revisions of the protocol.
const (
	V20241105 = "2024-11-05"
	V20250326 = "2025-03-26"
	V20250618 = "2025-06-18"
	V20251125 = "2025-11-25"
	V20260728 = "2026-07-28"

	// Latest is the newest revision.
	Latest = V20260728
)

// Rules is what one revision allows and asks for on the wire. It is data:
// transports and connections look here instead of comparing dates.
type Rules struct {
	// Revision is the name, "2025-11-25".
	Revision string
	// Stateless: every request stands alone. Its _meta names the protocol
	// version and the client's capabilities, there is no initialize
	// handshake and no ping, and a connection is ready at once.
	Stateless bool
	// Batch: an array of messages may be received (2025-03-26 only).
	Batch bool
	// Ping: either side may send ping and has to answer it.
	Ping bool
	// ServerRequests: the server may send requests to the client. Where it
	// is false a client neither gets requests nor answers any.
	ServerRequests bool
	// ClientProgress: the client may send notifications/progress.
	ClientProgress bool
	// ProgressMessage: progress may carry a message for people.
	ProgressMessage bool
	// Listen: change notifications travel on subscriptions/listen streams.
	Listen bool
	// AbsentID: an error whose request id could not be read leaves the id
	// out. Where it is false the id is null, as JSON-RPC has it.
	AbsentID bool
	// ToolInputErrors: arguments that do not fit a tool are answered with a
	// result that has isError, for the model to mend; older revisions answer
	// with an error, -32602 (server/tools, error handling).
	ToolInputErrors bool

	// HTTP holds the rules of the HTTP transports.
	HTTP HTTPRules
}

// HTTPRules is what a revision asks of the HTTP transports.
type HTTPRules struct {
	// TwoEndpoints: HTTP+SSE with a GET stream that names the POST endpoint.
	TwoEndpoints bool
	// Sessions: the server may issue a session id with its initialize result.
	Sessions bool
	// GetStream: a GET opens a stream of server messages.
	GetStream bool
	// Resume: a broken stream is taken up again with Last-Event-ID.
	Resume bool
	// Priming: a POST stream starts with an event id and empty data, and the
	// server may close it before the answer, after retry.
	Priming bool
	// VersionHeader: MCP-Protocol-Version is sent on requests after the
	// handshake (in stateless revisions on every one).
	VersionHeader bool
	// MethodHeaders: Mcp-Method, Mcp-Name and Mcp-Param-* mirror the body.
	MethodHeaders bool
	// CloseCancels: closing the stream of a request cancels it, and
	// notifications/cancelled is not sent over HTTP.
	CloseCancels bool
	// FallbackAny4xx: a client probes for the two-endpoint transport after
	// any 4xx; where it is false after 400, 404 and 405 only.
	FallbackAny4xx bool
	// UnknownMethodStatus is the HTTP status of a -32601 answer.
	UnknownMethodStatus int
}

var table = []Rules{
	{
		Revision: V20241105, Ping: true, ServerRequests: true, ClientProgress: true,
		HTTP: HTTPRules{TwoEndpoints: true, UnknownMethodStatus: 200},
	},
	{
		Revision: V20250326, ProgressMessage: true, Batch: true, Ping: true, ServerRequests: true, ClientProgress: true,
		HTTP: HTTPRules{Sessions: true, GetStream: true, Resume: true, FallbackAny4xx: true, UnknownMethodStatus: 200},
	},
	{
		Revision: V20250618, ProgressMessage: true, Ping: true, ServerRequests: true, ClientProgress: true,
		HTTP: HTTPRules{
			Sessions: true, GetStream: true, Resume: true, VersionHeader: true,
			FallbackAny4xx: true, UnknownMethodStatus: 200,
		},
	},
	{
		Revision: V20251125, ProgressMessage: true, Ping: true, ServerRequests: true, ClientProgress: true,
		AbsentID: true, ToolInputErrors: true,
		HTTP: HTTPRules{
			Sessions: true, GetStream: true, Resume: true, Priming: true, VersionHeader: true,
			UnknownMethodStatus: 200,
		},
	},
	{
		Revision: V20260728, ProgressMessage: true, Stateless: true, Listen: true, AbsentID: true,
		ToolInputErrors: true,
		HTTP:            HTTPRules{VersionHeader: true, MethodHeaders: true, CloseCancels: true, UnknownMethodStatus: 404},
	},
}

// All lists the revisions, oldest first. The slice is the caller's.
func All() []string {
	names := make([]string, len(table))
	for i := range table {
		names[i] = table[i].Revision
	}
	return names
}

// Known reports whether name is a revision of the protocol.
func Known(name string) bool { return Index(name) >= 0 }

// Index is the place of a revision in the order, from 0 for the oldest, or -1
// for a name that is none.
func Index(name string) int {
	return slices.IndexFunc(table, func(r Rules) bool { return r.Revision == name })
}

// Compare orders two revisions: negative when a is older. Unknown names come
// before all known ones.
func Compare(a, b string) int { return Index(a) - Index(b) }

// For returns the rules of a revision. For a name that is none it returns
// those of the newest stateful revision and false.
func For(name string) (*Rules, bool) {
	if i := Index(name); i >= 0 {
		return &table[i], true
	}
	r := LatestStateful()
	return &table[Index(r)], false
}

// Like returns the rules of a revision. For a name that is none, as of a draft,
// it returns those of the newest revision that is stateless or not, as asked,
// under that name.
func Like(name string, stateless bool) *Rules {
	if i := Index(name); i >= 0 {
		return &table[i]
	}
	for i := len(table) - 1; i >= 0; i-- {
		if table[i].Stateless == stateless {
			r := table[i]
			r.Revision = name
			return &r
		}
	}
	r, _ := For(name)
	return r
}

// LatestStateful is the newest revision with an initialize handshake: what a
// server counter-offers to a client that asks for a version it does not know.
func LatestStateful() string {
	for i := len(table) - 1; i >= 0; i-- {
		if !table[i].Stateless {
			return table[i].Revision
		}
	}
	return ""
}

// Stateful lists the revisions with an initialize handshake, oldest first.
func Stateful() []string { return names(false) }

// Stateless lists the revisions without one, oldest first.
func Stateless() []string { return names(true) }

func names(stateless bool) []string {
	var out []string
	for i := range table {
		if table[i].Stateless == stateless {
			out = append(out, table[i].Revision)
		}
	}
	return out
}
