package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// frames reads all frames of a stream. A frame is its text, with a mark for
// what was wrong with it.
func frames(t testing.TB, r io.Reader, limit int) (got []string, err error) {
	t.Helper()
	l := newLines(r, limit)
	for {
		f, err := l.next()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil {
			return got, err
		}
		s := string(f.Data)
		switch {
		case errors.Is(f.Err, jsonrpc.ErrTooLong):
			var e *TooLongError
			require.ErrorAs(t, f.Err, &e)
			s = fmt.Sprintf("too long: %d, starts %.4s", e.Size, s)
		case errors.Is(f.Err, jsonrpc.ErrTruncated):
			s = "cut: " + s
		}
		got = append(got, s)
	}
}

// TestLines: one frame a line, however the bytes are chunked (rows 22, 71 to
// 73).
func TestLines(t *testing.T) {
	long := strings.Repeat("l", 2*partSize+17)
	piece := strings.Repeat("p", partSize)
	for _, c := range []struct {
		name, in string
		limit    int
		want     []string
	}{
		{"nothing", "", 1000, nil},
		{"lines", "a\nbb\nccc\n", 1000, []string{"a", "bb", "ccc"}},
		{"CRLF", "a\r\nb\r\r\n", 1000, []string{"a", "b\r"}},
		{"blank lines", "\n\r\n \t\na\n\n\n b \n\n", 1000, []string{"a", " b "}},
		{"no newline at the end", "a\nb", 1000, []string{"a", "cut: b"}},
		{"blank rest", "a\n \r", 1000, []string{"a"}},
		{"longer than the window", long + "\nb\n" + long + "\n\nc", 1 << 20, []string{long, "b", long, "cut: c"}},
		{"as long as pieces", piece + "\nb\n" + piece + piece + "\r\nc\n", 1 << 20, []string{piece, "b", piece + piece, "c"}},
		{"as long as a piece, cut", piece, 1 << 20, []string{"cut: " + piece}},
		{"longer than the window, cut", "a\n" + long, 1 << 20, []string{"a", "cut: " + long}},
		{"too long, within the window", "aaaaaaaa\nb\n", 7, []string{"too long: 8, starts aaaa", "b"}},
		{"exactly as long as allowed", "aaaaaaa\nb\n", 7, []string{"aaaaaaa", "b"}},
		{"exactly as long as allowed, in two windows", long + "\nb\n", len(long), []string{long, "b"}},
		{"too long, in several windows", long + "\nb\n", len(long) - 1, []string{fmt.Sprintf("too long: %d, starts llll", len(long)), "b"}},
		{"much too long", long + long + "\nb\n", 100, []string{fmt.Sprintf("too long: %d, starts llll", 2*len(long)), "b"}},
		{"too long and cut", long, 100, []string{fmt.Sprintf("too long: %d, starts llll", len(long))}},
		{"too long at the end", "aaaaaaaa", 7, []string{"too long: 8, starts aaaa"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"whole":     strings.NewReader(c.in),
				"bytes":     iotest.OneByteReader(strings.NewReader(c.in)),
				"halves":    iotest.HalfReader(strings.NewReader(c.in)),
				"with EOF":  iotest.DataErrReader(strings.NewReader(c.in)),
				"deadlines": &impatient{r: strings.NewReader(c.in)},
			} {
				got, err := frames(t, r, c.limit)
				require.ErrorIs(t, err, io.EOF, name)
				require.Equal(t, c.want, got, name)
			}
		})
	}
}

// impatient passes a deadline before each read; frames sees it as an error and
// reads on.
type impatient struct {
	r   io.Reader
	was bool
}

func (r *impatient) Read(b []byte) (int, error) {
	if r.was = !r.was; r.was {
		return 0, errDeadline{}
	}
	return r.r.Read(b)
}

type errDeadline struct{}

