// Package bridge joins clients and a server that differ in transport, in
// revision, or in both: a Bridge is served like any server, over any transport,
// and passes what comes on to what a jsonrpc.Dialer reaches.
//
//	b := bridge.New(jsonl.Command("my-server"), bridge.Options{})
//	defer b.Close(context.Background())
//	http.Handle("/mcp", streamhttp.NewHandler(b))
//
// # What is passed
//
// Where client and server speak the same revision, messages are passed byte for
// byte. What changes is what each connection counts for itself: the ids of
// requests, requestId, progressToken, and the id of a subscription in _meta.
// Where they differ, messages are converted by package compat, and what the
// other revision cannot say is logged, each loss once.
//
// # Who gets which server
//
// Each session of a stateful revision has a server of its own, a child process
// or a session over HTTP, which ends with it; when the server ends first, what
// waits for it is answered with an error that says how it ended, and the session
// ends too, so that the client begins another one. With Options.Shared all
// sessions share one. Requests of the stateless revision always do. A shared
// server that has ended is started again for the next request.
//
// # How long a call may take
//
// The bridge bounds no call: who makes it does, and what it gives up is given up
// at the server. A server that has ended, or whose carrier has (a line from it
// without end ends its carrier, see jsonl.Options.MaxMessage), answers nothing
// any more, and all that waits for it fails at once. Of what servers ask, each has
// as much under way as jsonrpc.Options.MaxInFlight allows; the rest is refused.
//
// # Who is asked
//
// What a server of a stateful revision asks in the middle of a call is for the
// client who made the call. HTTP tells which one that is. Stdio does not: where
// clients without sessions share a server there, it asks the one whose call is
// under way, and is refused while several clients have calls with it, or another
// one has given a call up in the last three minutes. A call whose client has been
// asked and does not come back is under way for five minutes.
package bridge
