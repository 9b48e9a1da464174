package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// seen is an event with bytes of its own.
type seen struct {
	Type, Data, ID string
	HasID          bool
	Retry          time.Duration
}

func all(t testing.TB, r *Reader) (events []seen, err error) {
	t.Helper()
	for {
		e, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, seen{e.Type, string(e.Data), string(e.ID), e.HasID, e.Retry})
	}
}

func msg(data string) seen { return seen{Type: "message", Data: data} }

var streams = []struct {
	rule string
	in   string
	want []seen
	cut  bool // the end comes within an event
	id   string
}{
	{rule: "an event ends with a blank line", in: "data: a\n\n", want: []seen{msg("a")}},
	{rule: "without a trailing blank line the event is dropped", in: "data: a\n\ndata: b\n", want: []seen{msg("a")}, cut: true},
	{rule: "without a trailing line end the event is dropped", in: "data: a\n\ndata: b", want: []seen{msg("a")}, cut: true},
	{rule: "many data lines are joined by LF", in: "data: a\ndata: b\ndata:\ndata: c\n\n", want: []seen{msg("a\nb\n\nc")}},
	{rule: "data lines are joined across other fields", in: "data: a\nevent: x\n: c\ndata: b\nid: 1\ndata: c\n\n", want: []seen{{"x", "a\nb\nc", "1", true, 0}}, id: "1"},
	{rule: "CR ends a line", in: "data: a\rdata: b\r\r", want: []seen{msg("a\nb")}},
	{rule: "CRLF ends a line once", in: "data: a\r\ndata: b\r\n\r\n", want: []seen{msg("a\nb")}},
	{rule: "LF CR are two line ends", in: "data: a\n\rdata: b\n\n", want: []seen{msg("a"), msg("b")}},
	{rule: "all line ends in one stream", in: "data: a\n\ndata: b\r\rdata: c\r\n\r\ndata: d\r\n\n", want: []seen{msg("a"), msg("b"), msg("c"), msg("d")}},
	{rule: "sse-cr-only-and-mixed: LF after CR belongs to it", in: "data: 1\rdata: 2\r\n", cut: true},
	{rule: "sse-cr-only-and-mixed: two CR end the event", in: "data: 1\rdata: 2\r\r", want: []seen{msg("1\n2")}},
	{rule: "sse-crlf-split-across-chunks", in: "event: endpoint\r\ndata: /m?s=1\r\n\r\n", want: []seen{{Type: "endpoint", Data: "/m?s=1"}}},
	{rule: "sse-event-without-event-field: the type is message", in: "data: {}\n\n", want: []seen{msg("{}")}},
	{rule: "sse-comment-line-is-an-error: it is none", in: ": keep-alive\n\ndata: {}\n\n", want: []seen{msg("{}")}},
	{rule: "a comment without text", in: ":\ndata: a\n:\n\n:\n\n", want: []seen{msg("a")}},
	{rule: "sse-empty-data-priming-event", in: "id: 0\nretry: 3000\ndata:\n\ndata: {}\n\n", want: []seen{{"message", "", "0", true, 3 * time.Second}, {"message", "{}", "0", false, 0}}, id: "0"},
	{rule: "a block without data is no event, but its id holds", in: "id: 7\n\ndata: a\n\n", want: []seen{{"message", "a", "7", false, 0}}, id: "7"},
	{rule: "a block without data loses its type", in: "event: x\n\ndata: a\n\n", want: []seen{msg("a")}},
	{rule: "the id of an event that is dropped does not hold", in: "id: 1\ndata: a\n\nid: 2\ndata: b\n", want: []seen{{"message", "a", "1", true, 0}}, cut: true, id: "1"},
	{rule: "an id with NUL is ignored", in: "id: a\x00b\ndata: x\n\n", want: []seen{msg("x")}},
	{rule: "an empty id forgets the one before", in: "id: 1\ndata: a\n\nid\ndata: b\n\n", want: []seen{{"message", "a", "1", true, 0}, {"message", "b", "", true, 0}}},
	{rule: "the last id of an event holds", in: "id: 1\nid: 2\ndata: a\n\n", want: []seen{{"message", "a", "2", true, 0}}, id: "2"},
	{rule: "a retry of other than digits is ignored", in: "retry: -1\nretry: 1.5\nretry:\nretry: 1s\ndata: a\n\n", want: []seen{msg("a")}},
	{rule: "a retry that no duration holds", in: "retry: 99999999999999999999999999\ndata: a\n\n", want: []seen{{Type: "message", Data: "a", Retry: 9223372036854 * time.Millisecond}}},
	{rule: "one space after the colon is dropped", in: "data:a\ndata: b\ndata:  c\ndata:\td\n\n", want: []seen{msg("a\nb\n c\n\td")}},
	{rule: "a line without colon is a field with an empty value", in: "data\ndata\n\n", want: []seen{msg("\n")}},
	{rule: "one empty data line is empty data", in: "data\n\n", want: []seen{msg("")}},
	{rule: "unknown fields are ignored", in: "foo: a\nDATA: b\n data: c\ndata: d\nbar\n\n", want: []seen{msg("d")}},
	{rule: "a colon in the value", in: "data: a: b:c\n\n", want: []seen{msg("a: b:c")}},
	{rule: "a byte order mark at the start is dropped", in: "\xef\xbb\xbfdata: a\n\n", want: []seen{msg("a")}},
	{rule: "a second byte order mark is not", in: "\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", want: []seen{msg("b")}},
	{rule: "a byte order mark later is part of a line", in: "data: a\n\n\xef\xbb\xbfdata: b\n\n", want: []seen{msg("a")}},
	{rule: "a byte order mark before a blank line", in: "\xef\xbb\xbf\ndata: a\n\n", want: []seen{msg("a")}},
	{rule: "utf8-split-across-chunks", in: "data: \xe4\xb8\xad\n\n", want: []seen{msg("\u4e2d")}},
	{rule: "splitlines-on-jsonl-and-sse: no other character ends a line", in: "data: a\u0085b\u2028c\u2029d\v\f\x1c\x1d\x1e\n\n", want: []seen{msg("a\u0085b\u2028c\u2029d\v\f\x1c\x1d\x1e")}},
	{rule: "text that is not UTF-8 is left alone", in: "data: \xff\xfe\n\n", want: []seen{msg("\xff\xfe")}},
	{rule: "NUL in data is data", in: "data: a\x00b\n\n", want: []seen{msg("a\x00b")}},
	{rule: "an empty stream", in: ""},
	{rule: "blank lines only", in: "\n\r\n\r\n\n"},
	{rule: "a comment that is cut is no event", in: "data: a\n\n: keep", want: []seen{msg("a")}},
}

