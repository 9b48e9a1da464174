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
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Revisions joins servers of different revisions into one that answers each
// request in the revision its client speaks: generated Servers, one a
// revision. Bind fails when two speak the same revision, one is nil, or none is
// given.
//
// Which one answers is decided request by request:
//
//   - a request whose _meta names a protocol version or client capabilities
//     belongs to the stateless revision of that version, whatever was said
//     before; another version is refused with CodeUnsupportedProtocolVersion;
//   - initialize chooses among the stateful revisions: the one that the client
//     offers, else the newest (basic/lifecycle, version negotiation); what
//     follows on that connection belongs to it;
//   - before any handshake ping is answered, and everything else is judged by
//     the newest stateless revision, which says what is missing. It is not taken
//     for the start of a session without a handshake.
//
// Where there are several stateless revisions that refusal, and the
// supportedVersions of server/discover in whichever of them it is asked, list
// them all, the newest first (basic/versioning, server/discover, 2026-07-28). A
// revision that package revision has no rules of is taken for newer than those
// that it has.
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
	return e, e.speakAsOne()
}

// bindAll sorts services by their revisions.
func bindAll(b []jsonrpc.Binder) (*eras, error) {
	e := &eras{stateless: map[string]*jsonrpc.Service{}, stateful: map[string]*jsonrpc.Service{}}
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
		kind := e.stateful
		if svc.Rules().Stateless {
			kind = e.stateless
		}
		if rev := svc.Revision(); kind[rev] != nil {
			return nil, fmt.Errorf("two speak %s", rev)
		}
		kind[svc.Revision()] = svc
	}
	if e.latest, e.newest = newest(e.stateless), newest(e.stateful); e.latest == nil && e.newest == nil {
		return nil, errors.New("none to choose from")
	}
	return e, nil
}

// newestFirst lists the revisions of services. Those that the runtime has no
// rules of come before the others, in the order of their names.
func newestFirst(services map[string]*jsonrpc.Service) []string {
	place := func(rev string) int {
		if i := revision.Index(rev); i >= 0 {
			return i
		}
		return math.MaxInt
	}
	return slices.SortedFunc(maps.Keys(services), func(a, b string) int {
		return -cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}

// newest is the service of the newest revision, nil for none.
func newest(services map[string]*jsonrpc.Service) *jsonrpc.Service {
	for _, rev := range newestFirst(services) {
		return services[rev]
	}
	return nil
}

type eras struct {
	options   jsonrpc.Options             // the first that are set
	stateless map[string]*jsonrpc.Service // by revision
	latest    *jsonrpc.Service            // of the stateless ones, may be nil
	stateful  map[string]*jsonrpc.Service // by revision
	newest    *jsonrpc.Service            // of the stateful ones, may be nil

	// discovers answers server/discover, by revision; that of the latest refuses
	// versions as well. It is empty unless there are several stateless revisions:
	// one can speak for itself.
	discovers map[string]*jsonrpc.Service
}

// Options are those of the first that sets any.
func (e *eras) Options() jsonrpc.Options { return e.options }

// Revisions lists all, the oldest first: for the errors of handshakes, and for
// carriers.
func (e *eras) Revisions() []string {
	all := append(newestFirst(e.stateless), newestFirst(e.stateful)...)
	slices.Reverse(all)
	return all
}

// speakAsOne makes what answers for several servers of stateless revisions where
// each of them knows of itself alone.
func (e *eras) speakAsOne() error {
	if len(e.stateless) < 2 {
		return nil
	}
	e.discovers = map[string]*jsonrpc.Service{}
	all := newestFirst(e.stateless)
	for rev, svc := range e.stateless {
		asks, err := jsonrpc.Local(jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: rev, Stateless: true, Side: jsonrpc.ClientSide}), jsonrpc.LocalOptions{Server: svc})
		if err != nil {
			return err
		}
		d := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: rev, Stateless: true, Side: jsonrpc.ServerSide, Info: infoOf(svc), Supported: all, Options: svc.Options()})
		jsonrpc.HandleRequest(d, v20260728.MethodServerDiscover, func(ctx context.Context, p *v20260728.DiscoverParams) (*wire.Raw, error) {
			r, err := jsonrpc.CallRaw(ctx, asks, v20260728.MethodServerDiscover, p.AppendJSON(nil))
			if err != nil {
				return nil, err
			}
			return new(withVersions(r, all)), nil
		})
		e.discovers[rev] = d
	}
	return nil
}

// infoOf is how a service describes itself, nil for one that does not.
func infoOf(svc *jsonrpc.Service) wire.Appender {
	if info := svc.Info(); info != nil {
		return info
	}
	return nil
}

// withVersions is a result of server/discover that lists other versions.
func withVersions(result wire.Raw, versions []string) wire.Raw {
	const member = "supportedVersions"
	b := wire.AppendStrings([]byte(`{"`+member+`":`), versions)
	for name, v := range result.Members() {
		if name != member {
			b = append(wire.AppendString(append(b, ','), name), ':')
			b = wire.AppendRaw(b, v)
		}
	}
	return append(b, '}')
}

// Choose picks the server for one message; see [Revisions].
func (e *eras) Choose(c *jsonrpc.Conn, f *jsonrpc.Peek) *jsonrpc.Service {
	if e.latest == nil {
		return e.inSession(c, f)
	}
	if f.SaysItAll() {
		return e.saying(f)
	}
	if e.newest != nil {
		if s := c.Service(); s != nil && !s.Rules().Stateless {
			return s
		}
		if f.Method == "initialize" || f.Method == "ping" {
			return e.inSession(c, f)
		}
	}
	if f.Method == "initialize" && len(e.discovers) > 0 {
		return e.refusing() // it names the versions
	}
	return e.latest
}

// saying is the server of a request that says its version, or should.
func (e *eras) saying(f *jsonrpc.Peek) *jsonrpc.Service {
	if len(e.discovers) == 0 {
		return e.latest
	}
	version, _ := f.Params().Get("_meta").Get(v20260728.MetaKeyProtocolVersion).Str()
	svc := e.stateless[version]
	switch {
	case svc == nil:
		return e.refusing()
	case f.Method == v20260728.MethodServerDiscover:
		return e.discovers[version]
	}
	return svc
}

// refusing is what refuses a request of a version that is none of several.
func (e *eras) refusing() *jsonrpc.Service { return e.discovers[e.latest.Revision()] }

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
