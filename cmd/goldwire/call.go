package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/goldwire/goldwire/conformance/report"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

type callFlags struct {
	revision, logLevel        string
	headers                   []string
	timeout                   time.Duration
	tools, prompts, resources bool
	verbose                   bool
}

func callCommand() *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use:   "call [flags] URL METHOD [JSON]\n  goldwire call [flags] METHOD [JSON] -- CMD ARGS…",
		Short: "Call one method of a server",
		Long: `Connects to the server at URL, or starts it as CMD, makes the handshake of the
newest revision that it speaks, calls METHOD with JSON as its params (an object;
- reads it from stdin), and prints the result on stdout, as JSON and as it came.
In place of METHOD, --tools, --prompts or --resources lists what there is, all
pages of it.

Notifications of the server, progress among them, go to stderr, one JSON object
a line, and so do the end of CMD's stderr and an error that the server answers
with. The server cannot ask anything back: no client capability is declared. In
2026-07-28 a result may ask for input all the same; it is printed, and the call
can be made again with inputResponses and requestState.

An interrupt cancels the call at the server.

Exit status: 0 there is a result; 1 the server answered with an error, or with a
result that says isError or asks for input; 2 the command line makes no sense; 3
the server could not be started or reached, refuses the handshake or speaks no
common revision, stayed silent for --timeout, or ended before it had answered; 5
interrupted, or the result could not be printed. A list that the server does not
advertise is not asked for, with status 1.`,
		Example: `  goldwire call --tools -- npx -y @modelcontextprotocol/server-everything
  goldwire call http://localhost:8080/mcp tools/call '{"name":"echo","arguments":{"message":"hi"}}'
  echo '{"uri":"file:///a"}' | goldwire call resources/read - -- ./my-server`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.revision, "revision", "", "speak this `REVISION`, and no other")
	fl.BoolVar(&f.tools, "tools", false, "list the tools")
	fl.BoolVar(&f.prompts, "prompts", false, "list the prompts")
	fl.BoolVar(&f.resources, "resources", false, "list the resources")
	headerFlag(cmd, &f.headers)
	fl.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long the server may stay silent, start and handshake included; progress starts the time again; 0 waits for ever")
	fl.StringVar(&f.logLevel, "log-level", "", "ask for log messages of this `LEVEL` and above")
	fl.BoolVar(&f.verbose, "verbose", false, "pass all of CMD's stderr on")
	return cmd
}

// query is what the command line asks for.
type query struct {
	method string
	params wire.Raw // an object, nil for none
	list   string   // the member that holds the elements, where all pages are asked for
}

func (f *callFlags) run(cmd *cobra.Command, args []string) error {
	t, rest, err := targetOf(cmd, args, f.headers)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	q, err := f.query(cmd, rest)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	ctx := cmd.Context()
	c := &caller{f: f, errs: cmd.ErrOrStderr()}
	if f.timeout > 0 {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		c.silence = time.AfterFunc(f.timeout, func() { cancel(&silentError{f.timeout}) })
		defer c.silence.Stop()
	}
	t.log = slog.New(slog.DiscardHandler)
	if f.verbose {
		t.stderr = func(line string) { c.say("server: " + report.Plain(line)) }
	}
	result, err := c.ask(ctx, t.dialer(), q)
	if err != nil {
		return c.failure(cmd.Context(), err)
	}
	if err := printJSON(cmd.OutOrStdout(), result); err != nil {
		return &exitError{exitNoResult, err}
	}
	if bad, _ := result.Get("isError").Bool(); bad {
		return &exitError{code: exitBroken}
	}
	if kind, _ := result.Get("resultType").Str(); kind == "input_required" {
		return &exitError{exitBroken, errors.New("the result asks for input")}
	}
	return nil
}