func checkStream(t *testing.T, i int, in io.Reader, how string) {
	t.Helper()
	c := streams[i]
	r := NewReader(in, 0)
	got, err := all(t, r)
	if diff := cmp.Diff(c.want, got); diff != "" {
		t.Fatalf("%s: %s", how, diff)
	}
	if c.cut {
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, how)
	} else {
		require.Equal(t, io.EOF, err, how)
	}
	require.Equal(t, c.id, string(r.LastEventID()), how)
	_, again := r.Next()
	require.Equal(t, err, again, "the end stays")
	r.Release()
}

func TestReader(t *testing.T) {
	for i, c := range streams {
		t.Run(c.rule, func(t *testing.T) {
			checkStream(t, i, strings.NewReader(c.in), "whole")
			checkStream(t, i, iotest.OneByteReader(strings.NewReader(c.in)), "byte by byte")
			checkStream(t, i, iotest.DataErrReader(strings.NewReader(c.in)), "the end comes with the last bytes")
			for a := range len(c.in) {
				for b := a; b <= len(c.in); b++ {
					checkStream(t, i, io.MultiReader(strings.NewReader(c.in[:a]), strings.NewReader(c.in[a:b]), strings.NewReader(c.in[b:])), fmt.Sprintf("cut at %d and %d", a, b))
				}
			}
		})
	}
}

