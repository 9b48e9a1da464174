package transcript

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func text(t *testing.T, r *Recording) string {
	t.Helper()
	b, err := r.MarshalText()
	require.NoError(t, err)
	return strings.TrimPrefix(string(b), magic+"\n")
}

func TestRecorderSplitsLinesHoweverTheyAreChunked(t *testing.T) {
	const in = "{\"a\":1}\n\n{\"b\":\"\xff\"}\r\n{\"c\""
	const want = "< {\"a\":1}\n<\n<x \"{\\\"b\\\":\\\"\\xff\\\"}\\r\"\n<~ {\"c\"\n! eof <\n"
	for size := 1; size <= len(in); size++ {
		r := NewRecorder(RecorderOptions{Untimed: true})
		w := r.Tap(ToClient)
		for i := 0; i < len(in); i += size {
			n, err := io.WriteString(w, in[i:min(i+size, len(in))])
			require.NoError(t, err)
			require.Equal(t, min(size, len(in)-i), n)
		}
		require.NoError(t, w.Close())
		require.NoError(t, w.Close())
		require.Equal(t, want, text(t, r.Recording()), "chunks of %d", size)
		_, err := io.WriteString(w, "late")
		require.ErrorIs(t, err, io.ErrClosedPipe)
	}
}

func TestRecorderKeepsTheStartAndTheLengthOfALongLine(t *testing.T) {
	for _, chunk := range []int{1, 3, 7, 100, 1000} {
		r := NewRecorder(RecorderOptions{Untimed: true, MaxLine: 20, KeepStart: 5})
		w := r.Tap(ToServer)
		in := strings.Repeat("a", 20) + "\n" + strings.Repeat("b", 21) + "\nshort\n" + strings.Repeat("c", 50)
		for i := 0; i < len(in); i += chunk {
			_, err := io.WriteString(w, in[i:min(i+chunk, len(in))])
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		require.Equal(t, "> aaaaaaaaaaaaaaaaaaaa\n>~21 bbbbb\n> short\n>~~50 ccccc\n! eof >\n", text(t, r.Recording()), "chunks of %d", chunk)
	}
}

func TestRecorderBoundsWhatItKeeps(t *testing.T) {
	r := NewRecorder(RecorderOptions{Untimed: true, MaxEvents: 6})
	for i := range 100 {
		r.Message(ToServer, 0, []byte(strconv.Itoa(i)))
	}
	require.Equal(t, 100, r.Len())
	require.Equal(t, "> 0\n> 1\n> 2\n! dropped 94 181\n> 97\n> 98\n> 99\n", text(t, r.Recording()))

	r = NewRecorder(RecorderOptions{Untimed: true, MaxBytes: 6 * (overhead + 10)})
	for range 1000 {
		r.Message(ToClient, 0, []byte("0123456789"))
	}
	rec := r.Recording()
	require.Len(t, rec.Events, 7)
	require.Equal(t, "! dropped 994 9940", rec.Events[3].Line())
}

func TestRecorderStampsOrderAndTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRecorder(RecorderOptions{Fields: []Field{{Name: FieldTransport, Value: "stdio"}}})
		r.Start([]string{"./server", "--name", "a b", ""})
		r.Message(ToServer, 0, []byte(`{"id":1}`))
		time.Sleep(1500 * time.Microsecond)
		e := r.Stderr()
		_, err := io.WriteString(e, "warming up\nhal")
		require.NoError(t, err)
		require.NoError(t, e.Close())
		time.Sleep(time.Second)
		r.Message(ToClient, 0, []byte(`{"id":1,"result":{}}`))
		r.Note(0, KindSent, "SIGTERM")
		r.Note(0, KindExit, "no number")
		r.Set(FieldRevision, "2025-11-25")
		require.Equal(t, `transport: stdio
revision: 2025-11-25
!@0ms start ./server --name "a b" ""
>@0ms {"id":1}
!@1.5ms stderr warming up
!~@1.5ms stderr hal
<@1001.5ms {"id":1,"result":{}}
!@1001.5ms sent SIGTERM
!@1001.5ms note no number
`, text(t, r.Recording()))
	})
}

