package jsonrpc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLateTicksAreNotCounted: that a handler has not returned within a tick says
// something of it only where the tick itself came in time. A machine that is late
// with each is taken at its word for a while, and no answer waits for ever.
func TestLateTicksAreNotCounted(t *testing.T) {
	svc := NewService(ServiceOptions{Revision: "2025-11-25", Side: ClientSide})
	for late, want := range map[time.Duration]int{0: 1, 3 * overtakeAfter: maxLate + 1} {
		c := NewConn(nil, svc, ClientSide)
		w := &call{ch: make(chan struct{}, 1), o: new(CallOptions)}
		q := c.notes()
		q.running, q.seq, q.inHand = true, 1, 1 // its handler runs
		q.answer(w, nil)
		q.timer.Stop()
		ticks := 0
		for !w.Done() {
			q.mu.Lock()
			q.due = time.Now().Add(-late)
			q.mu.Unlock()
			q.overtake()
			q.timer.Stop()
			ticks++
		}
		require.Equal(t, want, ticks)
		st := c.Stats()
		require.Equal(t, uint64(1), st.Count(OvertakenNotification))
	}
}