// oracle parses a whole stream word for word as the standard does, without its
// decoding of UTF-8.
func oracle(in string) (events []seen) {
	in = strings.TrimPrefix(in, "\xef\xbb\xbf")
	in = strings.ReplaceAll(in, "\r\n", "\n")
	in = strings.ReplaceAll(in, "\r", "\n")
	lines := strings.Split(in, "\n")
	lines = lines[:len(lines)-1]
	var data, typ, id string
	hasData, hasID := false, false
	var retry time.Duration
	for _, line := range lines {
		if line == "" {
			if hasData {
				e := seen{typ, strings.TrimSuffix(data, "\n"), id, hasID, retry}
				if typ == "" {
					e.Type = "message"
				}
				events = append(events, e)
			}
			data, typ, hasData, hasID, retry = "", "", false, false, 0
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data += value + "\n"
			hasData = true
		case "event":
			typ = value
		case "id":
			if !strings.Contains(value, "\x00") {
				id, hasID = value, true
			}
		case "retry":
			if d, ok := millis([]byte(value)); ok {
				retry = d
			}
		}
	}
	return events
}

func TestReaderAgreesWithTheStandardOnEveryPrefix(t *testing.T) {
	var whole strings.Builder
	for _, c := range streams {
		whole.WriteString(c.in)
	}
	in := whole.String()
	for n := range len(in) + 1 {
		got, _ := all(t, NewReader(iotest.HalfReader(strings.NewReader(in[:n])), 0))
		if diff := cmp.Diff(oracle(in[:n]), got); diff != "" {
			t.Fatalf("prefix of %d bytes: %s", n, diff)
		}
	}
}

// Sizes about those of the window and the pieces.
var sizes = []int{0, 1, windowSize - 8, windowSize - 7, windowSize - 6, windowSize - 5, windowSize, windowSize + 1, 65537, pieceSize - 1, pieceSize, pieceSize + 1, 3*pieceSize - 6, 1 << 20, 10 << 20}

func TestReaderTakesLongLines(t *testing.T) {
	for _, n := range sizes {
		for _, end := range []string{"\n", "\r", "\r\n"} {
			text := strings.Repeat("x", n)
			in := "id: 1" + end + "data: a" + end + end +
				"data: " + text + end + "id: 2" + end + end +
				"data: b" + end + "data: " + text + end + "data: " + text + end + end +
				": " + text + end + "foo: " + text + end + "data: c" + end + end
			got, err := all(t, NewReader(iotest.HalfReader(strings.NewReader(in)), 0))
			require.Equal(t, io.EOF, err)
			want := []seen{{"message", "a", "1", true, 0}, {"message", text, "2", true, 0}, {"message", "b\n" + text + "\n" + text, "2", false, 0}, {"message", "c", "2", false, 0}}
			require.True(t, cmp.Equal(want, got), "size %d, line end %q", n, end)
		}
	}
}

func TestReaderTakesManyLines(t *testing.T) {
	for _, n := range []int{10, windowSize / 8, windowSize, 4 * windowSize} {
		in := ": start\ndata: first\n\n" + strings.Repeat("data: y\n", n) + "\ndata: last\n\n"
		got, err := all(t, NewReader(strings.NewReader(in), 0))
		require.Equal(t, io.EOF, err)
		require.True(t, cmp.Equal([]seen{msg("first"), msg(strings.Repeat("y\n", n-1) + "y"), msg("last")}, got), "%d lines", n)
	}
}

