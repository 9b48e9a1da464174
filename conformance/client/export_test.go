package client

import (
	"context"

	"github.com/goldwire/goldwire/conformance/catalogue"
)

// NewServer is the server of a script by itself, as strict as a server can be.
func NewServer(ctx context.Context, s *Script, rev string, t catalogue.Transport) *Play {
	p := newPlay(ctx, s, rev, t, Limits{})
	p.Strict = true
	return p
}

func (p *Play) StartProcess() *Process { return p.startProcess() }

func (p *Play) Close() { p.close() }

// WithScripts plays these instead of all.
func (o Options) WithScripts(scripts ...Script) Options {
	o.scripts = scripts
	return o
}
