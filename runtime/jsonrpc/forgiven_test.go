package jsonrpc_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// nameList is a result whose list is read leniently, as generated ones are.
type nameList struct{ Names []string }

func (r *nameList) DecodeJSON(d *wire.Dec) error {
	seen := false
	err := members(d, func(k string) error {
		if k != "names" {
			return skip(d)
		}
		seen = true
		if err := d.ArrBegin(); err != nil {
			return err
		}
		for {
			done, err := d.Elem()
			if err != nil || done {
				return err
			}
			m := d.Mark()
			s, err := d.Str()
			if err == nil {
				r.Names = append(r.Names, s)
			} else if err = d.Skip(m, err); err != nil {
				return err
			}
		}
	})
	if err == nil && !seen {
		if !d.Lenient() {
			return d.Require(0, 1, []string{"names"})
		}
		d.Forgive("missing, taken as []", "names")
	}
	return err
}

func (r *nameList) AppendJSON(b []byte) []byte { return append(b, "{}"...) }

// TestForgivenResults: what a result was forgiven is told to the call that
// asks, counted, and told to the listeners; a strict call is refused it.
func TestForgivenResults(t *testing.T) {
	type problem = wire.Problem
	for _, c := range []struct {
		name, result string
		names        []string
		problems     []problem
	}{
		{"nothing to forgive", `{"names":["a","b"]}`, []string{"a", "b"}, nil},
		{"elements of the wrong type", `{"names":["a",1,"b",null]}`, []string{"a", "b"}, []problem{
			{Kind: wire.ErrType, Path: "result.names[1]", Msg: "want a string, got a number"},
			{Kind: wire.ErrType, Path: "result.names[3]", Msg: "want a string, got null"},
		}},
		{"a missing list", `{}`, nil, []problem{{Kind: wire.ErrMissing, Path: "result.names", Msg: "missing, taken as []"}}},
		{"a lone surrogate", `{"names":["\ud800"]}`, []string{"\ufffd"}, []problem{{Kind: wire.ErrValue, Path: "result.names[0]", Msg: "lone surrogate escape"}}},
	} {
		// The usual order of members is read in one pass, others in two.
		for order, answer := range map[string]string{
			"id first":     `{"jsonrpc":"2.0","id":2,"result":` + c.result + `}`,
			"result first": `{"jsonrpc":"2.0","result":` + c.result + `,"id":2}`,
		} {
			for _, strict := range []bool{false, true} {
				t.Run(c.name+", "+order, func(t *testing.T) {
					events := make(chan jsonrpc.Event, 8)
					p, r := clientTap(t, oldClient{Options: jsonrpc.Options{Events: []func(jsonrpc.Event){func(e jsonrpc.Event) { events <- e }}}}, allCaps)
					var heard []problem
					ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{
						Problems: func(ps []wire.Problem) { heard = ps }, StrictResult: strict,
					})
					type outcome struct {
						res *nameList
						err error
					}
					call := make(chan outcome, 1)
					go func() {
						res, err := jsonrpc.CallTyped[nameList](ctx, r.conn, "tools/list", &oldParams{})
						call <- outcome{res, err}
					}()
					p.talk(`< {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`)
					p.push(answer)
					o := <-call
					for i := range heard {
						heard[i].Offset = 0
					}
					if strict && c.problems != nil {
						var ce *jsonrpc.CallError
						require.ErrorAs(t, o.err, &ce)
						require.Equal(t, jsonrpc.StageDecode, ce.Stage)
						var se *jsonrpc.StrictError
						require.ErrorAs(t, o.err, &se)
						require.Len(t, se.Problems, len(c.problems))
						require.ErrorIs(t, o.err, c.problems[0].Kind)
						require.ErrorContains(t, o.err, c.problems[0].Path)
						require.Empty(t, heard)
					} else {
						require.NoError(t, o.err)
						require.Equal(t, c.names, o.res.Names)
						require.Empty(t, cmp.Diff(c.problems, heard))
					}
					n, kind := 0, jsonrpc.ForgivenAnswer
					if strict { // nothing is forgiven
						kind = jsonrpc.InvalidAnswer
					}
					if c.problems != nil {
						n = 1
						e := <-events
						require.Equal(t, kind, e.Kind)
						require.Equal(t, "tools/list", e.Method)
						require.Equal(t, jsonrpc.NewID(2), e.ID)
						require.Len(t, e.Problems, len(c.problems))
						require.Equal(t, c.problems[0].Path, e.Problems[0].Path)
						require.Equal(t, answer, string(e.Sample))
					}
					require.Equal(t, n, count(p.conn, jsonrpc.ForgivenAnswer)+count(p.conn, jsonrpc.InvalidAnswer))
				})
			}
		}
	}
}

// TestForgivenHandshake: the result of a handshake is a result as well.
func TestForgivenHandshake(t *testing.T) {
	for _, strict := range []bool{false, true} {
		p := newTap(t, oldClient{}, jsonrpc.ClientSide)
		var heard []wire.Problem
		ctx := jsonrpc.WithCallOptions(context.Background(), jsonrpc.CallOptions{
			Problems: func(ps []wire.Problem) { heard = ps }, StrictResult: strict,
		})
		done := make(chan error, 1)
		go func() {
			_, err := jsonrpc.Initialize[nameList](ctx, p.conn, &oldParams{})
			done <- err
		}()
		p.talk(`< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
			`> {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"names":[1]}}`)
		err := <-done
		if strict {
			require.Zero(t, count(p.conn, jsonrpc.ForgivenAnswer))
			require.Equal(t, 1, count(p.conn, jsonrpc.InvalidAnswer))
			var se *jsonrpc.StrictError
			require.ErrorAs(t, err, &se)
			require.Equal(t, jsonrpc.Closed, p.conn.State())
			continue
		}
		require.NoError(t, err)
		require.Equal(t, 1, count(p.conn, jsonrpc.ForgivenAnswer))
		require.Len(t, heard, 1)
		require.Equal(t, "result.names[0]", heard[0].Path)
	}
}