func TestReaderBounds(t *testing.T) {
	const limit = 1000
	x := func(n int) string { return strings.Repeat("x", n) }
	big := strings.Repeat("x", 3*windowSize)
	for _, c := range []struct {
		rule, in, what string
		limit          int
	}{
		{"data at the bound", "data: " + x(limit) + "\n\n", "", limit},
		{"data above the bound", "data: " + x(limit+1) + "\n\n", "event", limit},
		{"sse-cap-differs-by-line-and-event: one bound for the event, in lines", "data: " + x(limit/2) + "\ndata: " + x(limit/2) + "\n\n", "event", limit},
		{"many lines at the bound", "data: " + x(499) + "\ndata: " + x(500) + "\n\n", "", limit},
		{"data above the bound in a long line", "data: " + big + "\n\n", "event", limit},
		{"data above the bound that is seen with the line's end", "data: " + x(windowSize) + "\n\n", "event", windowSize - 1},
		{"data above the bound with lines before it", "data: a\ndata: " + big + "\ndata: b\n\n", "event", 2 * windowSize},
		{"a long comment", ": " + x(windowSize+limit) + "\n\n", "", 2 * windowSize},
		{"an endless comment", ": " + big + "\n\n", "line", 2 * windowSize},
		{"an endless line of an unknown field", "foo: " + big + "\n\n", "line", limit},
		{"an endless line without colon", big + "\n\n", "line", limit},
		{"a long type", "event: " + x(maxField+1) + "\ndata: a\n\n", "type", limit},
		{"an endless type", "event: " + big + "\ndata: a\n\n", "type", limit},
		{"a long id", "id: " + x(maxField+1) + "\ndata: a\n\n", "id", limit},
		{"an endless id", "data: a\nid: " + big + "\n\n", "id", limit},
	} {
		t.Run(c.rule, func(t *testing.T) {
			for _, src := range []io.Reader{strings.NewReader(c.in + "id: 9\ndata: next\n\n"), iotest.OneByteReader(strings.NewReader(c.in + "id: 9\ndata: next\n\n"))} {
				r := NewReader(src, c.limit)
				var last Event
				var long *TooLongError
				for {
					e, err := r.Next()
					if errors.As(err, &long) {
						require.ErrorIs(t, err, ErrTooLong)
						require.LessOrEqual(t, len(long.Head), headSize)
						require.NotEmpty(t, err.Error())
						continue
					}
					if err != nil {
						require.Equal(t, io.EOF, err)
						break
					}
					last = e
					last.Data = bytes.Clone(e.Data)
				}
				require.Equal(t, "next", string(last.Data), "the stream goes on behind it")
				if c.what == "" {
					require.Nil(t, long)
				} else {
					require.NotNil(t, long)
					require.Equal(t, c.what, long.What)
				}
			}
		})
	}
}

func TestReaderReportsAnEndlessEventAtOnce(t *testing.T) {
	for _, line := range []string{"data: x\n", "data: x", ": x", "id: x", "event: x", "foo: x"} {
		src := &endless{text: line}
		_, err := NewReader(src, 1<<20).Next()
		require.ErrorIs(t, err, ErrTooLong, line)
		require.Less(t, src.n, 1<<20*len("data: x\n")+2*windowSize, line)
	}
}

// endless repeats a text for ever.
type endless struct {
	text string
	n    int
}

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = e.text[e.n%len(e.text)]
		e.n++
	}
	return len(b), nil
}

func TestReaderSkipsATooLongEventButKeepsItsID(t *testing.T) {
	r := NewReader(strings.NewReader("id: 1\ndata: 1\n\ndata: too long\nid: 2\ndata: x\n\ndata: 3\n\n"), 5)
	_, err := r.Next()
	require.NoError(t, err)
	_, err = r.Next()
	require.ErrorIs(t, err, ErrTooLong)
	e, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, "3", string(e.Data))
	require.Equal(t, "2", string(e.ID), "a stream that is taken up again must not bring the event again")
}

func TestReaderErrors(t *testing.T) {
	broken := errors.New("broken")
	got, err := all(t, NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)), 0))
	require.ErrorIs(t, err, broken)
	require.Equal(t, []seen{msg("a")}, got)

	_, err = all(t, NewReader(io.MultiReader(strings.NewReader("data: "+strings.Repeat("x", 2*windowSize)), iotest.ErrReader(broken)), 0))
	require.ErrorIs(t, err, broken)

	_, err = NewReader(idle{}, 0).Next()
	require.ErrorIs(t, err, io.ErrNoProgress)
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestReaderReset(t *testing.T) {
	r := NewReader(strings.NewReader("retry: 20\nid: 5\ndata: a\n\nid: 6\ndata: b\r"), 0)
	_, err := all(t, r)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	r.Reset(strings.NewReader("\xef\xbb\xbf\ndata: c\n\n"))
	e, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, "c", string(e.Data))
	require.Equal(t, "5", string(e.ID), "the id of the event that was dropped does not hold")
	d, ok := r.Retry()
	require.True(t, ok)
	require.Equal(t, 20*time.Millisecond, d)
	require.Equal(t, "5", string(r.LastEventID()))
	r.Release()
	r.Reset(strings.NewReader("data: d\n\n"))
	got, err := all(t, r)
	require.Equal(t, io.EOF, err)
	require.Equal(t, []seen{{"message", "d", "5", false, 0}}, got)
}

