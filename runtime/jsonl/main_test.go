package jsonl_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestMain makes the test binary its own child: with GOLDWIRE_CHILD it is a
// server of that kind on stdin and stdout.
func TestMain(m *testing.M) {
	if kind := os.Getenv("GOLDWIRE_CHILD"); kind != "" {
		os.Exit(child(kind))
	}
	code := m.Run()
	if code == 0 {
		code = leaks()
	}
	os.Exit(code)
}

// leaks fails the run when goroutines of this module are still there after a
// while.
func leaks() int {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 250 {
		buf := make([]byte, 1<<20)
		left := 0
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(stack, "goldwire/runtime/") && !strings.Contains(stack, "jsonl_test.leaks") {
				left++
			}
		}
		if left == 0 {
			return 0
		}
		<-tick.C
	}
	_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
	fmt.Fprintln(os.Stderr, "goroutines are left behind")
	return 1
}

func child(kind string) int {
	f, ok := children[kind]
	if !ok {
		fmt.Fprintln(os.Stderr, "unknown child", kind)
		return 2
	}
	return f()
}

var children = map[string]func() int{
	"pingpong": pingpong,
	"echo": func() int {
		if err := jsonrpc.Serve(context.Background(), jsonl.Stdio(), echoServer()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	},
}

// self is the test binary as a child of the given kind.
func self(kind string) *jsonl.Process {
	p := jsonl.Command(os.Args[0])
	p.Env = map[string]string{"GOLDWIRE_CHILD": kind, "GORACE": "atexit_sleep_ms=0"} // it exits without the race detector's second
	if testing.CoverMode() != "" {
		p.Env["GOCOVERDIR"] = os.TempDir()
	}
	return p
}

// The codecs of tools/call with an echo tool, in the shape of generated ones.

type callParams struct {
	Name      string
	Arguments wire.Raw
	token     jsonrpc.ID
}

func (p *callParams) DecodeJSON(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	var seen uint64
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			break
		}
		switch string(k) {
		case "name":
			if seen&1 != 0 {
				return d.Dup()
			}
			seen |= 1
			p.Name, err = d.Str()
		case "arguments":
			if seen&2 != 0 {
				return d.Dup()
			}
			seen |= 2
			p.Arguments, err = d.RawObject()
		default:
			_, err = d.Raw()
		}
		if err != nil {
			return err
		}
	}
	return d.Require(seen, 1, []string{"name"})
}

func (p *callParams) AppendJSON(b []byte) []byte {
	b = append(b, `{"name":`...)
	b = wire.AppendString(b, p.Name)
	if p.Arguments != nil {
		b = append(b, `,"arguments":`...)
		b = wire.AppendRaw(b, p.Arguments)
	}
	return append(b, '}')
}

func (p *callParams) Metadata() jsonrpc.Metadata     { return jsonrpc.Metadata{ProgressToken: p.token} }
func (p *callParams) SetMetadata(m jsonrpc.Metadata) { p.token = m.ProgressToken }

type textContent struct{ Text string }

type callResult struct{ Content []textContent }

