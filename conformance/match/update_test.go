package match

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/wire"
)

func TestUpdate(t *testing.T) {
	for golden, tt := range map[string]struct{ observed, want string }{
		`{"a":"$string","b":1}`:         {`{"b":2,"a":"x"}`, `{"a":"$string","b":2}`},
		`{"a":"$string"}`:               {`{"a":1}`, `{"a":1}`},
		`{"a":"$int","$more":true}`:     {`{"a":"x","c":3}`, `{"a":"x","$more":true}`},
		`{"a":1,"$more":true}`:          {`{"c":3}`, `{"$more":true}`},
		`{"a":1}`:                       {`{"a":1,"$more":"$x","$$":"$$"}`, `{"a":1,"$$more":"$$x","$$$":"$$$"}`},
		`["$any",1]`:                    {`[true,2,"$x"]`, `["$any",2,"$$x"]`},
		`[1,"$any","$more"]`:            {`[2]`, `[2,"$more"]`},
		`["$more"]`:                     {`{"a":"$"}`, `{"a":"$$"}`},
		`{"a":{"b":["$bind:x"],"c":1}}`: {`{"a":{"b":[5],"c":{}}}`, `{"a":{"b":["$bind:x"],"c":{}}}`},
		`{"_meta":{"a":1}}`:             {`{"_meta":{"a":1,"v":2}}`, `{"_meta":{"a":1}}`},
		`{"id":7,"x":"$one:a|b"}`:       {`{"id":9,"x":"c"}`, `{"id":7,"x":"c"}`},
		`{"id":7,"x":{"$schema":"$$id","$more":true}}`: {`{"id":9,"x":{"$schema":"$id"}}`, `{"id":7,"x":{"$schema":"$$id","$more":true}}`},
	} {
		o := Options{
			Volatile: func(path string, _ wire.Raw) bool { return path == "_meta.v" },
			Special:  func(path string, _, _ wire.Raw) (bool, bool) { return true, path == "id" },
		}
		fresh := func() Options { o.Bindings = Bindings{}; return o }
		p, err := Parse([]byte(golden))
		require.NoError(t, err, golden)
		observed := wire.MustRaw(tt.observed)
		got := p.Update(observed, fresh())
		require.Equal(t, tt.want, string(got), golden)
		p, err = Parse(got)
		require.NoError(t, err, "%s", got)
		require.NoError(t, p.Match(observed, fresh()), "%s", got)
		require.Equal(t, tt.want, string(p.Update(observed, fresh())), "twice is the same as once")
	}
}

func TestEscapeStandsForItself(t *testing.T) {
	for _, text := range []string{`"$string"`, `"$$"`, `{"$more":true,"$$more":[{"a":"$any"}]}`, `["$more"]`, `1e3`, `null`, `"x"`} {
		v := wire.MustRaw(text)
		require.NoError(t, Match(Escape(v), v, Options{}), text)
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add(`{"a":"$string","b":["$any","$more"],"$more":true}`, `{"a":1,"b":[1,2],"$c":"$d"}`)
	f.Add(`["$one:a|b",{"$$x":1}]`, `["c",{"$x":2}]`)
	f.Fuzz(func(t *testing.T, golden, observed string) {
		p, err := Parse([]byte(golden))
		if err != nil {
			return
		}
		v, err := wire.ParseRaw([]byte(observed))
		if err != nil {
			return
		}
		got := p.Update(v, Options{Bindings: Bindings{}})
		q, err := Parse(got)
		if err != nil {
			// A member twice cannot be golden text.
			require.ErrorContains(t, err, "twice")
			return
		}
		if err := q.Match(v, Options{Bindings: Bindings{}}); err != nil {
			require.Regexp(t, "twice|second|remembered", err.Error(), "%s", got)
		}
	})
}