func (errDeadline) Error() string        { return "deadline" }
func (errDeadline) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// TestLinesFork: another reader goes on where one was left, and what that one
// handed out stays untouched.
func TestLinesFork(t *testing.T) {
	in := strings.Repeat("0123456789abcdef\n", 20000) + "end"
	r := strings.NewReader(in)
	l := newLines(r, 1000)
	kept := []jsonrpc.Frame{}
	n := 0
	for {
		f, err := l.next()
		if err != nil {
			break
		}
		if n++; n%7 == 0 {
			kept = append(kept, f)
			l = l.fork()
		} else if string(f.Data) != "0123456789abcdef" && f.Err == nil {
			t.Fatalf("frame %d is %q", n, f.Data)
		}
	}
	require.Equal(t, 20001, n)
	for _, f := range kept {
		require.Equal(t, "0123456789abcdef", string(f.Data))
	}
}

// TestEndlessLine: a line without end is read in bounded memory.
func TestEndlessLine(t *testing.T) {
	l := newLines(io.LimitReader(letters{}, 32<<20), 1<<20)
	f, err := l.next()
	require.NoError(t, err)
	require.ErrorIs(t, f.Err, jsonrpc.ErrTooLong)
	require.Len(t, f.Data, headSize)
	allocs := testing.AllocsPerRun(1, func() {
		l := newLines(io.LimitReader(letters{}, 16<<20), 1<<20)
		_, _ = l.next()
	})
	require.Less(t, allocs, 20.0)
}

type letters struct{}

func (letters) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\n c \nlast"), 3, 10)
	f.Add([]byte("\r\r\n\n\n"), 1, 5)
	f.Add(bytes.Repeat([]byte("0123456789\n"), 7000), 100, 8)
	f.Fuzz(func(t *testing.T, in []byte, chunk, limit int) {
		chunk, limit = max(1, min(chunk, 1<<17)), max(1, min(limit, 1<<18))
		var want []string
		for rest := in; len(rest) > 0; {
			line, after, whole := bytes.Cut(rest, []byte{'\n'})
			rest = after
			if blank(line) {
				continue
			}
			line = trim(line)
			switch {
			case len(line) > limit:
				// A carriage return may or may not count: within the window
				// it is seen at once.
				want = append(want, "too long")
			case !whole:
				want = append(want, "cut: "+string(line))
			default:
				want = append(want, string(line))
			}
		}
		got, err := frames(t, &chunks{in, chunk}, limit)
		require.ErrorIs(t, err, io.EOF)
		require.Len(t, got, len(want))
		for i := range want {
			if want[i] == "too long" || strings.HasPrefix(got[i], "too long") && len(want[i]) >= limit {
				require.True(t, strings.HasPrefix(got[i], "too long"), got[i])
				continue
			}
			require.Equal(t, want[i], got[i])
		}
	})
}

// chunks gives at most n bytes a read.
type chunks struct {
	b []byte
	n int
}

func (c *chunks) Read(b []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b, c.b[:min(c.n, len(c.b))])
	c.b = c.b[n:]
	return n, nil
}

// TestLineWithoutEndEndsTheLink holds that a peer which begins a line and never
// ends it, though it goes on to write, does not keep what waits for it waiting: the
// call fails with a *TooLongError, as the link ends with it.
func TestLineWithoutEndEndsTheLink(t *testing.T) {
	r, w := io.Pipe()
	defer func() { require.NoError(t, w.Close()) }()
	streams := Pipe(endless{}, w)
	streams.Options.MaxMessage = 1 << 20
	go func() { _, _ = io.Copy(io.Discard, r) }()
	conn, err := jsonrpc.Dial(t.Context(), streams, jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: "2025-11-25", Side: jsonrpc.ClientSide}))
	require.NoError(t, err)
	_, err = jsonrpc.CallMessage(t.Context(), conn, &jsonrpc.MessageCall{Method: "ping", Append: func(b []byte, id jsonrpc.ID) []byte {
		return append(id.AppendJSON(append(b, `{"jsonrpc":"2.0","method":"ping","id":`...)), '}')
	}})
	require.ErrorIs(t, err, jsonrpc.ErrTooLong)
	<-conn.Done()
	var e *TooLongError
	require.ErrorAs(t, conn.Err(), &e)
	require.Equal(t, 1<<20, e.Limit)
	require.InDelta(t, 1<<20+maxSkipped, e.Size, windowSize)
}

// endless is a stream of which no line ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
