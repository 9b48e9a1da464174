// Package checktest has a small server in memory that keeps the rules of every
// revision, and can be made to break one: the proof that a check sees what it
// is for, and that it stays quiet when there is nothing to see.
package checktest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Server is a server over a pair of byte streams. The zero value speaks every
// revision and keeps its rules.
type Server struct {
	// Versions are the revisions spoken, oldest first; nil is all of them.
	Versions []string
	// Without lists features that the server does not have: tools, prompts,
	// resources, completions, logging.
	Without []string

	// What follows breaks rules; nil keeps them.

	// Start is called before the first line is read.
	Start func(c *Conn)
	// Input sees each line before the server does and reports whether it has
	// dealt with it.
	Input func(c *Conn, line []byte) bool
	// Output may replace the answer to a request, a whole line without its
	// newline; "" sends nothing. req is nil for answers to what is no request.
	Output func(c *Conn, req *Request, answer string) string
	// Piecemeal takes what arrives at once for whole lines.
	Piecemeal bool
	// End is called when the input has ended.
	End func(c *Conn)
}

// Revisions that the server can speak.
var Revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// Request is a line that was read as a request or notification.
type Request struct {
	ID     wire.Raw // nil for a notification
	Method string
	Params wire.Raw
	Meta   wire.Raw // params._meta
	Modern bool     // it carries the metadata of a stateless revision
}

// Conn is one connection; its methods may be used by the functions of Server.
type Conn struct {
	Server   *Server
	Context  context.Context // ends when the server is killed
	Revision string          // agreed by handshake, "" before
	Level    string          // set by logging/setLevel
	State    map[string]any  // free for tests

	exit      int
	done      bool
	client    wire.Raw            // capabilities of the client
	asked     int                 // requests sent to the client
	waiting   map[string]*Request // calls that wait for the client, by the id of what it was asked
	tasks     []string            // ids of the tasks made
	subs      map[string]bool
	listening map[string]wire.Raw // open subscriptions: key of the id -> filter

	slow sync.WaitGroup // calls of the tool slow

	mu      sync.Mutex
	running map[string]context.CancelFunc // how to cancel them, by id
	in      io.Reader
	out     io.Writer
	errs    io.Writer
}

// Stderr writes a line of free text.
func (c *Conn) Stderr(text string) { _, _ = io.WriteString(c.errs, text+"\n") }

// Line writes a line as it is.
func (c *Conn) Line(text string) { c.Write(text + "\n") }

// Write writes bytes as they are.
func (c *Conn) Write(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.out, text)
}

// Exit makes the server end with a status after the line it works on.
func (c *Conn) Exit(status int) { c.exit, c.done = status, true }

// Hang blocks until the server is killed.
func (c *Conn) Hang() { <-c.Context.Done() }

// Speaks reports whether the server speaks a revision.
func (s *Server) Speaks(rev string) bool {
	if s.Versions == nil {
		return slices.Contains(Revisions, rev)
	}
	return slices.Contains(s.Versions, rev)
}

func (s *Server) versions(modern bool) []string {
	var out []string
	for _, r := range Revisions {
		if s.Speaks(r) && (r >= "2026") == modern {
			out = append(out, r)
		}
	}
	return out
}

// Has reports whether the server has a feature.
func (s *Server) Has(feature string) bool { return !slices.Contains(s.Without, feature) }

// Serve runs the server until its input ends and returns its exit status.
func (s *Server) Serve(ctx context.Context, in io.Reader, out, errs io.Writer) int {
	c := &Conn{Server: s, Context: ctx, in: in, out: out, errs: errs, State: map[string]any{}, subs: map[string]bool{}, waiting: map[string]*Request{}, running: map[string]context.CancelFunc{}, listening: map[string]wire.Raw{}}
	if s.Start != nil {
		s.Start(c)
	}
	r := bufio.NewReader(in)
	for buf := make([]byte, 1<<16); s.Piecemeal && !c.done; {
		n, err := in.Read(buf)
		if err != nil {
			break
		}
		for line := range bytes.SplitSeq(bytes.TrimSuffix(buf[:n], []byte{'\n'}), []byte{'\n'}) {
			c.line(line)
		}
	}
	for !s.Piecemeal && !c.done {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		c.line(bytes.TrimSuffix(line, []byte{'\n'}))
	}
	if !c.done && s.End != nil {
		s.End(c)
	}
	c.mu.Lock()
	for _, cancel := range c.running {
		cancel()
	}
	c.mu.Unlock()
	c.slow.Wait()
	return c.exit
}

