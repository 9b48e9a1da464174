package transcript

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// canonical holds one of everything that the format knows, as it is printed.
const canonical = `goldwire-transcript: 1
# An unknown tool is a protocol error, not a tool error.

revision: 2025-11-25
requirement: legacy/tools-unknown-tool
requirement: legacy/tools-second
# between fields
target: ./server --flag value
odd: "ends in a space "
empty:
quote: "\"starts with a quote"

! start ./server --flag value
! probe tools/unknown
>@0ms {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nope"}}
# a comment between events
<@12ms {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"$string"}}
<@12.5ms {"jsonrpc":"2.0"}	inner tab
<@12.000001ms ä ö 漢 😀
<
<x@13ms "a\xffb\r\tc\\\"\n\x00\xe2\x80\xa8"
<x " "
<~ {"jsonrpc"
<~70000 {"start":"aaaa
<x~~70000@20ms "\xff"
!x stderr "odd \x1b[31mred"
! stderr plain
! stderr
! dropped 12 3456
! eof >
! eof <
! sent SIGTERM
! signal SIGKILL
! exit -1
! note end of the pipe
>>1 POST /mcp?x=1
>>1 accept: application/json, text/event-stream
>1 {"jsonrpc":"2.0","id":1,"method":"ping"}
>>2@1.5ms GET /mcp
<<2 200 content-type: text/event-stream
<<2 mcp-session-id: abc
<<2 id: 7
<<2 id:
<<2 event: endpoint
<<2 retry: 500
<<2 :
<<2 : keep-alive
<<2 Id: 5
<2 /messages?sid=1
<2
<<1 202
<<1 x-empty:
<<1 end
!2 error connection reset
>>2 end
# the end

#
`

func TestParseAndPrintAreInverseOnCanonicalText(t *testing.T) {
	rec, err := Parse([]byte(canonical))
	require.NoError(t, err)
	b, err := rec.MarshalText()
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(canonical, string(b)))

	var again Recording
	require.NoError(t, again.UnmarshalText(b))
	require.Empty(t, cmp.Diff(rec, &again))

	require.Equal(t, canonical, rec.String())
	require.Contains(t, (&Recording{After: []string{"x"}}).String(), "no transcript: ")

	var buf bytes.Buffer
	n, err := rec.WriteTo(&buf)
	require.NoError(t, err)
	require.EqualValues(t, len(canonical), n)
	require.Equal(t, canonical, buf.String())
}

func TestParseKeepsWhatALineSays(t *testing.T) {
	at := func(d time.Duration, e Event) Event { e.Timed, e.At = true, d; return e }
	for _, c := range []struct {
		line string
		want Event
	}{
		{`> {"a":1}`, Event{Dir: ToServer, Data: []byte(`{"a":1}`)}},
		{`<`, Event{Dir: ToClient}},
		{`<7 x`, Event{Dir: ToClient, Exchange: 7, Data: []byte("x")}},
		{`<@12.5ms x`, at(12500*time.Microsecond, Event{Dir: ToClient, Data: []byte("x")})},
		{`<x "a\n\x00"`, Event{Dir: ToClient, Data: []byte("a\n\x00")}},
		{`<x3 "a"`, Event{}}, // the exchange number comes first
		{`<3x "\xff"`, Event{Dir: ToClient, Exchange: 3, Data: []byte{0xff}}},
		{`<~ {"a`, Event{Dir: ToClient, Partial: true, Data: []byte(`{"a`)}},
		{`<~99 {"a`, Event{Dir: ToClient, Length: 99, Data: []byte(`{"a`)}},
		{`<~~99 {"a`, Event{Dir: ToClient, Partial: true, Length: 99, Data: []byte(`{"a`)}},
		{`>>1 POST /mcp`, Event{Dir: ToServer, Carrier: true, Exchange: 1, Kind: KindRequest, Data: []byte("POST /mcp")}},
		{`>>1 id: x`, Event{Dir: ToServer, Carrier: true, Exchange: 1, Kind: KindHeader, Data: []byte("id: x")}},
		{`<<1 id: x`, Event{Dir: ToClient, Carrier: true, Exchange: 1, Kind: KindSSE, Data: []byte("id: x")}},
		{`<<1 200 a: b`, Event{Dir: ToClient, Carrier: true, Exchange: 1, Kind: KindStatus, Data: []byte("200 a: b")}},
		{`<<1 end`, Event{Dir: ToClient, Carrier: true, Exchange: 1, Kind: KindEnd}},
		{`! stderr oh no`, Event{Dir: Note, Kind: KindStderr, Data: []byte("oh no")}},
		{`!4 error reset`, Event{Dir: Note, Exchange: 4, Kind: KindError, Data: []byte("reset")}},
	} {
		rec, err := Parse([]byte(magic + "\n" + c.line))
		if c.want.Dir == 0 {
			require.Error(t, err, c.line)
			continue
		}
		require.NoError(t, err, c.line)
		require.Empty(t, cmp.Diff([]Event{c.want}, rec.Events), c.line)
		require.Equal(t, c.line, rec.Events[0].Line())
	}
}

func TestParseSaysTheLineAndWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", `line 1: want the line "goldwire-transcript: 1" first, got ""`},
		{"another version", "goldwire-transcript: 2\n", `line 1: want the line "goldwire-transcript: 1" first, got "goldwire-transcript: 2"`},
		{"a comment first", "# x\n" + magic, `line 1: want the line`},
		{"a byte order mark", "\ufeff" + magic, `line 1: want the line`},
		{"carriage returns", magic + "\r\n", `line 1: want the line`},
		{"a carriage return later", magic + "\n> {}\r\n", `line 2: the line ends in a carriage return`},
		{"no mark", magic + "\nhello\n", `line 2: want a mark (> < >> << !), a field (name: value) or a comment (# …), got "hello"`},
		{"a field after an event", magic + "\n> {}\na: b\n", `line 3: the field a stands after the first event`},
		{"a field in capitals", magic + "\nA: b\n", `line 2: want a mark`},
		{"a field without a space", magic + "\na:b\n", `line 2: field a: want a space after the colon`},
		{"a field with an open quote", magic + "\na: \"b\n", `line 2: field a: want a quoted escape`},
		{"a field with trailing space", magic + "\na: b \n", `line 2: field a: the value holds what must be written as a quoted escape`},
		{"no space after the mark", magic + "\n>{}\n", `line 2: want a space after the mark, got "{}"`},
		{"a mark and a space", magic + "\n> \n", `line 2: a space at the end of the line`},
		{"trailing space", magic + "\n> {} \n", `line 2: the data holds what must be written as a quoted escape`},
		{"not UTF-8", magic + "\n> \xff\n", `line 2: the data holds what must be written as a quoted escape`},
		{"a control character", magic + "\n> a\x00b\n", `line 2: the data holds what must be written as a quoted escape`},
		{"exchange 0", magic + "\n>0 {}\n", `line 2: the exchange number "0" is not a number from 1`},
		{"exchange 01", magic + "\n>01 {}\n", `line 2: the exchange number "01" is not a number from 1`},
		{"a huge exchange", magic + "\n>99999999999 {}\n", `line 2: the exchange number "99999999999" is not a number from 1`},
		{"a carrier line without exchange", magic + "\n>> POST /mcp\n", `line 2: what the carrier said needs an exchange number`},
		{"half a request line", magic + "\n>>1 POST\n", `line 2: want a request line (POST /mcp), a header (name: value) or end, got "POST"`},
		{"a request line of three", magic + "\n>>1 POST /mcp HTTP/1.1\n", `line 2: want a method and a target`},
		{"no status", magic + "\n<<1 OK\n", `line 2: want a status, a header`},
		{"a status with rubbish", magic + "\n<<1 200 OK\n", `line 2: want the first header after the status`},
		{"a carrier line cut off", magic + "\n<<1~ 200\n", `line 2: what the carrier said is never cut off`},
		{"a length too small", magic + "\n<~2 abc\n", `line 2: the whole line has 2 bytes, yet 3 of it were kept`},
		{"a length of zero", magic + "\n<~0 abc\n", `line 2: the length "0" is not a number from 1`},
		{"no length", magic + "\n<~~ abc\n", `line 2: want the length of the whole line after ~~`},
		{"a time in seconds", magic + "\n<@1s abc\n", `line 2: want a time in milliseconds after @`},
		{"a time with zeros", magic + "\n<@1.50ms abc\n", `line 2: want a time in milliseconds after @`},
		{"too fine a time", magic + "\n<@1.0000001ms abc\n", `line 2: want a time in milliseconds after @`},
		{"a huge time", magic + "\n<@99999999999999999999ms abc\n", `line 2: want a time in milliseconds after @`},
		{"no time", magic + "\n<@ abc\n", `line 2: want a time in milliseconds after @`},
		{"an unknown note", magic + "\n! shout x\n", `line 2: no note is called "shout"`},
		{"a carrier note", magic + "\n!! note x\n", `line 2: want a space after the mark`},
		{"an exit without a number", magic + "\n! exit well\n", `line 2: exit: want a number, got "well"`},
		{"an end of nothing", magic + "\n! eof x\n", `line 2: eof: want > or <, got "x"`},
		{"dropped what", magic + "\n! dropped 3\n", `line 2: dropped: want two numbers`},
		{"a signal without a name", magic + "\n! signal\n", `line 2: signal: want a name`},
		{"an unclosed escape", magic + "\n<x \"a\n", `line 2: want a quoted escape`},
		{"no escape", magic + "\n<x\n", `line 2: want a quoted escape`},
		{"an unknown escape", magic + "\n<x \"\\q\"\n", `line 2: no escape is called \q`},
		{"a short escape", magic + "\n<x \"\\x1\"\n", `line 2: want two hexadecimal digits after \x`},
		{"a quote inside", magic + "\n<x \"a\"b\"\n", `line 2: a " inside a quoted escape is written \"`},
		{"a lone backslash", magic + "\n<x \"\\\"\n", `line 2: a quoted escape ends in \`},
		{"a raw byte inside", magic + "\n<x \"\xff\"\n", `line 2: a quoted escape holds a byte that must be escaped`},
		{"a comment with a bell", magic + "\n# \a\n", `line 2: a comment must be one line of clean UTF-8`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			require.Error(t, err)
			require.Contains(t, err.Error(), c.want)
			var e *Error
			require.True(t, errors.As(err, &e))
		})
	}
}

func TestPrintRefusesWhatNoLineCanHold(t *testing.T) {
	for _, c := range []struct {
		name string
		rec  Recording
		want string
	}{
		{"a field name", Recording{Fields: []Field{{Name: "A b"}}}, `the field name "A b"`},
		{"a comment of two lines", Recording{After: []string{"# a\nb"}}, "at the end: the comment"},
		{"text for a comment", Recording{Events: []Event{{Dir: ToServer, Before: []string{"x"}}}}, "event 0: the comment"},
		{"no direction", Recording{Events: []Event{{}}}, "event 0: no direction is marked"},
		{"a carrier note", Recording{Events: []Event{{Dir: Note, Carrier: true, Exchange: 1}}}, "event 0: a note is not"},
		{"the wrong kind", Recording{Events: []Event{{Dir: ToClient, Carrier: true, Exchange: 1, Kind: KindHeader, Data: []byte("200")}}}, "event 0: the carrier line"},
		{"a message that is a note", Recording{Events: []Event{{Dir: ToClient, Kind: KindStderr}}}, "event 0: kind"},
		{"a note that is a message", Recording{Events: []Event{{Dir: Note}}}, "event 0: kind"},
		{"a negative time", Recording{Events: []Event{{Dir: ToClient, Timed: true, At: -1}}}, "event 0: a time before"},
		{"an end with data", Recording{Events: []Event{{Dir: ToClient, Carrier: true, Exchange: 1, Kind: KindEnd, Data: []byte("x")}}}, "event 0: end carries no data"},
	} {
		var nothing bytes.Buffer
		_, werr := c.rec.WriteTo(&nothing)
		require.Error(t, werr)
		require.Zero(t, nothing.Len(), "nothing is written of what cannot be")
		b, err := c.rec.AppendText([]byte("before"))
		require.ErrorContains(t, err, c.want, c.name)
		require.Equal(t, "before", string(b), c.name)
	}
}

func TestEveryPrefixParsesOrSaysWhy(t *testing.T) {
	for i := range len(canonical) {
		rec, err := Parse([]byte(canonical[:i]))
		if err != nil {
			var e *Error
			require.True(t, errors.As(err, &e))
			require.Equal(t, strings.Count(canonical[:i], "\n")+1, e.Line, "%q", canonical[max(0, i-30):i])
			continue
		}
		_, err = rec.MarshalText()
		require.NoError(t, err)
	}
}

func TestReadIsBounded(t *testing.T) {
	_, err := Read(strings.NewReader(canonical), int64(len(canonical)))
	require.NoError(t, err)
	_, err = Read(strings.NewReader(canonical), int64(len(canonical)-1))
	require.ErrorContains(t, err, "longer than")
}

func TestFields(t *testing.T) {
	rec, err := Parse([]byte(canonical))
	require.NoError(t, err)
	require.Equal(t, "2025-11-25", rec.Get(FieldRevision))
	require.Equal(t, []string{"legacy/tools-unknown-tool", "legacy/tools-second"}, rec.All(FieldRequirement))
	require.Equal(t, "", rec.Get("nothing"))
	require.False(t, rec.Redacted())
	rec.Set(FieldRevision, "2025-06-18")
	rec.Set(FieldRedacted, "yes")
	require.Equal(t, "2025-06-18", rec.Get(FieldRevision))
	require.True(t, rec.Redacted())
}

// event draws any event that a line can hold.
func event() *rapid.Generator[Event] {
	data := rapid.OneOf(
		rapid.SliceOf(rapid.Byte()),
		rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
		rapid.SampledFrom([][]byte{nil, []byte(" "), []byte("a "), []byte("\r"), []byte("a\u2028b"), []byte(`"x"`), []byte("end"), []byte(`{"a":"\u0000"}`)}),
	)
	return rapid.Custom(func(t *rapid.T) Event {
		e := Event{Dir: rapid.SampledFrom([]Dir{ToServer, ToClient, Note}).Draw(t, "dir"), Exchange: rapid.IntRange(0, 12).Draw(t, "exchange")}
		e.Data = data.Draw(t, "data")
		switch e.Dir {
		case Note:
			e.Kind = rapid.SampledFrom([]Kind{KindStart, KindStderr, KindEOF, KindSent, KindExit, KindSignal, KindError, KindDropped, KindProbe, KindNote}).Draw(t, "kind")
			switch e.Kind {
			case KindEOF:
				e.Data = []byte(rapid.SampledFrom([]string{">", "<"}).Draw(t, "eof"))
			case KindExit:
				e.Data = []byte(rapid.SampledFrom([]string{"0", "-1", "137"}).Draw(t, "code"))
			case KindDropped:
				e.Data = []byte("3 400")
			case KindSent, KindSignal, KindProbe:
				e.Data = append([]byte("N"), e.Data...)
			}
		default:
			if rapid.Bool().Draw(t, "carrier") {
				e.Carrier, e.Exchange = true, e.Exchange+1
				lines := map[Dir][]string{
					ToServer: {"POST /mcp", "accept: a/b", "x:", "end"},
					ToClient: {"200", "404 a: b", "id: 7", "id:", "retry: 5", "event: e", ":", ": c", "x: y", "Id: 4", "end"},
				}
				s := rapid.SampledFrom(lines[e.Dir]).Draw(t, "line")
				e.Data = []byte(s)
				if s == "end" {
					e.Data, e.Kind = nil, KindEnd
				} else {
					e.Kind, _ = carrierKind(e.Dir, s)
				}
			} else {
				e.Partial = rapid.Bool().Draw(t, "partial")
				if rapid.Bool().Draw(t, "long") {
					e.Length = int64(len(e.Data)) + rapid.Int64Range(1, 1<<40).Draw(t, "more")
				}
			}
		}
		if rapid.Bool().Draw(t, "timed") {
			e.Timed, e.At = true, time.Duration(rapid.Int64Range(0, 1<<55).Draw(t, "at"))
		}
		if rapid.Bool().Draw(t, "commented") {
			e.Before = []string{"# c", ""}
		}
		if len(e.Data) == 0 {
			e.Data = nil
		}
		return e
	})
}

func TestPrintThenParseIsTheSameRecording(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := &Recording{Events: rapid.SliceOfN(event(), 1, 5).Draw(t, "events")}
		if rapid.Bool().Draw(t, "field") {
			rec.Fields = []Field{{Name: "a", Value: rapid.String().Draw(t, "value")}}
		}
		b, err := rec.MarshalText()
		require.NoError(t, err)
		got, err := Parse(b)
		require.NoError(t, err, "%s", b)
		require.Empty(t, cmp.Diff(rec, got), "%s", b)
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(canonical))
	files, err := filepath.Glob("../../testdata/transcripts/*/*/*.wire")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := Parse(b)
		if err != nil {
			return
		}
		printed, err := rec.MarshalText()
		require.NoError(t, err)
		again, err := Parse(printed)
		require.NoError(t, err)
		require.Equal(t, rec, again)
		twice, err := again.MarshalText()
		require.NoError(t, err)
		require.Equal(t, string(printed), string(twice))
		for x := range rec.Exchanges() {
			require.LessOrEqual(t, x.First, x.Last)
		}
	})
}

// A long recording is written piece by piece, and the error of the writer ends it.
func TestWriteToInPieces(t *testing.T) {
	rec := &Recording{}
	for range 2000 {
		rec.Events = append(rec.Events, Event{Dir: ToServer, Data: bytes.Repeat([]byte("x"), 100)})
	}
	var whole bytes.Buffer
	n, err := rec.WriteTo(&whole)
	require.NoError(t, err)
	require.Equal(t, rec.String(), whole.String())
	require.EqualValues(t, whole.Len(), n)

	full := &failAfter{left: 1}
	n, err = rec.WriteTo(full)
	require.ErrorIs(t, err, io.ErrShortWrite)
	require.Less(t, n, int64(whole.Len()))
}

// failAfter takes some writes.
type failAfter struct{ left int }

func (f *failAfter) Write(b []byte) (int, error) {
	if f.left == 0 {
		return 0, io.ErrShortWrite
	}
	f.left--
	return len(b), nil
}
