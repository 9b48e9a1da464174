// Package compat lets one program speak with peers of all revisions of the
// protocol. [Server] serves a server that is written for one revision in every
// one, [Dial] connects a client that is written for one revision to a server of
// any. Between two revisions that follow each other the step packages
// (generated/mcp/step…) convert values; what changed in the flow of messages from
// 2025-11-25 to 2026-07-28 is told here in the other's way.
//
// [Sealer] makes a requestState that any replica can believe, [Tasks] runs calls
// in the background. [Revisions] and [DialRevisions] join code that is written
// for several revisions.
package compat

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
)

// Revisions joins servers of different revisions into one that answers each
// request in the revision its client speaks: generated Servers, one a
// revision, at most one of them of a stateless revision: such a server says in
// its own answers what it speaks, and two would contradict each other. Bind fails
// when there are two of those, when two speak the same revision, one is nil, or
// none is given.
//
// Which one answers is decided request by request:
//
//   - a request whose _meta names a protocol version or client capabilities
//     belongs to the stateless revision, whatever was said before;
//   - initialize chooses among the stateful revisions: the one that the client
//     offers, else the newest (basic/lifecycle, version negotiation); what
//     follows on that connection belongs to it;
//   - before any handshake ping is answered, and everything else is judged by
//     the stateless revision, which says what is missing. It is not taken for
//     the start of a session without a handshake.
//
// The limits and listeners of the connections are the Options of the first
// server that sets any; Options.Incoming is each server's own.
func Revisions(servers ...jsonrpc.Binder) jsonrpc.Binder { return binder(servers) }

type binder []jsonrpc.Binder

// Bind binds each server.
func (b binder) Bind() (jsonrpc.Chooser, error) {
	e, err := bindAll(b)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// bindAll sorts services by their revisions.
func bindAll(b []jsonrpc.Binder) (*eras, error) {
	e := &eras{stateful: map[string]*jsonrpc.Service{}}
	for _, s := range b {
		ch, err := jsonrpc.Bind(s)
		if err != nil {
			return nil, err
		}
		svc, ok := ch.(*jsonrpc.Service)
		if !ok {
			return nil, fmt.Errorf("%T serves several revisions already", s)
		}
		if o := svc.Options(); reflect.ValueOf(e.options).IsZero() {
			e.options = o
		}
		rev := svc.Revision()
		if svc.Rules().Stateless {
			if e.stateless != nil {
				return nil, fmt.Errorf("two of stateless revisions, %s and %s: one can be joined with those of stateful ones", e.stateless.Revision(), rev)
			}
			e.stateless = svc
			continue
		}
		if e.stateful[rev] != nil {
			return nil, fmt.Errorf("two speak %s", rev)
		}
		e.stateful[rev] = svc
	}
	for _, rev := range revision.All() {
		if svc := e.stateful[rev]; svc != nil {
			e.newest = svc // the order is oldest first
		}
	}
	if e.stateless == nil && e.newest == nil {
		return nil, errors.New("none to choose from")
	}
	return e, nil
}

type eras struct {
	options   jsonrpc.Options             // the first that are set
	stateless *jsonrpc.Service            // may be nil
	stateful  map[string]*jsonrpc.Service // by revision
	newest    *jsonrpc.Service            // of the stateful ones, may be nil
}

// Options are those of the first that sets any.
func (e *eras) Options() jsonrpc.Options { return e.options }

// Choose picks the server for one message; see [Revisions].
func (e *eras) Choose(c *jsonrpc.Conn, f *jsonrpc.Peek) *jsonrpc.Service {
	if e.stateless == nil {
		return e.inSession(c, f)
	}
	if e.newest == nil || f.SaysItAll() {
		return e.stateless
	}
	if s := c.Service(); s != nil && !s.Rules().Stateless {
		return s
	}
	if f.Method == "initialize" || f.Method == "ping" {
		return e.inSession(c, f)
	}
	return e.stateless
}

func (e *eras) inSession(c *jsonrpc.Conn, f *jsonrpc.Peek) *jsonrpc.Service {
	if s := c.Service(); s != nil {
		return s
	}
	if f.Method == "initialize" {
		version, _ := f.Params().Get("protocolVersion").Str()
		if s := e.stateful[version]; s != nil {
			return s
		}
	}
	return e.newest
}
