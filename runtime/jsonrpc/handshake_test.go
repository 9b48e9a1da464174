package jsonrpc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// TestWrongEra: a server that does not speak our revision is told apart from
// one that refuses us for another reason, and the error says what it speaks:
// from the refusal, or by trying the handshake of the other era.
func TestWrongEra(t *testing.T) {
	const (
		initialize = `< {"jsonrpc":"2.0","id":1,"method":"initialize","params":"*"}`
		discover   = `< {"jsonrpc":"2.0","id":1,"method":"server/discover","params":"*"}`
		again      = `< {"jsonrpc":"2.0","id":2,"method":"server/discover","params":"*"}`
		// The request of the other era, after the refusal.
		thenDiscover   = `< {"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		thenInitialize = `< {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"goldwire","version":"1"}}}`
	)
	fails := func(id, code, data string) string {
		if data != "" {
			data = `,"data":` + data
		}
		return `> {"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + code + `,"message":"no"` + data + `}}`
	}
	gives := func(id, result string) string { return `> {"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}` }
	for _, c := range []struct {
		name   string
		modern bool // we are
		lines  []string
		theirs []string // nil: the peer's error as it is
	}{
		{"initialize, with a list", false, []string{initialize, fails("1", "-32022", `{"supported":["2026-07-28"],"requested":"2025-11-25"}`)}, []string{"2026-07-28"}},
		{"initialize, with a list of an older server", false, []string{initialize, fails("1", "-32602", `{"supported":["2024-11-05"],"requested":"2025-11-25"}`)}, []string{"2024-11-05"}},
		{"initialize, no such method, discovery", false, []string{initialize, fails("1", "-32601", ""), thenDiscover, gives("2", `{"supportedVersions":["2026-07-28"]}`)}, []string{"2026-07-28"}},
		{"initialize, no such method, refused with a list", false, []string{initialize, fails("1", "-32602", ""), thenDiscover, fails("2", "-32022", `{"supported":["2030-01-01"]}`)}, []string{"2030-01-01"}},
		{"initialize, no such method, nothing learnt", false, []string{initialize, fails("1", "-32601", ""), thenDiscover, fails("2", "-32601", "")}, nil},
		{"initialize, refused for another reason by one that speaks it", false, []string{initialize, fails("1", "-32602", ""), thenDiscover, gives("2", `{"supportedVersions":["2025-11-25","2026-07-28"]}`)}, nil},
		{"initialize, refused", false, []string{initialize, fails("1", "-1", "")}, nil},
		{"initialize, another version", false, []string{initialize, gives("1", `{"protocolVersion":"2024-11-05","capabilities":{}}`)}, []string{"2024-11-05"}},
		{"discover, with a list", true, []string{discover, fails("1", "-32022", `{"supported":["2030-01-01"]}`)}, []string{"2030-01-01"}},
		{"discover, refused twice with a list that has ours", true, []string{discover, fails("1", "-32022", `{"supported":["2026-07-28"]}`), again, fails("2", "-32022", `{"supported":["2026-07-28"]}`)}, nil},
		{"discover, refused with a list that has ours, then with another", true, []string{discover, fails("1", "-32022", `{"supported":["2026-07-28"]}`), again, fails("2", "-32022", `{"supported":["2030-01-01"]}`)}, []string{"2030-01-01"}},
		{"discover, no such method, handshake", true, []string{discover, fails("1", "-32601", ""), thenInitialize, gives("2", `{"protocolVersion":"2025-06-18","capabilities":{}}`)}, []string{"2025-06-18"}},
		{"discover, not initialized, handshake", true, []string{discover, fails("1", "-32600", ""), thenInitialize, gives("2", `{"protocolVersion":"2024-11-05","capabilities":{}}`)}, []string{"2024-11-05"}},
		{"discover, no such method, nothing learnt", true, []string{discover, fails("1", "-32601", ""), thenInitialize, fails("2", "-32601", "")}, nil},
		{"discover, refused", true, []string{discover, fails("1", "-32603", "")}, nil},
		{"discover, other versions", true, []string{discover, gives("1", `{"supportedVersions":["2030-01-01"],"capabilities":{}}`)}, []string{"2030-01-01"}},
		{"discover, no versions", true, []string{discover, gives("1", `{}`)}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b jsonrpc.Binder = oldClient{}
			if c.modern {
				b = newClient{}
			}
			p := newTap(t, b, jsonrpc.ClientSide)
			done := make(chan error, 1)
			go func() {
				var err error
				if c.modern {
					_, err = jsonrpc.Discover[raw](context.Background(), p.conn, &newParams{})
				} else {
					_, err = jsonrpc.Initialize[raw](context.Background(), p.conn, &oldParams{})
				}
				done <- err
			}()
			p.talk(c.lines...)
			err := <-done
			p.none()
			require.Equal(t, jsonrpc.Closed, p.conn.State())
			if c.theirs == nil {
				var e *jsonrpc.Error
				require.ErrorAs(t, err, &e)
				var ve *jsonrpc.VersionError
				require.NotErrorAs(t, err, &ve)
				return
			}
			var ve *jsonrpc.VersionError
			require.ErrorAs(t, err, &ve)
			require.ElementsMatch(t, c.theirs, ve.Theirs)
			require.Len(t, ve.Ours, 1)
		})
	}
}

// TestDiscoverOnceMore: a server that refuses a version which it lists is asked
// once more.
func TestDiscoverOnceMore(t *testing.T) {
	p := newTap(t, newClient{}, jsonrpc.ClientSide)
	done := make(chan error, 1)
	go func() {
		_, err := jsonrpc.Discover[raw](context.Background(), p.conn, &newParams{})
		done <- err
	}()
	p.talk(
		`< {"jsonrpc":"2.0","id":1,"method":"server/discover","params":"*"}`,
		`> {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}}`,
		`< {"jsonrpc":"2.0","id":2,"method":"server/discover","params":"*"}`,
		`> {"jsonrpc":"2.0","id":2,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`,
	)
	require.NoError(t, <-done)
	require.Equal(t, jsonrpc.Ready, p.conn.State())
}

// TestPeerGoneBeforeTheHandshake: a connection that ended before its handshake
// began says what ended it.
func TestPeerGoneBeforeTheHandshake(t *testing.T) {
	for _, b := range []jsonrpc.Binder{oldClient{}, newClient{}} {
		p := newTap(t, b, jsonrpc.ClientSide)
		cause := errors.New("exited with code 4")
		p.r.Closed(cause)
		_, old := jsonrpc.Initialize[raw](t.Context(), p.conn, &oldParams{})
		_, modern := jsonrpc.Discover[raw](t.Context(), p.conn, &newParams{})
		for _, err := range []error{old, modern} {
			require.ErrorIs(t, err, cause)
			require.ErrorIs(t, err, jsonrpc.ErrClosed)
			require.ErrorContains(t, err, "exited with code 4")
		}
	}
}