func (c *Conn) line(line []byte) {
	if c.Server.Input != nil && c.Server.Input(c, line) {
		return
	}
	line = bytes.TrimRight(line, "\r")
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if answer := c.handle(line); answer != "" {
		c.Line(answer)
	}
}

// Handle answers one message as the good server does, hooks on output
// included; "" is no answer.
func (c *Conn) Handle(line []byte) string { return c.handle(line) }

func (c *Conn) handle(line []byte) string {
	v, err := wire.ParseRaw(bytes.TrimSpace(line))
	if err != nil || !utf8.Valid(line) {
		return c.output(nil, c.failure(nil, -32700, "the line is not JSON", ""))
	}
	if v.Kind() == wire.KindArray && c.Revision == "2025-03-26" {
		return c.batch(v)
	}
	req := &Request{ID: v.Get("id"), Params: v.Get("params")}
	method := v.Get("method")
	req.Method, _ = method.Str()
	req.Meta = req.Params.Get("_meta")
	req.Modern = req.Meta.Get(metaVersion) != nil || req.Meta.Get(metaCaps) != nil
	if v.Kind() == wire.KindObject && method == nil && (v.Get("result") != nil || v.Get("error") != nil) {
		c.reply(v)
		return ""
	}
	_, integer := req.ID.Int()
	idOK := req.ID == nil || req.ID.Kind() == wire.KindString || integer
	version, _ := v.Get("jsonrpc").Str()
	if v.Kind() != wire.KindObject || version != "2.0" || method.Kind() != wire.KindString || !idOK {
		id := req.ID
		if !idOK {
			id = nil
		}
		return c.output(nil, c.failure(id, -32600, "this is no request", ""))
	}
	if req.ID == nil {
		c.notification(req)
		return ""
	}
	if req.Params != nil && req.Params.Kind() != wire.KindObject {
		return c.output(req, c.failure(req.ID, -32602, "params is no object", ""))
	}
	answer := ""
	result, rerr := c.request(req)
	var e *rpcError
	switch {
	case errors.As(rerr, &e):
		answer = c.failure(req.ID, e.code, e.message, e.data)
	case result == "":
		return ""
	default:
		answer = `{"jsonrpc":"2.0","id":` + string(req.ID) + `,"result":` + result + `}`
	}
	return c.output(req, answer)
}

func (c *Conn) output(req *Request, answer string) string {
	if c.Server.Output != nil {
		return c.Server.Output(c, req, answer)
	}
	return answer
}

func (c *Conn) batch(v wire.Raw) string {
	var answers []string
	n := 0
	for e := range v.Elems() {
		n++
		if a := c.handle(e); a != "" {
			answers = append(answers, a)
		}
	}
	if n == 0 {
		return c.failure(nil, -32600, "an empty batch", "")
	}
	if len(answers) == 0 {
		return ""
	}
	return "[" + strings.Join(answers, ",") + "]"
}

type rpcError struct {
	code    int
	message string
	data    string
}

func (e *rpcError) Error() string { return e.message }

func fail(code int, message string) error { return &rpcError{code: code, message: message} }

// failure is an error response; an unreadable id is null where the schema
// wants one and left out where it does not.
func (c *Conn) failure(id wire.Raw, code int, message, data string) string {
	idPart := ""
	if id != nil {
		idPart = `,"id":` + string(id)
	} else if c.Revision != "" && c.Revision < "2025-11-25" {
		idPart = `,"id":null`
	}
	if data != "" {
		data = `,"data":` + data
	}
	return `{"jsonrpc":"2.0"` + idPart + `,"error":{"code":` + strconv.Itoa(code) + `,"message":` + quote(message) + data + `}}`
}

func quote(s string) string { return string(wire.Quote(s)) }

func obj(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

var png = base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))