func (r *callResult) AppendJSON(b []byte) []byte {
	b = append(b, `{"content":[`...)
	for i := range r.Content {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"type":"text","text":`...)
		b = wire.AppendString(b, r.Content[i].Text)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

func (r *callResult) DecodeJSON(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	for {
		k, done, err := d.Key()
		if err != nil || done {
			return err
		}
		if string(k) != "content" {
			if _, err := d.Raw(); err != nil {
				return err
			}
			continue
		}
		if err := d.ArrBegin(); err != nil {
			return err
		}
		for {
			done, err := d.Elem()
			if err != nil {
				return err
			}
			if done {
				break
			}
			var c textContent
			if err := d.ObjBegin(); err != nil {
				return err
			}
			for {
				k, done, err := d.Key()
				if err != nil {
					return err
				}
				if done {
					break
				}
				switch string(k) {
				case "text":
					c.Text, err = d.Str()
				default:
					_, err = d.Str()
				}
				if err != nil {
					return err
				}
			}
			r.Content = append(r.Content, c)
		}
	}
}

type object struct{ wire.Raw }

func (o *object) DecodeJSON(d *wire.Dec) (err error) {
	o.Raw, err = d.RawObject()
	return err
}
func (o *object) AppendJSON(b []byte) []byte     { return wire.AppendRaw(b, o.Raw) }
func (o *object) Metadata() jsonrpc.Metadata     { return jsonrpc.Metadata{} }
func (o *object) SetMetadata(m jsonrpc.Metadata) {}

const revision = "2025-11-25"

var methods = []jsonrpc.Method{
	{Name: "initialize", FromClient: true, ParamsRequired: true},
	{Name: "ping", FromClient: true, FromServer: true},
	{Name: "tools/call", FromClient: true, ParamsRequired: true, Capabilities: []string{"tools"}},
	{Name: "notifications/progress", Notification: true, FromClient: true, FromServer: true},
	{Name: "notifications/message", Notification: true, FromServer: true},
}

// echoServer has one tool, echo.
func echoServer() *jsonrpc.Service {
	return server(func(_ context.Context, p *callParams) (*callResult, error) {
		if p.Name != "echo" {
			return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "no such tool")
		}
		var d wire.Dec
		d.Reset(p.Arguments, wire.Options{Alias: true})
		text := ""
		if err := d.ObjBegin(); err != nil {
			return nil, err
		}
		for {
			k, done, err := d.Key()
			if err != nil {
				return nil, err
			}
			if done {
				break
			}
			if string(k) == "message" {
				text, err = d.Str()
			} else {
				_, err = d.Raw()
			}
			if err != nil {
				return nil, err
			}
		}
		return &callResult{Content: []textContent{{text}}}, nil
	})
}

func server(call func(context.Context, *callParams) (*callResult, error)) *jsonrpc.Service {
	svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: revision, Side: jsonrpc.ServerSide, Methods: methods})
	jsonrpc.HandleRequest(svc, "initialize", func(context.Context, *object) (*object, error) {
		return &object{wire.MustRaw(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"echo","version":"1"}}`)}, nil
	})
	jsonrpc.HandleRequest(svc, "tools/call", call)
	return svc
}

// withOptions is a service with options of the connection.
type withOptions struct {
	svc *jsonrpc.Service
	o   jsonrpc.Options
}

func (b withOptions) Bind() (jsonrpc.Chooser, error)                       { return b, nil }
func (b withOptions) Choose(*jsonrpc.Conn, *jsonrpc.Peek) *jsonrpc.Service { return b.svc }
func (b withOptions) Options() jsonrpc.Options                             { return b.o }

func client() *jsonrpc.Service {
	return jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: revision, Side: jsonrpc.ClientSide, Methods: methods})
}

// connect dials and makes the handshake.
func connect(ctx context.Context, d jsonrpc.Dialer, b jsonrpc.Binder) (*jsonrpc.Conn, error) {
	c, err := jsonrpc.Dial(ctx, d, b)
	if err != nil {
		return nil, err
	}
	_, err = jsonrpc.Initialize[object](ctx, c, &object{wire.MustRaw(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)})
	return c, err
}

func echo(ctx context.Context, c *jsonrpc.Conn, text string) (string, error) {
	p := &callParams{Name: "echo", Arguments: wire.Raw(append(wire.AppendString([]byte(`{"message":`), text), '}'))}
	r, err := jsonrpc.CallTyped[callResult](ctx, c, "tools/call", p)
	if err != nil {
		return "", err
	}
	return r.Content[0].Text, nil
}

// pingpong answers each line with a prepared one, into which the digits of the
// id are copied: the bare cost of the pipes.
func pingpong() int {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	answer := []byte(benchAnswer(benchBase) + "\n")
	at := bytes.Index(answer, []byte(`"id":`)) + 5
	var out []byte
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return 0
		}
		if bytes.Contains(line, []byte(`"initialize"`)) {
			out = append(out, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n"...)
		} else if bytes.Contains(line, []byte(`tools/call`)) {
			n := len(out)
			out = append(out, answer...)
			copy(out[n+at:n+at+7], line[at:at+7])
		}
		if in.Buffered() == 0 && len(out) > 0 {
			if _, err := os.Stdout.Write(out); err != nil {
				return 1
			}
			out = out[:0]
		}
	}
}

const (
	benchBase = 1_000_000 // ids have seven digits
	benchText = `the total of the third quarter is \"up\" by 4 %, see the report of the region`
)

func benchRequest(b []byte, id int) []byte {
	return fmt.Appendf(b, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"message":"%s"}}}`+"\n", id, benchText)
}

func benchAnswer(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}`, id, benchText)
}