// query reads what is to be called.
func (f *callFlags) query(cmd *cobra.Command, args []string) (query, error) {
	var lists []query
	for _, l := range []struct {
		on   bool
		name string
	}{{f.tools, "tools"}, {f.prompts, "prompts"}, {f.resources, "resources"}} {
		if l.on {
			lists = append(lists, query{method: l.name + "/list", list: l.name})
		}
	}
	switch {
	case f.revision != "" && !revision.Known(f.revision):
		return query{}, fmt.Errorf("--revision %s: no such revision; there are %s", f.revision, strings.Join(revision.All(), ", "))
	case f.timeout < 0:
		return query{}, fmt.Errorf("--timeout %s: want no less than nothing", f.timeout)
	case len(lists) > 1 || len(lists) == 1 && len(args) > 0:
		return query{}, errors.New("one of --tools, --prompts, --resources and METHOD says what to call")
	case len(lists) == 1:
		return lists[0], nil
	case len(args) == 0:
		return query{}, errors.New("no method is named")
	case len(args) > 2:
		return query{}, fmt.Errorf("a method and its params are all there is to say: %q is too much", args[2])
	}
	q := query{method: args[0]}
	if len(args) == 1 {
		return q, nil
	}
	text := []byte(args[1])
	if args[1] == "-" {
		var err error
		if text, err = io.ReadAll(cmd.InOrStdin()); err != nil {
			return q, fmt.Errorf("stdin: %w", err)
		}
	}
	raw, err := wire.ParseRaw(bytes.TrimSpace(text))
	switch {
	case err != nil:
		return q, fmt.Errorf("the params are not JSON: %w", err)
	case raw.Kind() != wire.KindObject:
		return q, fmt.Errorf("the params are %s: want an object", raw.Kind())
	}
	q.params = raw
	return q, nil
}

// caller makes the call. It is the relay of what the server sends meanwhile.
type caller struct {
	f       *callFlags
	silence *time.Timer // nil for none

	mu   sync.Mutex // of errs
	errs io.Writer
}

// silentError is a server that did not answer in time.
type silentError struct{ after time.Duration }

func (e *silentError) Error() string { return fmt.Sprintf("no answer within %s", e.after) }

func (c *caller) say(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintln(c.errs, line)
}

// sayError prints an error that the server answered with.
func (c *caller) sayError(e *jsonrpc.Error) {
	c.say(oneLine(append(e.AppendJSON([]byte(`{"error":`)), '}')))
}

// Request refuses what the server asks, but for ping.
func (c *caller) Request(ctx context.Context) (jsonrpc.Answer, error) {
	p := jsonrpc.PeerOf(ctx)
	if p.Method() == "ping" {
		return jsonrpc.Answer{Data: jsonrpc.AppendResult(nil, p.ID(), wire.Raw("{}"))}, nil
	}
	return jsonrpc.Answer{}, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method not found: %s", p.Method())
}

// Notification prints a notification.
func (c *caller) Notification(ctx context.Context) {
	p := jsonrpc.PeerOf(ctx)
	if p.Method() == "notifications/progress" {
		c.heard()
	}
	c.say(oneLine(p.Message()))
}

// heard gives the server its time again.
func (c *caller) heard() {
	if c.silence != nil {
		c.silence.Reset(c.f.timeout)
	}
}

// clients are those of the revisions that may be spoken.
func (c *caller) clients() (list []jsonrpc.Binder) {
	none := time.Duration(0)
	for _, rev := range revision.All() {
		if c.f.revision == "" || c.f.revision == rev {
			list = append(list, jsonrpc.NewService(jsonrpc.ServiceOptions{
				Revision: rev, Side: jsonrpc.ClientSide, Relay: c, Capabilities: wire.Raw("{}"), Info: clientInfo{},
				Options: jsonrpc.Options{Timeout: &none, MaxTimeout: &none, Logger: slog.New(slog.DiscardHandler)},
			}))
		}
	}
	return list
}

type clientInfo struct{}

func (clientInfo) AppendJSON(b []byte) []byte {
	b = wire.AppendString(append(b, `{"name":"goldwire","version":`...), version())
	return append(b, '}')
}

