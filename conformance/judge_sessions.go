package conformance

import (
	"bytes"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// What a session says of itself.
const (
	metaVersion = "io.modelcontextprotocol/protocolVersion"
	metaInfo    = "io.modelcontextprotocol/clientInfo"
	metaCaps    = "io.modelcontextprotocol/clientCapabilities"

	fieldProfile = "profile"             // of the recordings of a checker, which hold one session each
	fieldCaps    = "client-capabilities" // what the client declared, as JSON
)

// Sessions splits a recording into the sessions that it holds, in the order in
// which they began: over stdio one for each start of a process, and one for each
// era that was spoken in it; over HTTP one for each Mcp-Session-Id, each stream
// of HTTP+SSE, and each client (by its name and version) of a stateless
// revision, where requests of a stateful server without sessions belong to the
// last initialize before them, at the same path if there was one. An attempt that the server did not take belongs to
// the session that came next, at the same address if there is one. What belongs
// to none (a look-up of metadata, a request that was never answered with a
// revision) stays with the first.
//
// Each session says its revision, found in its handshake, and its transport; a
// revision is left out where there is none to be found. A recording of a
// checker, which says by its field "profile" what it is, is one session.
func Sessions(rec *transcript.Recording) []*transcript.Recording {
	parts, _ := sessions(rec)
	return parts
}

// sessions are those of a recording, and the HTTP exchanges that are attempts.
func sessions(rec *transcript.Recording) (parts []*transcript.Recording, attempts map[int]bool) {
	if rec.Get(fieldProfile) != "" {
		return []*transcript.Recording{rec}, nil
	}
	parts, attempts = splitHTTP(rec)
	if parts == nil {
		for _, p := range splitStarts(rec) {
			parts = append(parts, splitEras(p)...)
		}
	}
	for _, p := range parts {
		s := handshakeOf(p)
		if rev := rec.Get(transcript.FieldRevision); rev != "" && (len(parts) == 1 || s.revision == "") {
			s.revision = rev
		}
		if s.revision != "" {
			p.Set(transcript.FieldRevision, s.revision)
		}
		if s.caps != nil && p.Get(fieldCaps) == "" {
			p.Set(fieldCaps, string(s.caps))
		}
	}
	return parts, attempts
}

// without is a recording without some of its exchanges.
func without(rec *transcript.Recording, attempts map[int]bool) *transcript.Recording {
	if !slices.ContainsFunc(rec.Events, func(e transcript.Event) bool { return attempts[e.Exchange] }) {
		return rec
	}
	return &transcript.Recording{Fields: rec.Fields, Events: slices.DeleteFunc(slices.Clone(rec.Events), func(e transcript.Event) bool { return attempts[e.Exchange] })}
}

func part(rec *transcript.Recording, transport catalogue.Transport, events []transcript.Event) *transcript.Recording {
	p := &transcript.Recording{Fields: slices.Clone(rec.Fields), Events: events}
	if t := p.Get(transcript.FieldTransport); t != string(transport) {
		p.Set(transcript.FieldTransport, string(transport))
	}
	return p
}

// splitStarts splits at the start of each process but the first.
func splitStarts(rec *transcript.Recording) []*transcript.Recording {
	var parts []*transcript.Recording
	from, started := 0, false
	for i := range rec.Events {
		if rec.Events[i].Kind != transcript.KindStart {
			continue
		}
		if started {
			parts = append(parts, part(rec, catalogue.Stdio, rec.Events[from:i:i]))
			from = i
		}
		started = true
	}
	return append(parts, part(rec, catalogue.Stdio, rec.Events[from:]))
}

// splitEras splits a process that spoke a stateless revision, was answered, and
// then was initialized.
func splitEras(rec *transcript.Recording) []*transcript.Recording {
	modern := false
	asked := map[string]string{} // versions by ids
	for i := range rec.Events {
		e := &rec.Events[i]
		if !e.Message() {
			continue
		}
		v, ok := object(e.Data)
		if !ok {
			continue
		}
		method, _ := v.Get("method").Str()
		switch {
		case e.Dir == transcript.ToServer && method == "initialize" && v.Get("params").Get("_meta").Get(metaVersion) == nil:
			if !modern {
				return []*transcript.Recording{rec}
			}
			return []*transcript.Recording{part(rec, catalogue.Stdio, rec.Events[:i:i]), part(rec, catalogue.Stdio, rec.Events[i:])}
		case e.Dir == transcript.ToServer && v.Get("id") != nil && v.Get("params").Get("_meta").Get(metaVersion) != nil:
			asked[v.Get("id").String()], _ = v.Get("params").Get("_meta").Get(metaVersion).Str()
		case e.Dir == transcript.ToClient && asked[v.Get("id").String()] != "" && accepts(v.Get("result"), asked[v.Get("id").String()]):
			modern = true
		}
	}
	return []*transcript.Recording{rec}
}

func object(data []byte) (wire.Raw, bool) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] != '{' {
		return nil, false
	}
	v, err := wire.ParseRaw(data)
	return v, err == nil
}

