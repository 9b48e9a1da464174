package ssehttp_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/ssehttp"
)

// TestManyUnreadClients holds that what waits for clients that do not read has a
// bound over all of them, that the others are answered meanwhile, that nothing
// is lost for one that goes on to read, and that all is given back.
func TestManyUnreadClients(t *testing.T) {
	const (
		bound   = 2 << 20
		clients = 40
		calls   = 100
		each    = 48 << 10 // what a client may have beyond the bound, in bytes: 16 KiB, a message, the growth of a buffer
	)
	synctest.Test(t, func(t *testing.T) {
		h := ssehttp.NewHandler(server(nil), ssehttp.HandlerOptions{Logger: quiet, MaxBuffered: bound, WriteTimeout: -1, KeepAlive: -1})
		text := strings.Repeat("x", 4<<10)
		var stuck []*opened
		var release []func()
		most, taken := 0, map[int]int{}
		for i := range clients {
			o := openIn(t, h)
			stuck, release = append(stuck, o), append(release, o.hold())
			for k := range calls {
				if status := o.post(call(k+1, text)); status == http.StatusAccepted {
					taken[i]++
				} else {
					require.Equal(t, http.StatusServiceUnavailable, status)
				}
				most = max(most, h.Buffered())
			}
		}
		require.Greater(t, most, bound/2)
		require.LessOrEqual(t, most, bound+clients*each)
		good := openIn(t, h)
		for k := range 10 {
			require.Equal(t, http.StatusAccepted, good.post(call(k+1, text)))
			require.Contains(t, string(good.next(t)), text)
		}
		require.Equal(t, http.StatusServiceUnavailable, good.post(call(99, strings.Repeat("x", bound))), "a body counts too")
		late := clients - 1
		release[late]()
		for range taken[late] {
			require.Contains(t, string(stuck[late].next(t)), text)
		}
		for i, o := range stuck {
			if i != late {
				release[i]()
			}
			o.end()
		}
		good.end()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Zero(t, h.Buffered())
		require.Zero(t, h.Sessions())
	})
}