func TestReaderKnowsTheEnd(t *testing.T) {
	r := NewReader(iotest.DataErrReader(strings.NewReader("data: a\n\ndata: b\n\n")), 0)
	require.False(t, r.Ended())
	_, err := r.Next()
	require.NoError(t, err)
	require.True(t, r.Ended(), "what is left is buffered")
	got, err := all(t, r)
	require.Equal(t, io.EOF, err)
	require.Len(t, got, 1)
}

func TestReaderComments(t *testing.T) {
	var comments []string
	r := NewReader(strings.NewReader(": a\n:b\n:\ndata: x\n: c\n\n"), 0)
	r.Comment = func(text []byte) { comments = append(comments, string(text)) }
	_, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, []string{" a", "b", "", " c"}, comments)
	require.Equal(t, r.i, r.j, "nothing is left unread")
}

func TestAppend(t *testing.T) {
	for _, c := range []struct {
		rule string
		e    Event
		want string
	}{
		{"data only", Event{Data: []byte("a")}, "data: a\n\n"},
		{"no data is empty data", Event{}, "data: \n\n"},
		{"all fields", Event{Type: "message", Data: []byte("a"), ID: []byte("7"), HasID: true, Retry: 1500 * time.Millisecond}, "id: 7\nevent: message\nretry: 1500\ndata: a\n\n"},
		{"a priming event", Event{ID: []byte("s/0"), HasID: true}, "id: s/0\ndata: \n\n"},
		{"an empty id", Event{HasID: true}, "id: \ndata: \n\n"},
		{"an id that is not sent", Event{ID: []byte("1")}, "data: \n\n"},
		{"a short retry", Event{Retry: time.Microsecond}, "retry: 1\ndata: \n\n"},
		{"every line end in data", Event{Data: []byte("a\nb\rc\r\nd\n")}, "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"},
		{"a leading space in data", Event{Data: []byte(" a")}, "data:  a\n\n"},
		{"U+2028 is left alone", Event{Data: []byte("a\u2028b\u0085")}, "data: a\u2028b\u0085\n\n"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			b, err := Append([]byte("before|"), c.e)
			require.NoError(t, err)
			require.Equal(t, "before|"+c.want, string(b))
			var out bytes.Buffer
			require.NoError(t, NewWriter(&out).Event(c.e))
			require.Equal(t, c.want, out.String())
		})
	}
	for _, e := range []Event{{Type: "a\nb"}, {Type: "a\r"}, {HasID: true, ID: []byte("a\nb")}, {HasID: true, ID: []byte("\r")}, {HasID: true, ID: []byte("a\x00")}, {Type: "\n", Data: make([]byte, writeApart)}} {
		b, err := Append([]byte("before"), e)
		var field *FieldError
		require.ErrorAs(t, err, &field)
		require.NotEmpty(t, err.Error())
		require.Equal(t, "before", string(b))
		var out bytes.Buffer
		require.Error(t, NewWriter(&out).Event(e))
		require.Zero(t, out.Len())
	}
}

func TestWriterComment(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, NewWriter(&out).Comment("a\nb\r\nc\rd"))
	require.Equal(t, ": a\n: b\n: c\n: d\n", out.String())
	got, err := all(t, NewReader(&out, 0))
	require.Empty(t, got)
	require.Equal(t, io.EOF, err)
}

func TestWriterRoundTrip(t *testing.T) {
	for _, n := range append(sizes, writeApart-1, writeApart) {
		var out bytes.Buffer
		w := NewWriter(&out)
		text := strings.Repeat("z", n)
		require.NoError(t, w.Event(Event{Type: "t", Data: []byte(text), HasID: true, ID: []byte("1")}))
		require.NoError(t, w.Event(Event{Data: []byte(text + "\n" + text)}))
		got, err := all(t, NewReader(&out, 0))
		require.Equal(t, io.EOF, err)
		require.True(t, cmp.Equal([]seen{{"t", text, "1", true, 0}, {"message", text + "\n" + text, "1", false, 0}}, got), "%d", n)
	}
}

func TestWriterErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, size := range []int{1, writeApart} {
		for ok := range 3 {
			w := NewWriter(&failing{after: ok, err: broken})
			err := w.Event(Event{Data: make([]byte, size)})
			if size == 1 && ok > 0 {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, broken)
			}
		}
	}
}

type failing struct {
	after int
	err   error
}

func (f *failing) Write(b []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, f.err
	}
	return len(b), nil
}

func FuzzReader(f *testing.F) {
	for _, c := range streams {
		f.Add([]byte(c.in), uint16(3))
	}
	f.Add([]byte("data: "+strings.Repeat("x", windowSize)+"\r\n\r\n"), uint16(100))
	f.Fuzz(func(t *testing.T, in []byte, chunk uint16) {
		got, err := all(t, NewReader(&chunks{in, int(chunk)%1000 + 1}, 0))
		if errors.Is(err, ErrTooLong) { // a type or an id
			t.Skip()
		}
		if diff := cmp.Diff(oracle(string(in)), got); diff != "" {
			t.Fatal(diff)
		}
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
		// A small bound neither panics nor ends the stream early.
		r := NewReader(&chunks{in, int(chunk)%1000 + 1}, 4)
		for {
			if _, err := r.Next(); err != nil && !errors.Is(err, ErrTooLong) {
				break
			}
		}
	})
}

func FuzzWriter(f *testing.F) {
	f.Add("message", "{}", "1", int64(5))
	f.Add("", "a\r\nb", "", int64(0))
	f.Fuzz(func(t *testing.T, typ, data, id string, ms int64) {
		b, err := Append(nil, Event{Type: typ, Data: []byte(data), HasID: true, ID: []byte(id), Retry: time.Duration(ms%1e6) * time.Millisecond})
		if err != nil || len(typ) > maxField || len(id) > maxField {
			t.Skip()
		}
		want := strings.ReplaceAll(strings.ReplaceAll(data, "\r\n", "\n"), "\r", "\n")
		got, err := all(t, NewReader(bytes.NewReader(b), 0))
		if err != io.EOF || len(got) != 1 || got[0].Data != want || got[0].ID != id {
			t.Fatalf("%q: %v %v", b, got, err)
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

func TestNoAllocations(t *testing.T) {
	r, w := steady(100)
	require.Zero(t, testing.AllocsPerRun(500, r))
	require.Zero(t, testing.AllocsPerRun(500, w))
}

// steady is the reading and the writing of one event, with id and type.
func steady(size int) (read, write func()) {
	event, _ := Append(nil, Event{Type: "message", ID: []byte("stream-1/42"), HasID: true, Data: bytes.Repeat([]byte("x"), size)})
	r := NewReader(&endless{text: string(AppendComment(event, "keep-alive"))}, 0)
	read = func() {
		if _, err := r.Next(); err != nil {
			panic(err)
		}
	}
	w := NewWriter(io.Discard)
	id := []byte("stream-1/43")
	data := bytes.Repeat([]byte("x"), size)
	write = func() {
		if err := w.Event(Event{Type: "message", ID: id, HasID: true, Data: data}); err != nil {
			panic(err)
		}
	}
	read()
	write()
	return read, write
}

func BenchmarkReader(b *testing.B) {
	for _, size := range []int{100, 10 << 10} {
		event, _ := Append(nil, Event{ID: []byte("stream-1/42"), HasID: true, Data: bytes.Repeat([]byte("x"), size)})
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			src := &repeat{b: bytes.Repeat(event, 1+(256<<10)/len(event))}
			r := NewReader(src, 0)
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type repeat struct {
	b []byte
	i int
}

func (r *repeat) Read(b []byte) (int, error) {
	n := copy(b, r.b[r.i:])
	if r.i += n; r.i == len(r.b) {
		r.i = 0
	}
	return n, nil
}

func BenchmarkWriter(b *testing.B) {
	for _, size := range []int{100, 10 << 10} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			_, write := steady(size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				write()
			}
		})
	}
}
