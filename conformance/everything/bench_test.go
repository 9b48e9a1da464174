package everything_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/everything"
	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// child makes this program a server instead of a test: the reference server,
// or one that answers each line with fixed bytes.
const child = "GOLDWIRE_EVERYTHING_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(child) {
	case "serve":
		if err := jsonrpc.Serve(context.Background(), jsonl.Stdio(), everything.Server()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "pingpong":
		pingpong(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	message   = "the quick brown fox jumps over the lazy dog"
	arguments = `{"message":"` + message + `"}`
	pingText  = `{"jsonrpc":"2.0","id":1000001,"method":"tools/call","params":{"name":"echo","arguments":` + arguments + `}}` + "\n"
	pongText  = `{"jsonrpc":"2.0","id":1000001,"result":{"content":[{"type":"text","text":"` + message + `"}]}}` + "\n"
)

// pingpong answers each line with the same bytes, and lines that were read
// together together: what the pipes and the two processes cost by themselves.
func pingpong(r io.Reader, w io.Writer) {
	in := bufio.NewReaderSize(r, 64<<10)
	out := bufio.NewWriterSize(w, 64<<10)
	for {
		if _, err := in.ReadSlice('\n'); err != nil {
			return
		}
		if _, err := out.WriteString(pongText); err != nil {
			return
		}
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}

// BenchmarkEcho calls the echo tool of a server in another process, by the
// generated client and the generated server of both eras, one call at a time
// and 64 at once, beside bytes of the same length that nobody reads.
func BenchmarkEcho(b *testing.B) {
	for _, ways := range []int{1, 64} {
		b.Run(fmt.Sprintf("pingpong/%d-way", ways), func(b *testing.B) { benchPipe(b, ways) })
		b.Run(fmt.Sprintf("2025-11-25/%d-way", ways), func(b *testing.B) {
			s, err := legacy.Connect(b.Context(), server(), legacy.Client{Info: legacy.Implementation{Name: "bench", Version: "1"}})
			require.NoError(b, err)
			benchCalls(b, ways, s.Close, func(ctx context.Context) (string, error) {
				res, err := s.CallTool(ctx, &legacy.CallToolParams{Name: "echo", Arguments: wire.Raw(arguments)})
				if err != nil {
					return "", err
				}
				return res.Content[0].(*legacy.TextContent).Text, nil
			})
		})
		b.Run(fmt.Sprintf("2026-07-28/%d-way", ways), func(b *testing.B) {
			s, err := modern.Connect(b.Context(), server(), modern.Client{Info: modern.Implementation{Name: "bench", Version: "1"}})
			require.NoError(b, err)
			benchCalls(b, ways, s.Close, func(ctx context.Context) (string, error) {
				res, err := s.CallTool(ctx, &modern.CallToolParams{Name: "echo", Arguments: wire.Raw(arguments)})
				if err != nil {
					return "", err
				}
				return res.Content[0].(*modern.TextContent).Text, nil
			})
		})
	}
}

func server() *jsonl.Process {
	p := jsonl.Command(os.Args[0])
	p.Env = map[string]string{child: "serve"}
	return p
}

func benchCalls(b *testing.B, ways int, closeServer func() error, call func(context.Context) (string, error)) {
	b.ReportAllocs()
	defer func() { require.NoError(b, closeServer()) }()
	ctx := b.Context()
	if ways == 1 {
		for b.Loop() {
			if text, err := call(ctx); err != nil || text != message {
				b.Fatal(text, err)
			}
		}
		return
	}
	b.SetParallelism(max(1, ways/runtime.GOMAXPROCS(0))) // each goroutine waits for its answer
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if text, err := call(ctx); err != nil || text != message {
				b.Error(text, err)
				return
			}
		}
	})
}

func benchPipe(b *testing.B, ways int) {
	b.ReportAllocs()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), child+"=pingpong")
	w, err := cmd.StdinPipe()
	require.NoError(b, err)
	r, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	defer func() {
		_ = w.Close()
		require.NoError(b, cmd.Wait())
	}()
	in := bufio.NewReaderSize(r, 64<<10)
	out := bufio.NewWriterSize(w, 64<<10)
	send := func() {
		if _, err := out.WriteString(pingText); err != nil {
			b.Fatal(err)
		}
	}
	for range ways - 1 {
		send()
	}
	for b.Loop() { // one request out, one answer in, the others outstanding
		send()
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := in.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
}
