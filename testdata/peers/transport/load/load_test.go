package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestTextHasItsSizeAndIsTheSameEachTime(t *testing.T) {
	for _, size := range []int{0, 1, 7, 100, 10_000} {
		require.Len(t, Text(size), size)
		require.Equal(t, Text(size), Text(size))
		require.True(t, strings.HasPrefix(Text(20_000), strings.TrimRight(Text(size), ".")[:max(0, size-4)]))
	}
}

func TestCallsAreJSONAndTheirIDCanBeWrittenOver(t *testing.T) {
	for _, modern := range []bool{false, true} {
		for _, call := range [][]byte{EchoCall(Text(200), modern), TellCall("x", modern), BigCall(9, modern), []byte(Initialize), []byte(Listen)} {
			SetID(call, 7_654_321)
			var m struct {
				ID     int
				Params struct {
					Meta map[string]any `json:"_meta"`
				}
			}
			require.NoError(t, json.Unmarshal(call, &m), "%s", call)
			require.Equal(t, 7_654_321, m.ID)
			require.Equal(t, 7_654_321, answerID(call))
			if string(call[IDOffset+7:]) != Initialize[IDOffset+7:] {
				require.Equal(t, modern || strings.Contains(string(call), Listen[IDOffset+7:]), m.Params.Meta["io.modelcontextprotocol/clientInfo"] != nil)
			}
		}
	}
}

func TestBudgets(t *testing.T) {
	for s, want := range map[string]Budget{"20x": {Calls: 20}, "1.5s": {Time: 1500 * time.Millisecond}} {
		b, err := ParseBudget(s)
		require.NoError(t, err)
		require.Equal(t, want, b)
		again, err := ParseBudget(b.String())
		require.NoError(t, err)
		require.Equal(t, want, again)
	}
	for _, s := range []string{"", "x", "0x", "-3x", "0s", "-1s", "soon"} {
		_, err := ParseBudget(s)
		require.Error(t, err, s)
	}
}

func TestResponsesInChunksAndWithALength(t *testing.T) {
	const body = `{"jsonrpc":"2.0","id":1000001,"result":{"content":[]}}`
	chunked := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, part := range []string{body[:10], body[10:]} {
		chunked += fmt.Sprintf("%x\r\n%s\r\n", len(part), part)
	}
	for _, response := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\ncontent-length: " + fmt.Sprint(len(body)) + "\r\n\r\n" + body,
		chunked + "0\r\n\r\n",
	} {
		r := bufio.NewReader(strings.NewReader(response + "rest"))
		status, got, err := readResponse(r, nil)
		require.NoError(t, err)
		require.Equal(t, 200, status)
		require.Equal(t, body, string(got))
		require.NoError(t, checkAnswer(status, got, FirstID))
		require.Error(t, checkAnswer(status, got, FirstID+1))
		require.Error(t, checkAnswer(500, got, FirstID))
		rest := make([]byte, 4)
		_, err = r.Read(rest)
		require.NoError(t, err)
		require.Equal(t, "rest", string(rest))
		for i := range response {
			_, _, err := readResponse(bufio.NewReader(strings.NewReader(response[:i])), nil)
			require.Error(t, err, "cut off after %d bytes", i)
		}
	}
}

func TestTheAnswerIsInTheLastEvent(t *testing.T) {
	const progress = "event: message\ndata: " + `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}` + "\n\n"
	const answer = "event: message\nid: 7\ndata:" + `{"jsonrpc":"2.0","id":1000001,"result":{}}` + "\n\n"
	require.NoError(t, checkAnswer(200, []byte(answer), FirstID))
	require.NoError(t, checkAnswer(200, []byte("id: 1\ndata: \n\n"+progress+answer), FirstID))
	require.Error(t, checkAnswer(200, []byte(progress), FirstID))
	require.Error(t, checkAnswer(200, nil, FirstID))
	require.Error(t, checkAnswer(200, []byte(strings.Replace(answer, `{}`, `{"isError":true}`, 1)), FirstID))
}

func TestTimes(t *testing.T) {
	var ns []int64
	for i := range 1000 {
		ns = append(ns, int64(1000-i))
	}
	var r Result
	r.times(ns, 2*time.Second)
	require.Equal(t, Result{Calls: 1000, P50: 501, P99: 991, P999: 1000, Mean: 500.5, Rate: 500}, r)
}

// where tells the cores of its caller.
type where struct {
	t    *testing.T
	seen unix.CPUSet
}

func (w *where) Run(Budget) (Result, error) {
	require.NoError(w.t, unix.SchedGetaffinity(0, &w.seen))
	return Result{}, nil
}

func (w *where) Close() {}

func TestApartTheServerAndItsCallerHaveACoreEach(t *testing.T) {
	var before, server, after unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &before))
	if before.Count() < 2 {
		t.Skip("there is one core")
	}
	caller := &where{t: t}
	r, err := Apart(func() (Runner, error) { return caller, unix.SchedGetaffinity(0, &server) })
	require.NoError(t, err)
	_, err = r.Run(Budget{})
	require.NoError(t, err)
	require.NoError(t, unix.SchedGetaffinity(0, &after))
	require.Equal(t, 1, server.Count())
	require.Equal(t, 1, caller.seen.Count())
	require.NotEqual(t, server, caller.seen)
	require.Equal(t, before, after)
}
