package streamhttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// TestReplaysGiveWay holds that clients which ask for the same stream again and
// again and do not read cost no more than the last few of them: a response that
// is displaced ends at once, with what it still had to write.
func TestReplaysGiveWay(t *testing.T) {
	for _, tt := range []struct {
		name string
		last string
		keep int
	}{{"of a POST that is over", "Last-Event-ID: 1-1", 1}, {"of no request", "Last-Event-ID: 0-1", 4}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, m := servers(map[string]tool{"steps": func(ctx context.Context, p peer) (string, error) {
					for i := range 9 {
						if err := p.Progress(ctx, float64(i+1), nil, strings.Repeat("x", 50<<10)); err != nil {
							return "", err
						}
					}
					return "done", nil
				}})
				s, pipes := inMemory(t, bothOf(l, m))
				hs := s.begin()
				require.Contains(t, s.post(legacyCall("1", "steps"), hs...).body, "done")
				var all []net.Conn
				for range 20 {
					c, err := pipes.dial()
					require.NoError(t, err)
					all = append(all, c)
					_, err = fmt.Fprintf(c, "GET /mcp HTTP/1.1\r\nHost: x\r\n%s\r\n%s\r\n\r\n", strings.Join(hs, "\r\n"), tt.last)
					require.NoError(t, err)
					synctest.Wait()
				}
				require.LessOrEqual(t, s.h.Stats().Requests, tt.keep)
				if tt.keep == 1 {
					res, err := http.ReadResponse(bufio.NewReader(all[len(all)-1]), nil)
					require.NoError(t, err)
					b, err := io.ReadAll(res.Body)
					require.NoError(t, err)
					require.Contains(t, string(b), `"progress":9`)
					require.Contains(t, string(b), "done")
				}
				for _, c := range all {
					_ = c.Close()
				}
				synctest.Wait()
				require.Zero(t, s.h.Stats().Requests)
			})
		})
	}
}

// TestReplayIsBounded holds that a replay beyond what may wait to be written
// ends between two events, and that a client which comes back has all of it.
func TestReplayIsBounded(t *testing.T) {
	l, _ := servers(map[string]tool{"steps": func(ctx context.Context, p peer) (string, error) {
		for i := range 9 {
			if err := p.Progress(ctx, float64(i+1), nil, strings.Repeat("x", 1000)); err != nil {
				return "", err
			}
		}
		return "done", nil
	}})
	s := serve(t, l, streamhttp.HandlerOptions{MaxOutgoing: 3000})
	hs := s.begin()
	require.Contains(t, s.post(legacyCall("1", "steps"), hs...).body, "done")
	var got []string
	last := "1-1"
	for rounds := 0; len(got) == 0 || !strings.Contains(got[len(got)-1], "done"); rounds++ {
		require.Less(t, rounds, 9)
		st := s.open("GET", "", append(hs[:len(hs):len(hs)], "Last-Event-ID: "+last)...)
		for e, ok := st.next(); ok; e, ok = st.next() {
			last = e.id
			got = append(got, e.data)
		}
	}
	require.Len(t, got, 10)
	for i, data := range got[:9] {
		require.Contains(t, data, fmt.Sprintf(`"progress":%d`, i+1))
	}
}

// hookedHeader calls before ahead of the response's header.
type hookedHeader struct {
	http.ResponseWriter
	before func()
}

func (w hookedHeader) WriteHeader(n int)           { w.before(); w.ResponseWriter.WriteHeader(n) }
func (w hookedHeader) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// lateStore notes what is kept of a session after that was forgotten.
type lateStore struct {
	streamhttp.EventStore
	mu        sync.Mutex
	forgotten map[string]bool
	late      int
}

func (s *lateStore) Append(ctx context.Context, k streamhttp.StreamKey, e streamhttp.StoredEvent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forgotten[k.Session] {
		s.late++
	}
	return s.EventStore.Append(ctx, k, e)
}

func (s *lateStore) Forget(ctx context.Context, session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten[session] = true
	return s.EventStore.Forget(ctx, session)
}

// TestDeleteWhileAStreamBegins holds that a session which ends while a response
// of it becomes a stream is over: nothing is kept of it afterwards, and the
// response ends.
func TestDeleteWhileAStreamBegins(t *testing.T) {
	for _, polling := range []bool{false, true} {
		store := &lateStore{EventStore: streamhttp.NewMemoryStore(streamhttp.MemoryStoreOptions{}), forgotten: map[string]bool{}}
		h := streamhttp.NewHandler(both(), streamhttp.HandlerOptions{EventStore: store, Polling: polling})
		s := &site{t: t, h: h}
		var hs []string
		var armed atomic.Bool
		s.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && armed.Swap(false) {
				w = hookedHeader{w, func() {
					if res, err := s.http().Do(s.request(r.Context(), http.MethodDelete, "", hs...)); err == nil {
						_ = res.Body.Close()
					}
				}}
			}
			h.ServeHTTP(w, r)
		}))
		hs = s.begin()
		armed.Store(true)
		r := s.post(legacyCall("7", "steps"), hs...)
		require.Equal(t, 200, r.StatusCode)
		require.False(t, armed.Load())
		require.NotContains(t, r.body, "done")
		require.Equal(t, 404, s.post(legacyCall("8", "steps"), hs...).StatusCode)
		h.Close()
		s.srv.Close()
		require.Len(t, store.forgotten, 1)
		require.Zero(t, store.late)
	}
}
