package wire_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/wire"
)

// pair is a type with two members that others may lack.
type pair struct {
	A *string
	N *int64
}

func (p *pair) DecodeJSON(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	var seen uint64
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			return d.Require(seen, 1, []string{"required"})
		}
		switch string(k) {
		case "a":
			p.A, err = d.StrPtr()
		case "n":
			p.N, err = d.IntPtr()
		case "odd name":
			_, err = d.Int()
		case "required":
			seen = 1
			_, err = d.Raw()
		default:
			_, err = d.Raw()
		}
		if err != nil {
			return err
		}
	}
}

func (p *pair) AppendJSON(b []byte) []byte { return append(b, `{"a":"x","n":1}`...) }

func TestPoliciesForWhatCannotBeSaid(t *testing.T) {
	for _, c := range []struct {
		name                   string
		env                    *wire.Env
		leave, instead, omit   bool // whether the conversion goes on
		lostByLeave, lostThere int
	}{
		{"no env is degrade", nil, true, true, false, 0, 0},
		{"degrade", &wire.Env{}, true, true, false, 1, 1},
		{"fail", &wire.Env{Policy: wire.Fail}, false, false, false, 0, 0},
		{"drop", &wire.Env{Policy: wire.Drop}, true, false, true, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			lost := func() int {
				if c.env == nil {
					return 0
				}
				n := len(c.env.Losses)
				c.env.Losses = nil
				return n
			}
			require.Equal(t, c.leave, c.env.Leave("x", "why") == nil)
			require.Equal(t, c.lostByLeave, lost())
			require.Equal(t, c.instead, c.env.Instead("x", "why") == nil)
			require.Equal(t, c.lostThere, lost())
			err := c.env.Cannot("x", "why")
			require.EqualError(t, err, "x: why")
			require.Equal(t, c.omit, c.env.Omit(c.env.Mark(), err))
			require.False(t, c.env.Omit(0, errors.New("another")))
		})
	}
}

func TestLossesNameTheirPlace(t *testing.T) {
	e := &wire.Env{}
	outer := e.Mark()
	e.Lose("icons", "gone")
	require.NoError(t, e.AtIndex(outer, 3, nil))
	inner := e.Mark()
	e.Lose(`["a b"]`, "gone")
	require.NoError(t, e.At(inner, "_meta", nil))
	err := e.At(outer, "tools", e.Cannot("name", "why"))
	require.EqualError(t, err, "tools.name: why")
	require.Equal(t, []wire.Loss{{Path: "tools[3].icons", Why: "gone"}, {Path: `tools._meta["a b"]`, Why: "gone"}}, e.Losses)
	require.Equal(t, "tools[3].icons: gone", e.Losses[0].String())

	alone := e.Mark()
	e.Lose("text", "gone")
	require.NoError(t, e.AtItem(alone, 0, false, nil))
	require.NoError(t, e.AtItem(alone, 0, true, nil))
	require.Equal(t, "[0].text", e.Losses[2].Path)

	// what goes away as a whole takes the losses of its parts along
	require.True(t, e.Omit(outer, &wire.ConvertError{Path: "[3]", Why: "hidden", Omit: true}))
	require.Equal(t, []wire.Loss{{Path: "[3]", Why: "hidden"}}, e.Losses)
	for path, want := range map[string]wire.Loss{
		"[3].content[1].data": {Path: "[3]", Why: "content[1].data: why"}, "content[0]": {Path: "content", Why: "[0]: why"}, "name": {Path: "name", Why: "why"},
		`["a].\"b"].x`: {Path: `["a].\"b"]`, Why: "x: why"}, `["a"]`: {Path: `["a"]`, Why: "why"}, "a.b": {Path: "a", Why: "b: why"}, "": {Why: "why"},
	} {
		e.Losses = nil
		require.True(t, e.Omit(0, &wire.ConvertError{Path: path, Why: "why", Omit: true}))
		require.Equal(t, []wire.Loss{want}, e.Losses)
	}

	var none *wire.Env
	require.NoError(t, none.At(none.Mark(), "x", nil))
	require.EqualError(t, none.AtIndex(0, 1, none.Cannot("x", "why")), "[1].x: why")
	none.Lose("x", "nobody hears")
	none.Report("m", "params")
}

func TestLossesAreBounded(t *testing.T) {
	var told []wire.Loss
	e := &wire.Env{MaxLosses: 2, OnLoss: func(l wire.Loss) { told = append(told, l) }}
	for range 5 {
		e.Lose("x", "gone")
	}
	require.Len(t, e.Losses, 2)
	require.Equal(t, 3, e.MoreLosses)
	e.Report("tools/list", "result")
	require.Equal(t, []wire.Loss{{Path: "tools/list result.x", Why: "gone"}, {Path: "tools/list result.x", Why: "gone"}, {Path: "tools/list result", Why: "3 more losses"}}, told)
	require.Empty(t, e.Losses)
	e.Report("tools/list", "result")
	require.Len(t, told, 3)
}

func TestEnvOfTheContextIsCopied(t *testing.T) {
	ctx := context.Background()
	require.Nil(t, wire.EnvFor(ctx))
	require.Zero(t, wire.EnvOf(ctx).Policy)
	given := &wire.Env{Policy: wire.Drop, LogLevel: "info"}
	given.Lose("x", "before")
	ctx = wire.WithEnv(ctx, given)
	given.LogLevel = "changed"
	e := wire.EnvFor(ctx)
	require.Equal(t, wire.Drop, e.Policy)
	require.Equal(t, "info", e.LogLevel)
	require.Empty(t, e.Losses)
	e.Lose("x", "gone")
	require.Empty(t, wire.EnvFor(ctx).Losses)
}

