package jsonrpc

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestWhatEachRequestCostsIsSmall: a session keeps a connection, and a request over
// HTTP makes one and a context. Both are as large as the allocator's class of that
// size; what few of them need is made by who needs it.
func TestWhatEachRequestCostsIsSmall(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("sizes are those of 64 bits")
	}
	require.LessOrEqual(t, unsafe.Sizeof(Conn{}), uintptr(288))
	require.LessOrEqual(t, unsafe.Sizeof(inbound{}), uintptr(256))
}