// firstOf is a message, or the first one of a batch that says anything of its
// session.
func firstOf(data []byte) wire.Raw {
	v, err := wire.ParseRaw(bytes.TrimSpace(data))
	if err != nil {
		return nil
	}
	for m := range v.Elems() {
		return m
	}
	return v
}

// splitHTTP sorts exchanges into sessions; nil where there are none.
func splitHTTP(rec *transcript.Recording) (parts []*transcript.Recording, attempts map[int]bool) {
	type session struct {
		key       string
		transport catalogue.Transport
		spoken    bool            // something was answered by a result
		paths     map[string]bool // that were asked for
	}
	byKey := map[string]*session{}
	var order []*session
	get := func(key string, t catalogue.Transport) *session {
		s := byKey[key]
		if s == nil {
			s = &session{key: key, transport: t, paths: map[string]bool{}}
			byKey[key] = s
			order = append(order, s)
		}
		return s
	}
	of := map[int]*session{}
	endpoints := map[string]string{} // where to post of an HTTP+SSE stream → its session
	var last *session                // a stateful one without an id
	lastAt := map[string]*session{}  // of each path
	exchanges := slices.Collect(rec.Exchanges())
	if len(exchanges) == 0 {
		return nil, nil
	}
	for _, x := range exchanges {
		v := firstOf(x.Body)
		method, _ := v.Get("method").Str()
		meta := v.Get("params").Get("_meta")
		version, _ := meta.Get(metaVersion).Str()
		id := x.Header.Get("mcp-session-id")
		if id == "" && method == "initialize" {
			id = x.ResponseHeader.Get("mcp-session-id")
		}
		target, path := strings.TrimPrefix(x.Target, "/"), pathOf(x.Target)
		switch key := endpoints[target]; {
		case key != "":
			of[x.Number] = byKey[key]
		case len(x.Messages) > 0 && x.Messages[0].Event == "endpoint":
			key := "sse " + x.Target + " " + string(x.Messages[0].Data)
			of[x.Number] = get(key, catalogue.SSE)
			endpoints[endpointTarget(x.Target, string(x.Messages[0].Data))] = key
		case version != "":
			s := get("client "+version+" "+meta.Get(metaInfo).Get("name").String()+" "+meta.Get(metaInfo).Get("version").String(), catalogue.HTTP)
			of[x.Number] = s
			s.spoken = s.spoken || hasResult(x, version)
		case id != "":
			of[x.Number] = get("id "+id, catalogue.HTTP)
		case method == "initialize":
			last = get("initialize "+strconv.Itoa(x.Number), catalogue.HTTP)
			last.spoken = hasResult(x, "")
			of[x.Number], lastAt[path] = last, last
		case last != nil && (x.Body != nil || x.Method == "GET" && strings.Contains(x.Header.Get("accept"), "text/event-stream")):
			if of[x.Number] = lastAt[path]; of[x.Number] == nil {
				of[x.Number] = last
			}
		}
	}
	for _, x := range exchanges {
		if s := of[x.Number]; s != nil {
			s.paths[pathOf(x.Target)] = true
		}
	}
	// A client that tried a revision or transport which the server does not speak
	// is no session of its own.
	speaks := func(s *session) bool {
		return s.spoken || strings.HasPrefix(s.key, "id ") || strings.HasPrefix(s.key, "sse ")
	}
	into := map[*session]*session{} // of such attempts: the session that came of them
	if slices.ContainsFunc(order, speaks) {
		for i, s := range order {
			if !speaks(s) {
				// The next one at the same address, or else the next one.
				there := func(o *session) bool {
					return speaks(o) && (len(s.paths) == 0 || slices.ContainsFunc(slices.Collect(maps.Keys(s.paths)), func(p string) bool { return o.paths[p] }))
				}
				for _, fits := range []func(*session) bool{there, speaks} {
					if n := slices.IndexFunc(order[i:], fits); n >= 0 && into[s] == nil {
						into[s] = order[i+n]
					}
				}
			}
		}
		order = slices.DeleteFunc(order, func(s *session) bool { return !speaks(s) })
	}
	if len(order) == 0 {
		return []*transcript.Recording{part(rec, catalogue.HTTP, rec.Events)}, nil
	}
	attempts = map[int]bool{}
	at := map[*session]int{}
	for i, s := range order {
		at[s] = i
	}
	for number, s := range of {
		if into[s] != nil {
			attempts[number] = true
		}
	}
	if len(order) == 1 {
		return []*transcript.Recording{part(rec, order[0].transport, rec.Events)}, attempts
	}
	events := make([][]transcript.Event, len(order))
	for i := range rec.Events {
		s := of[rec.Events[i].Exchange]
		if then := into[s]; then != nil {
			s = then
		}
		n := at[s]
		events[n] = append(events[n], rec.Events[i])
	}
	for i, s := range order {
		parts = append(parts, part(rec, s.transport, events[i]))
	}
	return parts, attempts
}