func TestTakeReadsUnknownMembersThatAreKnownHere(t *testing.T) {
	raw := func(s string) wire.Raw { return wire.MustRaw(s) }
	names := []string{"a", "n", "odd name", "required"} // the last is not there, and nobody misses it
	for _, c := range []struct {
		name   string
		extra  wire.Members
		policy wire.Policy
		a      string // "" for none
		found  bool
		left   int
		lost   []wire.Loss
		fails  string
	}{
		{name: "none", extra: wire.Members{{Name: "x", Value: raw("1")}}, left: 1},
		{name: "one", extra: wire.Members{{Name: "x", Value: raw("1")}, {Name: "a", Value: raw(`"v"`)}}, found: true, a: "v", left: 1},
		{name: "one that does not fit", extra: wire.Members{{Name: "n", Value: raw(`"v"`)}, {Name: "a", Value: raw(`"v"`)}}, found: true, a: "v", lost: []wire.Loss{{Path: "n", Why: `want an integer, got a string`}}},
		{name: "all that do not fit", extra: wire.Members{{Name: "n", Value: raw(`[]`)}}, lost: []wire.Loss{{Path: "n", Why: `want an integer, got an array`}}},
		{name: "a name that is quoted in paths", extra: wire.Members{{Name: "odd name", Value: raw(`[]`)}}, lost: []wire.Loss{{Path: `["odd name"]`, Why: `want an integer, got an array`}}},
		{name: "one that may not be lost", extra: wire.Members{{Name: "n", Value: raw(`"v"`)}}, policy: wire.Fail, left: 1, fails: "n: want an integer, got a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &wire.Env{Policy: c.policy}
			extra := c.extra[:len(c.extra):len(c.extra)]
			v, err := wire.Take[pair](e, &extra, names...)
			if c.fails != "" {
				require.EqualError(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.found, v != nil)
			if c.a != "" {
				require.Equal(t, c.a, *v.A)
			}
			require.Len(t, extra, c.left)
			require.Equal(t, c.lost, e.Losses)
		})
	}
}

func TestMemberIsLostOrKept(t *testing.T) {
	backing := append(make(wire.Members, 0, 8), wire.Member{Name: "x", Value: wire.Raw("1")})
	extra := backing
	e := &wire.Env{}
	e.Member(&extra, "a", "gone", new(pair))
	require.Equal(t, []wire.Loss{{Path: "a", Why: "gone"}}, e.Losses)
	require.Len(t, extra, 1)
	e = &wire.Env{Keep: true}
	e.Member(&extra, "a", "gone", new(pair))
	require.Empty(t, e.Losses)
	require.Equal(t, wire.Raw(`"x"`), extra.Get("a"))
	require.Empty(t, backing[:2][1].Name, "the members are those of the value that is converted, too")
}

func TestReadAndObjectLeaveOutWhatDoesNotFit(t *testing.T) {
	e := &wire.Env{}
	v, err := wire.Read[pair](e, "_meta", wire.Raw(`{"required":1,"a":"v"}`))
	require.NoError(t, err)
	require.Equal(t, "v", *v.A)
	v, err = wire.Read[pair](e, "_meta", wire.Raw(`{"required":1,"n":"v"}`))
	require.NoError(t, err)
	require.Nil(t, v)
	o, err := wire.Object(e, "structuredContent", wire.Raw(`[1]`))
	require.NoError(t, err)
	require.Nil(t, o)
	require.Equal(t, []string{"_meta.n", "structuredContent"}, []string{e.Losses[0].Path, e.Losses[1].Path})
	_, err = wire.Object(&wire.Env{Policy: wire.Fail}, "structuredContent", wire.Raw(`null`))
	require.EqualError(t, err, "structuredContent: has to be an object there")
}

func TestFactIsDecodedOnce(t *testing.T) {
	given := &wire.Env{ClientInfo: wire.Raw(`{"required":1,"a":"client"}`), ServerInfo: wire.Raw(`{"required":1,"a":"server"}`)}
	ctx := wire.WithEnv(context.Background(), given)
	first := wire.EnvFor(ctx)
	client := wire.Fact[pair](first, first.ClientInfo)
	require.Equal(t, "client", *client.A)
	require.Equal(t, "server", *wire.Fact[pair](first, first.ServerInfo).A)
	second := wire.EnvFor(ctx)
	require.Same(t, client, wire.Fact[pair](second, second.ClientInfo))
	require.Nil(t, wire.Fact[pair](second, nil))
	require.Nil(t, wire.Fact[pair](nil, wire.Raw(`{"n":"v"}`)))
}

func TestSizesForPeople(t *testing.T) {
	for n, want := range map[int]string{0: "0 B", 999: "999 B", 1000: "1 kB", 12_345: "12 kB", 1_600_000: "2 MB"} {
		require.Equal(t, want, wire.SizeText(n))
	}
	require.Equal(t, 1, wire.Base64Len("QQ=="))
	require.Equal(t, 3, wire.Base64Len("QUJD"))
	require.Equal(t, 0, wire.Base64Len(""))
}
