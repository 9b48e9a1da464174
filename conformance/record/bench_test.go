package record

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// frame200 is a call of 200 bytes with its newline.
var frame200 = []byte(`{"jsonrpc":"2.0","id":123456,"method":"tools/call","params":{"name":"echo","arguments":{"message":"` + strings.Repeat("a", 96) + `"}}}` + "\n")

// pingPong sends a frame to an echo and waits for it, again and again, and
// reports the median of the round trips in microseconds.
func pingPong(b *testing.B, w io.Writer, r io.Reader) time.Duration {
	br := bufio.NewReader(r)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		_, err := w.Write(frame200)
		require.NoError(b, err)
		_, err = br.ReadSlice('\n')
		require.NoError(b, err)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	p50 := took[len(took)/2]
	b.ReportMetric(float64(p50.Nanoseconds())/1000, "µs-P50-roundtrip")
	return p50
}

// pipes gives both ends of a pipe in each direction.
func pipes(b *testing.B) (clientIn, serverOut, serverIn, clientOut *os.File) {
	clientIn, serverOut, err := os.Pipe()
	require.NoError(b, err)
	serverIn, clientOut, err = os.Pipe()
	require.NoError(b, err)
	return clientIn, serverOut, serverIn, clientOut
}

// BenchmarkLatency compares round trips of 200-byte frames to a process that
// echoes: without a recorder, through a program that only passes bytes on, which
// is the least that can stand between, and through a recorder. A recorder is
// another process in use; here it runs in that of the client.
func BenchmarkLatency(b *testing.B) {
	b.Setenv(childVar, "echo")
	b.Run("direct", func(b *testing.B) {
		cmd := exec.Command(os.Args[0])
		in, err := cmd.StdinPipe()
		require.NoError(b, err)
		out, err := cmd.StdoutPipe()
		require.NoError(b, err)
		require.NoError(b, cmd.Start())
		pingPong(b, in, out)
		_ = in.Close()
		_ = cmd.Wait()
	})
	b.Run("passing on", func(b *testing.B) {
		clientIn, serverOut, serverIn, clientOut := pipes(b)
		cmd := exec.Command(os.Args[0])
		in, err := cmd.StdinPipe()
		require.NoError(b, err)
		out, err := cmd.StdoutPipe()
		require.NoError(b, err)
		require.NoError(b, cmd.Start())
		done := make(chan struct{}, 2)
		relay := func(w io.WriteCloser, r io.Reader) {
			buf := make([]byte, 64<<10)
			for {
				n, err := r.Read(buf)
				if n > 0 {
					_, _ = w.Write(buf[:n])
				}
				if err != nil {
					_ = w.Close()
					done <- struct{}{}
					return
				}
			}
		}
		go relay(in, serverIn)
		go relay(serverOut, out)
		pingPong(b, clientOut, clientIn)
		_ = clientOut.Close()
		<-done
		<-done
		_ = cmd.Wait()
	})
	b.Run("recorded", func(b *testing.B) {
		clientIn, serverOut, serverIn, clientOut := pipes(b)
		file, err := os.Create(b.TempDir() + "/bench.wire")
		require.NoError(b, err)
		log, err := NewLog(file, LogOptions{Target: "echo", Transport: "stdio"})
		require.NoError(b, err)
		done := make(chan error, 1)
		go func() {
			_, err := Stdio{In: serverIn, Out: serverOut, Err: io.Discard}.Run(b.Context(), log.Recorder(), []string{os.Args[0]})
			done <- err
		}()
		pingPong(b, clientOut, clientIn)
		_ = clientOut.Close()
		require.NoError(b, <-done)
		require.NoError(b, log.Close())
		require.NoError(b, file.Close())
	})
}

// BenchmarkLog is how many frames of 200 bytes a second a recorder writes to a
// file, in chunks as a busy stream gives them, and what it needs for each.
func BenchmarkLog(b *testing.B) {
	chunk := bytes.Repeat(frame200, 16)
	for _, tt := range []struct {
		name  string
		rules []string
	}{{"plain", nil}, {"redacting a member", []string{"member:password"}}, {"redacting a text", []string{"value:topsecret"}}} {
		b.Run(tt.name, func(b *testing.B) {
			rules, err := ParseRules(tt.rules, env)
			require.NoError(b, err)
			file, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			require.NoError(b, err)
			defer file.Close()
			log, err := NewLog(file, LogOptions{Transport: "stdio", Rules: rules})
			require.NoError(b, err)
			tap := log.Recorder().Tap('>')
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				_, _ = tap.Write(chunk)
				n += 16
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "frames/s")
			require.NoError(b, log.Close())
		})
	}
}