func TestRecorderTakesConcurrentWriters(t *testing.T) {
	var seen []Event
	r := NewRecorder(RecorderOptions{Watch: func(e Event) { seen = append(seen, e) }})
	var wg sync.WaitGroup
	for i := range 8 {
		d := ToServer
		if i%2 == 0 {
			d = ToClient
		}
		wg.Go(func() {
			w := r.Tap(d)
			for j := range 200 {
				_, _ = io.WriteString(w, strconv.Itoa(i)+" "+strconv.Itoa(j)+"\n")
			}
		})
	}
	wg.Wait()
	rec := r.Recording()
	require.Len(t, rec.Events, 1600)
	require.Equal(t, rec.Events, seen)
	next := map[string]int{}
	last := time.Duration(0)
	for _, e := range rec.Events {
		who, n, _ := strings.Cut(string(e.Data), " ")
		require.Equal(t, strconv.Itoa(next[who]), n, "each writer's lines stay in order")
		next[who]++
		require.GreaterOrEqual(t, e.At, last)
		last = e.At
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("pipe broke") }
func (failing) Read([]byte) (int, error)  { return 0, errors.New("pipe broke") }

func TestRecorderTees(t *testing.T) {
	r := NewRecorder(RecorderOptions{Untimed: true})
	var out strings.Builder
	w := r.Writer(ToServer, &out)
	_, err := io.WriteString(w, "one\ntwo\n")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Equal(t, "one\ntwo\n", out.String())
	b, err := io.ReadAll(r.Reader(ToClient, strings.NewReader("three\nfo")))
	require.NoError(t, err)
	require.Equal(t, "three\nfo", string(b))
	_, err = r.Writer(ToServer, failing{}).Write([]byte("x\n"))
	require.Error(t, err)
	_, err = r.Reader(ToClient, failing{}).Read(make([]byte, 1))
	require.Error(t, err)
	require.Equal(t, `> one
> two
! eof >
< three
<~ fo
! eof <
> x
! error > pipe broke
! error < pipe broke
! eof <
`, text(t, r.Recording()))
}

func TestRecorderTurnsOddCarrierLinesIntoNotes(t *testing.T) {
	r := NewRecorder(RecorderOptions{Untimed: true})
	n := r.Exchange()
	r.Carrier(ToServer, n, KindRequest, "POST /mcp")
	r.Carrier(ToServer, n, KindHeader, HeaderText("Accept", "application/json"))
	r.Carrier(ToServer, n, KindHeader, HeaderText("ID", " 5 "))
	r.Carrier(ToServer, n, KindHeader, HeaderText("X-Empty", ""))
	r.Carrier(ToClient, n, KindHeader, HeaderText("Retry", "5"))
	r.Carrier(ToClient, n, KindHeader, "no header at all")
	r.Carrier(ToClient, n, KindSSE, "retry: 5")
	r.Carrier(ToClient, n, KindEnd, "")
	require.Equal(t, `>>1 POST /mcp
>>1 accept: application/json
>>1 Id: 5
>>1 x-empty:
<<1 Retry: 5
!1 note << no header at all
<<1 retry: 5
<<1 end
`, text(t, r.Recording()))
	require.Equal(t, 2, r.Exchange())
}

func TestRecorderNotesHowAProcessEnded(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	r := NewRecorder(RecorderOptions{Untimed: true})
	for _, script := range []string{"exit 0", "exit 3", "kill -TERM $$"} {
		cmd := exec.CommandContext(context.Background(), "sh", "-c", script)
		_ = cmd.Run()
		r.Exit(cmd.ProcessState)
	}
	r.Exit(nil)
	require.Equal(t, "! exit 0\n! exit 3\n! signal SIGTERM\n! error the process was never waited for\n", text(t, r.Recording()))
	code, ok := r.Recording().Events[1].ExitCode()
	require.True(t, ok)
	require.EqualValues(t, 3, code)
	require.Equal(t, "SIGKILL", SignalName(os.Kill))
}

func TestExchangesGatherInterleavedLines(t *testing.T) {
	rec, err := Parse([]byte(magic + `
>>1 POST /mcp
>>1 accept: application/json
>>2 GET /mcp
>1 {"id":1}
<<2 200 content-type: Text/Event-Stream; charset=utf-8
<<2 id: 7
<<2 retry: 500
<2
<<1 200 content-type: application/json
<<1 mcp-session-id: abc
<1 {"id":1,"result":{}}
<<2 : ping
<<2 event: message
<2 {"method":"x"}
<<1 end
<<2 retry: 9
!2 error reset
>>2 end
`))
	require.NoError(t, err)
	var xs []*Exchange
	for x := range rec.Exchanges() {
		xs = append(xs, x)
	}
	require.Len(t, xs, 2)
	one, two := xs[0], xs[1]
	require.Equal(t, "POST /mcp application/json", one.Method+" "+one.Target+" "+one.Header.Get("Accept"))
	require.Equal(t, 200, one.Status)
	require.Equal(t, "abc", one.ResponseHeader.Get("Mcp-Session-Id"))
	require.Equal(t, `{"id":1}`, string(one.Body))
	require.Equal(t, 3, one.BodyIndex)
	require.False(t, one.Stream)
	require.True(t, one.Ended)
	require.Len(t, one.Messages, 1)
	require.Equal(t, 10, one.Messages[0].Index)
	require.True(t, two.Stream)
	require.True(t, two.Closed)
	require.False(t, two.Ended)
	require.Equal(t, "reset", two.Err)
	require.Nil(t, two.Body)
	require.Equal(t, -1, two.BodyIndex)
	require.Equal(t, "9", two.Retry)
	require.Equal(t, []SSEEvent{
		{ID: "7", HasID: true, Retry: "500", Index: 7},
		{Event: "message", Comments: []string{"ping"}, Data: []byte(`{"method":"x"}`), Index: 13},
	}, two.Messages)
	for range rec.Exchanges() {
		break
	}
	require.Equal(t, ToClient, ToServer.Reverse())
	require.Equal(t, ToServer, ToClient.Reverse())
	require.Equal(t, Note, Note.Reverse())
}
