package client

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDeskIsFoundBeforeItIsTold holds that a client which comes to the address
// before anybody was told of it is as good as one that comes later.
func TestDeskIsFoundBeforeItIsTold(t *testing.T) {
	d, err := openDesk("127.0.0.1:0", 1<<20)
	require.NoError(t, err)
	var early sync.WaitGroup
	defer early.Wait()
	defer d.close()
	at := d.address + endpoint
	early.Go(func() {
		resp, err := http.Post(at, jsonType, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`))
		if err == nil {
			_ = resp.Body.Close()
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	r := &runner{drive: ctx, desk: d, o: Options{Progress: func(p Progress) {
		require.Equal(t, at, p.Waiting.URL)
		<-d.arrivals
		stop()
	}}}
	require.ErrorIs(t, r.exploreByHand(), context.Canceled)
}
