//go:build unix

package jsonl_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// raw is a load generator on the bare pipes of a child: one thread, blocking
// reads and writes, so that what is measured is the child.
type rawPipes struct {
	cmd     *exec.Cmd
	in, out int // descriptors
	files   []*os.File
	buf     []byte
	i, j    int
	req     []byte
	id      int
	open    map[int]bool // ids that are outstanding
}

func startRaw(tb testing.TB, kind string) *rawPipes {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GOLDWIRE_CHILD="+kind)
	cmd.Stderr = os.Stderr
	inR, inW, err := os.Pipe()
	require.NoError(tb, err)
	outR, outW, err := os.Pipe()
	require.NoError(tb, err)
	cmd.Stdin, cmd.Stdout = inR, outW
	require.NoError(tb, cmd.Start())
	_ = inR.Close()
	_ = outW.Close()
	p := &rawPipes{cmd: cmd, in: int(inW.Fd()), out: int(outR.Fd()), files: []*os.File{inW, outR}, buf: make([]byte, 256<<10), id: benchBase, open: map[int]bool{}}
	require.NoError(tb, syscall.SetNonblock(p.in, false))
	require.NoError(tb, syscall.SetNonblock(p.out, false))
	p.write(tb, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`+"\n"))
	p.line(tb)
	p.write(tb, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"))
	return p
}

func (p *rawPipes) stop() {
	for _, f := range p.files {
		_ = f.Close()
	}
	_ = p.cmd.Wait()
}

func (p *rawPipes) write(tb testing.TB, b []byte) {
	for len(b) > 0 {
		n, err := syscall.Write(p.in, b)
		if err != nil {
			tb.Fatal(err)
		}
		b = b[n:]
	}
}

// buffered returns a line that is read already, nil if there is none.
func (p *rawPipes) buffered() []byte {
	k := bytes.IndexByte(p.buf[p.i:p.j], '\n')
	if k < 0 {
		return nil
	}
	line := p.buf[p.i : p.i+k]
	p.i += k + 1
	return line
}

func (p *rawPipes) line(tb testing.TB) []byte {
	for {
		if line := p.buffered(); line != nil {
			return line
		}
		p.j = copy(p.buf, p.buf[p.i:p.j])
		p.i = 0
		n, err := syscall.Read(p.out, p.buf[p.j:])
		if err != nil || n == 0 {
			tb.Fatal("child ended", err)
		}
		p.j += n
	}
}

// check looks at an answer. Those to calls made together may come in any
// order.
func (p *rawPipes) check(tb testing.TB, line []byte) {
	at := len(`{"jsonrpc":"2.0","id":`)
	id, err := strconv.Atoi(string(line[at : at+7]))
	if err != nil || !p.open[id] {
		tb.Fatalf("not an answer to what was asked: %.200s", line)
	}
	delete(p.open, id)
}

func (p *rawPipes) request(n int) []byte {
	p.req = p.req[:0]
	for range n {
		if p.id == 9_999_999 {
			p.id = benchBase
		}
		p.req = benchRequest(p.req, p.id)
		p.open[p.id] = true
		p.id++
	}
	return p.req
}

// one makes a call and waits for its answer.
func (p *rawPipes) one(tb testing.TB) {
	p.write(tb, p.request(1))
	p.check(tb, p.line(tb))
}

// burst makes n calls with at most 64 outstanding; those answered by one read
// are replaced by one write.
func (p *rawPipes) burst(tb testing.TB, n int) {
	out := min(n, 64)
	p.write(tb, p.request(out))
	for made := out; out > 0; {
		p.check(tb, p.line(tb))
		got := 1
		for line := p.buffered(); line != nil; line = p.buffered() {
			p.check(tb, line)
			got++
		}
		again := min(got, n-made)
		if again > 0 {
			p.write(tb, p.request(again))
		}
		made += again
		out += again - got
	}
}

// BenchmarkServer puts a raw load on a child that serves an echo tool, and in
// the same run on one that only copies bytes; "x-pingpong" is the ratio.
func BenchmarkServer(b *testing.B) {
	for _, way := range []int{1, 64} {
		b.Run(fmt.Sprintf("%d-way", way), func(b *testing.B) {
			b.ReportAllocs()
			bare, echo := startRaw(b, "pingpong"), startRaw(b, "echo")
			defer bare.stop()
			defer echo.stop()
			const block = 1000
			run := func(p *rawPipes) time.Duration {
				start := time.Now()
				if way == 1 {
					for range block {
						p.one(b)
					}
				} else {
					p.burst(b, block)
				}
				return time.Since(start)
			}
			run(bare)
			run(echo)
			var bareTimes, echoTimes []time.Duration
			for b.Loop() { // an iteration is a block of calls to each
				bareTimes = append(bareTimes, run(bare))
				echoTimes = append(echoTimes, run(echo))
			}
			// Medians, as others use the machine too.
			bareTime, echoTime := median(bareTimes)/block, median(echoTimes)/block
			b.ReportMetric(float64(bareTime.Nanoseconds()), "ns/pingpong")
			b.ReportMetric(float64(echoTime.Nanoseconds()), "ns/call")
			b.ReportMetric(float64(echoTime)/float64(bareTime), "x-pingpong")
		})
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// discard is an exchange whose answers go nowhere.
type discard struct{ n int }

func (d *discard) Notify(context.Context, jsonrpc.Frame) error { return nil }
func (d *discard) Reply(_ context.Context, f jsonrpc.Frame) error {
	d.n += len(f.Data)
	return nil
}
func (d *discard) Detach() {}

// BenchmarkReceive is a server's work on one call, without any carrier.
func BenchmarkReceive(b *testing.B) {
	b.ReportAllocs()
	c := jsonrpc.NewConn(nil, echoServer(), jsonrpc.ServerSide)
	ctx := context.Background()
	ex := &discard{}
	c.Receive(ctx, ex, jsonrpc.Frame{Data: []byte(sayInit)})
	c.Receive(ctx, ex, jsonrpc.Frame{Data: []byte(sayReady)})
	msg := bytes.TrimSuffix(benchRequest(nil, benchBase), []byte{'\n'})
	ex.n = 0
	for b.Loop() {
		c.Receive(ctx, ex, jsonrpc.Frame{Data: msg})
	}
	require.Equal(b, b.N*len(benchAnswer(benchBase)), ex.n)
}

// BenchmarkClient makes calls to a child that serves the echo tool, and in the
// same run sends bare lines to one that only copies bytes.
func BenchmarkClient(b *testing.B) {
	b.Run("1-way", func(b *testing.B) {
		b.ReportAllocs()
		bare := startRaw(b, "echo")
		defer bare.stop()
		c, err := connect(b.Context(), self("echo"), client())
		require.NoError(b, err)
		defer func() { _ = c.Close(context.Background()) }()
		const block = 500
		var bareTimes, times []time.Duration
		for b.Loop() {
			start := time.Now()
			for range block {
				bare.one(b)
			}
			bareTimes = append(bareTimes, time.Since(start))
			start = time.Now()
			for range block {
				if _, err := echo(b.Context(), c, benchText); err != nil {
					b.Fatal(err)
				}
			}
			times = append(times, time.Since(start))
		}
		x, y := median(bareTimes)/block, median(times)/block
		b.ReportMetric(float64(x), "ns/raw")
		b.ReportMetric(float64(y), "ns/call")
		b.ReportMetric(float64(y)/float64(x), "x-raw")
	})
	b.Run("64-way", func(b *testing.B) {
		b.ReportAllocs()
		c, err := connect(b.Context(), self("echo"), client())
		require.NoError(b, err)
		defer func() { _ = c.Close(context.Background()) }()
		b.SetParallelism(64 / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := echo(b.Context(), c, benchText); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

// BenchmarkLarge carries a result of 16 MiB from a child.
func BenchmarkLarge(b *testing.B) {
	b.ReportAllocs()
	c, err := connect(b.Context(), self("large"), client())
	require.NoError(b, err)
	defer func() { _ = c.Close(context.Background()) }()
	b.SetBytes(largeSize)
	for b.Loop() {
		got, err := echo(b.Context(), c, "x")
		if err != nil || len(got) != largeSize {
			b.Fatal(len(got), err)
		}
	}
}

const largeSize = 16 << 20

func init() {
	children["large"] = func() int {
		text := strings.Repeat("all the text of a large result, ", largeSize/32)
		return serveStdio(server(func(context.Context, *callParams) (*callResult, error) {
			return &callResult{Content: []textContent{{text}}}, nil
		}))
	}
}