// ask connects to the server, calls it, and returns the result.
func (c *caller) ask(ctx context.Context, d jsonrpc.Dialer, q query) (wire.Raw, error) {
	conn, err := compat.DialRevisions(ctx, d, c.clients()...)
	if e, ok := err.(*jsonrpc.Error); ok && e.Remote {
		c.sayError(e)
		what := "the handshake"
		if c.f.revision != "" {
			what += " of " + c.f.revision
		}
		return nil, &exitError{exitTarget, fmt.Errorf("%s: %w", what, err)}
	}
	if err != nil {
		return nil, cmp.Or(ended(ctx), err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	c.heard()
	rules := conn.Service().Rules()
	if c.f.logLevel != "" && !rules.Stateless {
		level := append(wire.AppendString([]byte(`{"level":`), c.f.logLevel), '}')
		if _, err := c.call(ctx, conn, "logging/setLevel", level); err != nil {
			return nil, err
		}
	}
	if q.list == "" {
		return c.call(ctx, conn, q.method, q.params)
	}
	if conn.Session().Capabilities.Get(q.list) == nil {
		return nil, &exitError{exitBroken, fmt.Errorf("the server does not advertise %s; to ask it all the same, call %s", q.list, q.method)}
	}
	return c.pages(ctx, conn, q)
}

const maxPages = 1000

// pages asks for all pages of a list, and returns them as one.
func (c *caller) pages(ctx context.Context, conn *jsonrpc.Conn, q query) (wire.Raw, error) {
	out := append(wire.AppendString([]byte{'{'}, q.list), ":["...)
	var cursor wire.Raw
	n := 0
	for range maxPages {
		var params wire.Raw
		if cursor != nil {
			params = append(append([]byte(`{"cursor":`), cursor...), '}')
		}
		page, err := c.call(ctx, conn, q.method, params)
		if err != nil {
			return nil, err
		}
		for e := range page.Get(q.list).Elems() {
			if n++; n > 1 {
				out = append(out, ',')
			}
			out = append(out, e...)
		}
		next := page.Get("nextCursor")
		if next.Kind() != wire.KindString || wire.Equal(next, cursor) {
			break
		}
		cursor = next
	}
	return append(out, "]}"...), nil
}

// call makes one call and returns its result.
func (c *caller) call(ctx context.Context, conn *jsonrpc.Conn, method string, params wire.Raw) (wire.Raw, error) {
	stateless := conn.Service().Rules().Stateless
	a, err := jsonrpc.CallMessage(ctx, conn, &jsonrpc.MessageCall{Method: method, Append: func(b []byte, id jsonrpc.ID) []byte {
		return jsonrpc.AppendRequest(b, id, method, wire.Raw(c.withMeta(params, id, stateless, conn)))
	}})
	if err != nil {
		return nil, cmp.Or(ended(ctx), err)
	}
	c.heard()
	env, err := jsonrpc.ParseEnvelope(a.Data)
	switch {
	case err != nil:
		return nil, err
	case env.Error != nil:
		return nil, env.Error
	}
	return env.Result, nil
}

// withMeta adds to the params what a request carries in its _meta; what they have
// there already wins.
func (c *caller) withMeta(params wire.Raw, id jsonrpc.ID, stateless bool, conn *jsonrpc.Conn) []byte {
	add := wire.Members{{Name: "progressToken", Value: id.AppendJSON(nil)}}
	if stateless {
		const prefix = "io.modelcontextprotocol/"
		add = append(add,
			wire.Member{Name: prefix + "protocolVersion", Value: wire.Quote(conn.Session().Revision)},
			wire.Member{Name: prefix + "clientCapabilities", Value: wire.Raw("{}")},
			wire.Member{Name: prefix + "clientInfo", Value: clientInfo{}.AppendJSON(nil)})
		if c.f.logLevel != "" {
			add = append(add, wire.Member{Name: prefix + "logLevel", Value: wire.Quote(c.f.logLevel)})
		}
	}
	meta := params.Get("_meta")
	if meta != nil && meta.Kind() != wire.KindObject {
		return params // the server is to judge it
	}
	var b []byte
	for name, v := range params.Members() {
		if name != "_meta" {
			b = append(append(wire.AppendString(append(b, ','), name), ':'), v...)
		}
	}
	b = append(b, `,"_meta":`...)
	n := len(b)
	for name, v := range meta.Members() {
		b = append(append(wire.AppendString(append(b, ','), name), ':'), v...)
	}
	for _, m := range add {
		if meta.Get(m.Name) == nil {
			b = append(append(wire.AppendString(append(b, ','), m.Name), ':'), m.Value...)
		}
	}
	return wire.CloseObject(wire.CloseObject(b, n), 0)
}

// ended is why a context has ended for reasons of its own, nil if it has not.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

// failure gives a call that has no result its exit code.
func (c *caller) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exitError{exitNoResult, errInterrupted}
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit
	}
	if e, ok := err.(*jsonrpc.Error); ok && e.Remote {
		c.sayError(e)
		return &exitError{exitBroken, err}
	}
	return &exitError{exitTarget, err}
}

// oneLine is a message on one line that a terminal can show.
func oneLine(msg []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, msg) != nil {
		return fmt.Sprintf("%q", msg)
	}
	return b.String()
}

// printJSON prints a result: laid out on a terminal, elsewhere as it is.
func printJSON(w io.Writer, raw wire.Raw) error {
	var b bytes.Buffer
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		if err := json.Indent(&b, raw, "", "  "); err != nil {
			return err
		}
	} else {
		b.Write(raw)
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}
