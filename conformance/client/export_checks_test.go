package client

import (
	"context"
	"errors"
	"slices"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/result"
)

// PlayScripts plays scripts to a client, whatever it speaks.
func PlayScripts(ctx context.Context, t Target, rev string, over catalogue.Transport, l Limits, names ...string) ([]*check.Trace, error) {
	r := &runner{ctx: ctx, drive: ctx, t: t, o: Options{Limits: l}, rep: &result.Report{}, good: map[setting]*check.Trace{}}
	var out []*check.Trace
	all := Scripts()
	for _, name := range names {
		i := slices.IndexFunc(all, func(s Script) bool { return s.Name == name })
		if i < 0 || !all[i].plays(rev, over) {
			return nil, errors.New("the script " + name + " is not played")
		}
		trace, err := r.play(&all[i], setting{rev, over})
		if err != nil {
			return nil, err
		}
		out = append(out, trace)
	}
	return out, nil
}
