// Package streamhttp is Streamable HTTP, the transport of all revisions but the
// first, on both sides: a Handler for servers and an Endpoint for clients.
//
// # Servers
//
// NewHandler makes an http.Handler of a generated Server, or of several that
// compat joins. The era is chosen request by request.
//
//	http.Handle("/mcp", streamhttp.NewHandler(server))
//
// CORS in front of it lets pages of other origins in.
//
// # Clients
//
// An Endpoint is a dialer for every revision.
//
//	server, err := mcp.Connect(ctx, streamhttp.URL("https://example.com/mcp"), mcp.Client{Info: me})
//
// What its link does by itself:
//
//   - It sets the headers that repeat the body: those of 2026-07-28 by what the
//     tools that were listed ask for, the session's id and version in stateful
//     revisions. It leaves tools out of lists whose annotations for headers
//     break the rules, and lists tools again when the server refuses the headers
//     of a call.
//   - It keeps the GET stream of stateful revisions open, and takes up again the
//     stream of a call that broke, behind its last event and after the time that
//     the server asked for. A request is never posted twice there.
//   - In 2026-07-28, where a broken stream cannot be taken up again, it makes a
//     request again with a new id if that is a read, or a call of a tool that is
//     marked read-only or idempotent. Other calls fail with an
//     OutcomeUnknownError.
//   - It begins a session that the server has forgotten (404) again, and asks the
//     new one for the log level and the subscriptions of the old one.
//   - It falls back on HTTP+SSE where a server refuses initialize in the way
//     that servers of that transport do.
//   - It follows redirects within the origin and no others.
//   - It says when something on the way seems to hold back events.
//
// A deadline of a call covers all of that. What a link noticed and survived is
// told to Endpoint.Notices and counted in Link.Status, which is had from a
// connection by conn.Link().(*streamhttp.Link).
//
// Specification: basic/transports (2025-03-26 to 2025-11-25),
// basic/transports/streamable-http (2026-07-28).
package streamhttp
