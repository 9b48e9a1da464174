package transcript

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEncoderWritesWhatParseReads(t *testing.T) {
	fields := []Field{{Name: FieldTransport, Value: "stdio"}, {Name: FieldTarget, Value: "./a b"}}
	var out bytes.Buffer
	x, err := NewEncoder(&out, fields)
	require.NoError(t, err)
	events := []Event{
		{Dir: ToServer, Data: []byte(`{"id":1}`), Timed: true, At: 1_020_300 * time.Nanosecond},
		{Dir: ToClient, Exchange: 3, Redacted: true, Data: []byte("\xff\n")},
		{Dir: ToClient, Exchange: 3, Redacted: true, Partial: true, Length: 70000, Data: []byte("a")},
		{Dir: ToServer, Carrier: true, Exchange: 3, Kind: KindHeader, Redacted: true, Data: []byte("authorization: x")},
		{Dir: Note, Exchange: 3, Kind: KindSession, Data: []byte("2025-11-25 abc")},
	}
	for i := range events {
		require.NoError(t, x.Encode(&events[i]))
	}
	require.Error(t, x.Encode(&Event{Dir: Note, Kind: KindSession}), "no revision")
	require.NoError(t, x.Close())
	require.Error(t, x.Encode(&events[0]), "closed")
	rec, err := Parse(out.Bytes())
	require.NoError(t, err)
	require.Equal(t, &Recording{Fields: fields, Events: events}, rec)
	require.True(t, rec.Redacted())
	rec.Events = rec.Events[3:]
	require.False(t, rec.Redacted(), "a header is none of the messages")

	_, err = NewEncoder(&out, []Field{{Name: "No"}})
	require.ErrorContains(t, err, "field name")
}

func TestEncoderHandsOnWithinItsDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out locked
		x, err := NewEncoder(&out, nil)
		require.NoError(t, err)
		head := out.Len()
		require.Positive(t, head)
		for range 3 {
			before := out.Len()
			require.NoError(t, x.Encode(&Event{Dir: ToServer, Data: []byte("a")}))
			require.Equal(t, before, out.Len())
			time.Sleep(encoderDelay)
			synctest.Wait()
			require.Equal(t, before+len("> a\n"), out.Len())
		}
		require.NoError(t, x.Encode(&Event{Dir: ToServer, Data: bytes.Repeat([]byte("a"), encoderBuffer)}))
		require.Greater(t, out.Len(), encoderBuffer, "a full buffer does not wait")
		require.NoError(t, x.Close())
	})
}

// locked is a buffer for several goroutines.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Len()
}

type fullDisk struct{ left int }

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("the disk is full")
	}
	return len(p), nil
}

func TestEncoderTellsOfItsWriterEachTime(t *testing.T) {
	_, err := NewEncoder(&fullDisk{}, nil)
	require.ErrorContains(t, err, "full")
	x, err := NewEncoder(&fullDisk{left: 100}, nil)
	require.NoError(t, err)
	e := &Event{Dir: ToServer, Data: []byte(strings.Repeat("a", encoderBuffer))}
	require.ErrorContains(t, x.Encode(e), "full")
	require.ErrorContains(t, x.Encode(e), "full")
	require.ErrorContains(t, x.Flush(), "full")
	require.ErrorContains(t, x.Close(), "full")
}

// recordFrames streams frames of 200 B to w, in chunks of several.
func recordFrames(b *testing.B, w io.Writer) {
	line := []byte(`{"jsonrpc":"2.0","id":123456,"method":"tools/call","params":{"name":"echo","arguments":{"message":"` + strings.Repeat("a", 97) + `"}}}` + "\n")
	require.Len(b, line, 201)
	x, err := NewEncoder(w, nil)
	require.NoError(b, err)
	r := NewRecorder(RecorderOptions{Discard: true, Watch: func(e Event) { _ = x.Encode(&e) }})
	tap := r.Tap(ToServer)
	chunk := bytes.Repeat(line, 16)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		_, _ = tap.Write(chunk)
		n += 16
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "frames/s")
	require.NoError(b, x.Close())
}

func BenchmarkRecord(b *testing.B) { recordFrames(b, io.Discard) }