// pathOf is a target without its query.
func pathOf(target string) string {
	path, _, _ := strings.Cut(target, "?")
	return path
}

// hasResult reports whether a request was answered by a result of the version
// that it named.
func hasResult(x *transcript.Exchange, version string) bool {
	return slices.ContainsFunc(x.Messages, func(m transcript.SSEEvent) bool {
		a, _ := object(m.Data)
		return accepts(a.Get("result"), version)
	})
}

// accepts reports whether a result speaks the version of its request: that of
// server/discover may name others only.
func accepts(result wire.Raw, version string) bool {
	list := result.Get("supportedVersions")
	if list.Kind() != wire.KindArray {
		return result != nil
	}
	for v := range list.Elems() {
		if s, ok := v.Str(); ok && s == version {
			return true
		}
	}
	return false
}

// endpointTarget is the target of requests that an endpoint event asks for,
// without the first slash.
func endpointTarget(stream, endpoint string) string {
	base, err := url.Parse(stream)
	if err != nil {
		return endpoint
	}
	u, err := base.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	return strings.TrimPrefix(u.RequestURI(), "/")
}

type handshake struct {
	revision string
	caps     wire.Raw
}

// handshakeOf finds what a session says of itself: the version that the answer
// to initialize names; in the stateless revisions that of the first request
// which had a result, else of the first that had any answer, else of any. What
// nobody answered tells least.
func handshakeOf(rec *transcript.Recording) (h handshake) {
	const (
		sessionLine = iota + 1
		asked
		answered
		agreed
	)
	certain := 0
	take := func(how int, revision string, caps wire.Raw) {
		if how > certain && revision != "" && slices.Contains(check.Revisions(), revision) {
			certain = how
			h.revision = revision
			if caps.Kind() == wire.KindObject {
				h.caps = caps
			}
		}
	}
	type request struct {
		version    string
		caps       wire.Raw
		initialize bool
	}
	requests := map[string]request{}
	for i := range rec.Events {
		e := &rec.Events[i]
		if certain == agreed {
			break
		}
		if e.Kind == transcript.KindSession {
			rev, _, _ := strings.Cut(string(e.Data), " ")
			take(sessionLine, rev, nil)
		}
		if e.Kind == transcript.KindHeader && e.Dir == transcript.ToServer {
			if name, value, _ := e.Header(); name == "mcp-protocol-version" {
				take(sessionLine, value, nil)
			}
		}
		if !e.Message() {
			continue
		}
		v := firstOf(e.Data)
		id := v.Get("id").String()
		if e.Dir == transcript.ToServer {
			params := v.Get("params")
			method, _ := v.Get("method").Str()
			r := request{caps: params.Get("_meta").Get(metaCaps)}
			r.version, _ = params.Get("_meta").Get(metaVersion).Str()
			if method == "initialize" && r.version == "" {
				r.version, _ = params.Get("protocolVersion").Str()
				r.caps, r.initialize = params.Get("capabilities"), true
			}
			if r.version != "" && id != "" && len(requests) < 10_000 {
				requests[id] = r
				take(asked, r.version, r.caps)
			}
			continue
		}
		r, ok := requests[id]
		result := v.Get("result")
		switch {
		case !ok:
		case r.initialize && result != nil:
			version, _ := result.Get("protocolVersion").Str()
			take(agreed, version, r.caps)
		case accepts(result, r.version):
			take(agreed, r.version, r.caps)
		case !r.initialize && (result != nil || v.Get("error") != nil):
			take(answered, r.version, r.caps)
		}
	}
	return h
}
