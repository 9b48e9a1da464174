package check

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Who is let in: what a protected server says to requests without a token that
// opens it.

// Where the metadata of a protected server, and of an authorization server,
// are looked for.
const (
	wellKnownResource = "/.well-known/oauth-protected-resource"
	wellKnownServer   = "/.well-known/oauth-authorization-server"
)

// noteQuery + status: what a request got whose token stood in the URL. It is
// noted and not recorded, as recordings hold no tokens.
const noteQuery = "token in the query: status "

// noteShut + why: the server refused all that it was asked, so that nothing but
// how it lets clients in can be judged, and what is to be done about it.
const noteShut = "shut: "

// shut notes that the server let nobody in.
func (r *run) shut() {
	status := 0
	for _, t := range r.traces {
		for _, x := range t.order {
			if status == 0 && (x.status == http.StatusUnauthorized || x.status == http.StatusForbidden) {
				status = x.status
			}
		}
	}
	if status == 0 {
		return
	}
	why := "every request is refused with status " + strconv.Itoa(status)
	if e, ok := r.target.(*Endpoint); ok && e.gives() {
		why += ", what is given with it (-H, --bearer, the URL) does not open the server"
	} else {
		why += ": give credentials with -H, or --bearer"
	}
	if status == http.StatusForbidden {
		why += "; a server may also refuse a host that it does not know"
	}
	r.traces[len(r.traces)-1].note(noteShut + why)
}

// gives reports whether requests carry what may let the checker in.
func (e *Endpoint) gives() bool {
	u, err := url.Parse(e.URL)
	return len(e.Header) > 0 || err == nil && u.User != nil
}

// shutOut says why a check cannot look, as the server let nobody in, or answered
// nothing to the offer of the revision; "" where it did, and for the checks of
// how it lets clients in where it said that it does not.
func (k *Check) shutOut(traces []*Trace) string {
	for _, t := range traces {
		for _, n := range t.notes(transcript.KindNote, 0) {
			if waited, ok := strings.CutPrefix(string(n.Data), noteVain); ok {
				return "whether the server speaks this revision is not known: launched for the offer of it, it answered nothing in " + waited + " (raise --timeout if it starts slowly)"
			}
		}
	}
	if k.ofAuthorization() {
		return ""
	}
	for _, t := range traces {
		for _, n := range t.notes(transcript.KindNote, 0) {
			if why, ok := strings.CutPrefix(string(n.Data), noteShut); ok {
				return why
			}
		}
	}
	return ""
}

// ofAuthorization reports whether a check is about how a server lets clients in.
func (k *Check) ofAuthorization() bool {
	return strings.HasPrefix(k.ID, "auth-") || k.ID == "http-authenticated"
}

// knock is the body of a request that a protected server guards.
func (d *Driver) knock() string {
	if Modern(d.rev) {
		return d.request(someList(d.Facts), "")
	}
	return d.request("initialize", d.Hello(d.rev))
}

func authProbes() []Probe {
	return []Probe{{
		Name: "requests without a token that opens the server", Transports: streamable, Since: rev2025March, Profile: Bare, Alone: true,
		Run: func(d *Driver) {
			l := d.http
			without := append(l.credentials(), headSession)
			ask := func(step, token string) *Exchange {
				d.Step(step)
				r := HTTPRequest{Body: d.knock(), Without: without}
				if token != "" {
					r.Header = [][2]string{{headAuth, token}}
				}
				return d.exchange(r)
			}
			x := ask("auth/none", "")
			if x == nil {
				return
			}
			given, opens := l.e.Header.Get(headAuth), l.e.gives()
			var session [][2]string
			if opens {
				d.Step("auth/with")
				if with := d.exchange(HTTPRequest{Body: d.knock(), Without: []string{headSession}}); with != nil {
					if id := with.ResponseHeader.Get(headSession); id != "" {
						session = [][2]string{{headSession, id}}
					}
				}
			}
			if x.Status != http.StatusUnauthorized {
				if opens && x.Status == http.StatusForbidden {
					d.metadata(x)
				}
				return
			}
			// Other methods, without and with what lets the checker in: what
			// comes either way says nothing.
			get := func(step string, without []string) {
				d.Step(step)
				d.peek(HTTPRequest{Method: http.MethodGet, Without: without, Header: session}, 0)
			}
			end := func(step string, without []string) {
				d.Step(step)
				d.exchange(HTTPRequest{Method: http.MethodDelete, Without: without, Header: session})
			}
			get("auth/none-get", without)
			if opens {
				get("auth/with-get", []string{headSession})
			}
			end("auth/none-delete", without)
			if opens {
				end("auth/with-delete", []string{headSession})
			}
			if given != "" {
				ask("auth/none-again", "")
				if scheme, token, _ := strings.Cut(given, " "); strings.EqualFold(scheme, "Bearer") {
					d.Step("auth/query")
					to := *l.base
					q := to.Query()
					q.Set("access_token", strings.TrimSpace(token))
					to.RawQuery = q.Encode()
					if status := l.apart(http.MethodPost, &to, d.knock(), d.patience()); status != 0 {
						d.Note(noteQuery + strconv.Itoa(status))
					}
				}
			}
			d.metadata(x)
			issuer := ""
			if m := d.found(); m != nil {
				for v := range m.Get("authorization_servers").Elems() {
					issuer = plain(v)
					break
				}
			}
			ask("auth/invalid", "Bearer zz-garbage")
			for _, token := range minted(issuer, l.base.String(), time.Now()) {
				ask("auth/foreign", "Bearer "+token)
			}
			ask("auth/malformed", "Bearer")
			ask("auth/malformed", "Bearer goldwire-one goldwire-two")
		},
	}}
}

// metadata looks for the metadata of a server that refused an exchange, at the
// places where clients do, as far as they are on its host.
func (d *Driver) metadata(refused *Exchange) {
	l := d.http
	get := func(step, target string) {
		d.Step(step)
		d.exchange(HTTPRequest{Method: http.MethodGet, Target: target, Without: append(l.credentials(), "*"), Header: [][2]string{{"Accept", mediaJSON}}})
	}
	if named := bearer(refused)["resource_metadata"]; named != "" {
		if u, err := url.Parse(named); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() == l.base.Hostname() {
			get("auth-metadata/named", named)
		}
	}
	path := strings.TrimSuffix(l.base.EscapedPath(), "/")
	if path != "" {
		get("auth-metadata/path", wellKnownResource+path)
	}
	get("auth-metadata/root", wellKnownResource)
	if d.rev != rev2025March {
		// The authorization server is another role; one on the same host is
		// asked as well.
		for v := range d.found().Get("authorization_servers").Elems() {
			if u, err := url.Parse(plain(v)); err == nil && u.Host == l.base.Host {
				u.Path, u.RawPath = wellKnownServer+strings.TrimSuffix(u.Path, "/"), ""
				get("auth-server/metadata", u.String())
			}
			return
		}
		return
	}
	get("auth-server/metadata", wellKnownServer)
	get("auth-server/authorize", "/authorize")
	d.Step("auth-server/token")
	d.exchange(HTTPRequest{Target: "/token", Without: append(l.credentials(), "*"), Header: [][2]string{{headType, "application/x-www-form-urlencoded"}}, Body: "grant_type=goldwire"})
}

// found is the metadata that was found, nil for none.
func (d *Driver) found() (m wire.Raw) {
	d.View(func(t *Trace) { m, _ = foundIn([]*Trace{t}) })
	return m
}

// foundIn is the first metadata of a protected server in some recordings, with
// the exchange that brought it.
func foundIn(traces []*Trace) (wire.Raw, *Exchange) { return objectIn(traces, "auth-metadata/") }

// objectIn is the first JSON object with the status 200 in the steps whose names
// start with prefix, with the exchange that brought it.
func objectIn(traces []*Trace, prefix string) (wire.Raw, *Exchange) {
	for _, t := range traces {
		for _, s := range t.steps {
			if !strings.HasPrefix(s.Name, prefix) {
				continue
			}
			for _, x := range s.Exchanges() {
				if v, err := wire.ParseRaw([]byte(x.Text())); err == nil && x.Status == http.StatusOK && v.Kind() == wire.KindObject {
					return v, x
				}
			}
		}
	}
	return nil, nil
}

// minted are tokens that look right and that nobody issued: unsigned, signed by
// a key of the checker, for somebody else, and out of date.
func minted(issuer, audience string, now time.Time) []string {
	if issuer == "" {
		issuer = "https://issuer.example"
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil
	}
	part := func(v any) string {
		b, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(b)
	}
	sign := func(head, claims map[string]any) string {
		text := part(head) + "." + part(claims)
		sum := sha256.Sum256([]byte(text))
		r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
		if err != nil {
			return text + "."
		}
		sig := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		return text + "." + base64.RawURLEncoding.EncodeToString(sig)
	}
	claims := func(aud string, expires time.Duration) map[string]any {
		return map[string]any{"iss": issuer, "aud": aud, "sub": "goldwire", "scope": "read write admin", "iat": now.Add(-time.Hour).Unix(), "exp": now.Add(expires).Unix()}
	}
	head := map[string]any{"alg": "ES256", "typ": "at+jwt", "kid": "goldwire"}
	return []string{
		part(map[string]any{"alg": "none", "typ": "JWT"}) + "." + part(claims(audience, time.Hour)) + ".",
		sign(head, claims(audience, time.Hour)),
		sign(head, claims("https://somebody.example/mcp", time.Hour)),
		sign(head, claims(audience, -time.Hour/2)),
	}
}

// bearer are the parameters of the Bearer challenge that came with a response,
// names in lower case; nil where none came.
func bearer(x *Exchange) map[string]string {
	if x == nil {
		return nil
	}
	for _, h := range x.ResponseHeader[strings.ToLower(headChallenge)] {
		if p := challenge(h); p != nil {
			return p
		}
	}
	return nil
}

// challenge reads a WWW-Authenticate field as far as it is one for Bearer.
func challenge(h string) map[string]string {
	at := -1
	for i := range len(h) {
		if len(h)-i >= 6 && strings.EqualFold(h[i:i+6], "Bearer") && (i == 0 || h[i-1] == ' ' || h[i-1] == ',') && (len(h) == i+6 || h[i+6] == ' ' || h[i+6] == ',') {
			at = i + 6
			break
		}
	}
	if at < 0 {
		return nil
	}
	out := map[string]string{}
	for rest := h[at:]; ; {
		rest = strings.TrimLeft(rest, " \t,")
		name, after, ok := strings.Cut(rest, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " ,") { // the next scheme, or the end
			return out
		}
		after = strings.TrimLeft(after, " \t")
		var value strings.Builder
		if strings.HasPrefix(after, `"`) {
			i := 1
			for ; i < len(after) && after[i] != '"'; i++ {
				if after[i] == '\\' && i+1 < len(after) {
					i++
				}
				value.WriteByte(after[i])
			}
			rest = after[min(i+1, len(after)):]
		} else {
			i := strings.IndexAny(after, " ,")
			if i < 0 {
				i = len(after)
			}
			value.WriteString(after[:i])
			rest = after[i:]
		}
		out[strings.ToLower(name)] = value.String()
	}
}

// guarded reports whether the server is protected as MCP has it: it refused a
// request without a token by 401, and claims this authorization. Where it did
// not, the check is settled.
func (c *Case) guarded() bool {
	none := c.stepExchanges("auth/none")
	switch {
	case !slices.ContainsFunc(none, func(x *Exchange) bool { return x.Status == http.StatusUnauthorized }):
		if len(none) > 0 && !slices.ContainsFunc(none, c.putOff) {
			c.NotApplicable("the server answers no request without a token by 401")
		}
		return false
	case !c.claims():
		c.NotApplicable(ownScheme)
		return false
	}
	return true
}

const ownScheme = "the server lets clients in by a scheme of its own: no Bearer challenge, no metadata; the authorization of MCP is optional"

// claims reports whether the server has the authorization of MCP, which is
// optional (2025-11-25/basic/authorization#protocol-requirements): it asks for
// a Bearer token, or has metadata.
func (c *Case) claims() bool {
	for _, s := range c.stepsOf("auth/") {
		if slices.ContainsFunc(s.Exchanges(), func(x *Exchange) bool { return bearer(x) != nil }) {
			return true
		}
	}
	c.needs.step("auth-metadata/")
	c.needs.step("auth-server/metadata")
	if m, _ := foundIn(c.traces); m.Get("resource") != nil || m.Get("authorization_servers") != nil {
		return true
	}
	m, _ := objectIn(c.traces, "auth-server/metadata")
	return m.Get("issuer") != nil || m.Get("authorization_endpoint") != nil
}

// openedBy reports whether the request that an exchange made without
// credentials was served where it was made with them.
func (c *Case) openedBy(x *Exchange) bool {
	step := "auth/with"
	switch x.Method {
	case http.MethodGet:
		step = "auth/with-get"
	case http.MethodDelete:
		step = "auth/with-delete"
	}
	for _, s := range c.stepsOf(step) {
		if s.Name != step {
			continue
		}
		for _, with := range s.Exchanges() {
			switch {
			case x.Method == http.MethodGet && with.media() != mediaStream: // a page for people
			case with.good(), with.answer() != nil && with.Status != x.Status && with.Status != http.StatusUnauthorized && with.Status != http.StatusForbidden:
				return true
			}
		}
	}
	return false
}

// challenges visits the responses with the status 401.
func (c *Case) challenges(visit func(x *Exchange)) {
	if !c.guarded() {
		return
	}
	for _, x := range c.stepExchanges("auth/none") {
		if x.Status == http.StatusUnauthorized {
			visit(x)
		}
	}
}

// metadata is what was found of the metadata of a protected server. Where there
// is none the check is settled.
func (c *Case) metadata() (wire.Raw, *Exchange) {
	if !c.guarded() {
		return nil, nil
	}
	c.stepsOf("auth-metadata/")
	m, x := foundIn(c.traces)
	if m == nil {
		c.Blocked("the metadata of the server was not found")
	}
	return m, x
}

func authChecks() []Check {
	return slices.Concat(letInChecks(), metadataChecks(), authServerChecks())
}

func letInChecks() []Check {
	return []Check{
		{
			ID: "auth-401", Title: "a request without a token gets 401", Layer: Bytes,
			Requirements: []string{"legacy/auth-401-without-token", "modern/auth-rs-401-without-token"},
			Judge: func(c *Case) {
				none := c.stepExchanges("auth/none")
				claims := c.claims()
				for _, x := range none {
					switch {
					case !c.heard(x), x.served():
					case !claims:
						c.NotApplicable(ownScheme)
					case x.Status == http.StatusUnauthorized:
						c.Saw()
					case c.openedBy(x):
						c.wrong(x, "status 401, as the same request is served with credentials", x.says())
					}
				}
				switch {
				case len(none) == 0:
				case slices.ContainsFunc(none, (*Exchange).served):
					c.NotApplicable("the server is open")
				default:
					c.NotObserved("no request was seen that is served with credentials alone")
				}
			},
		},
		{
			ID: "auth-401-invalid", Title: "a token that is no good gets 401", Layer: Bytes,
			Requirements: []string{"legacy/auth-401-invalid-token", "modern/auth-rs-401-invalid-token"},
			Judge: func(c *Case) {
				if c.guarded() {
					for _, x := range append(c.stepExchanges("auth/invalid"), c.stepExchanges("auth/foreign")...) {
						if c.heard(x) && !(x.step() == "auth/foreign" && x.served()) { // judged by whose token it is
							c.right(x, x.Status == http.StatusUnauthorized, "status 401", x.says())
						}
					}
				}
			},
		},
		{
			ID: "auth-foreign-token", Title: "no token is taken that was issued by and for others", Layer: Bytes,
			Requirements: []string{"legacy/auth-audience-checked", "modern/auth-rs-foreign-tokens"},
			Judge: func(c *Case) {
				if c.guarded() {
					for _, x := range c.stepExchanges("auth/foreign") {
						if c.heard(x) {
							c.right(x, !x.good(), "a refusal of a token that the checker made itself", x.says())
						}
					}
				}
			},
		},
		{
			ID: "auth-challenge", Title: "a 401 asks for a Bearer token", Layer: Bytes,
			Requirements: []string{"modern/auth-rs-www-authenticate"},
			Judge: func(c *Case) {
				c.challenges(func(x *Exchange) {
					c.right(x, bearer(x) != nil, "WWW-Authenticate with the scheme Bearer", or(x.ResponseHeader.Get(headChallenge), "none"))
				})
			},
		},
		{
			ID: "auth-challenge-metadata", Title: "a 401 says where the metadata is", Layer: Bytes,
			Requirements: []string{"legacy/auth-401-names-metadata"},
			Judge: func(c *Case) {
				c.challenges(func(x *Exchange) {
					named := bearer(x)["resource_metadata"]
					u, err := url.Parse(named)
					ok := named != "" && err == nil && (u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()) || u.Scheme == "http" && u.Host == hostOf(x.Trace))
					c.right(x, ok, "resource_metadata with a URL in WWW-Authenticate", or(x.ResponseHeader.Get(headChallenge), "none"))
				})
			},
		},
		{
			ID: "auth-challenge-scope", Title: "a 401 names the scopes that are needed", Layer: Bytes,
			Requirements: []string{"legacy/auth-scope-in-challenge", "modern/auth-rs-scope-in-challenge"},
			Judge: func(c *Case) {
				c.challenges(func(x *Exchange) {
					c.right(x, bearer(x)["scope"] != "", "scope in WWW-Authenticate", or(x.ResponseHeader.Get(headChallenge), "none"))
				})
			},
		},
		{
			ID: "auth-malformed", Title: "a malformed Authorization header gets 400", Layer: Bytes,
			Requirements: []string{"modern/auth-rs-400-malformed"},
			Judge: func(c *Case) {
				if !c.guarded() {
					return
				}
				for _, x := range c.stepExchanges("auth/malformed") {
					switch {
					case !c.heard(x):
					case x.Status == http.StatusUnauthorized:
						c.odd(x, "status 400", x.says())
					default:
						c.right(x, x.Status == http.StatusBadRequest, "status 400", x.says())
					}
				}
			},
		},
		{
			ID: "auth-no-data", Title: "a request that is refused gets no result", Layer: Bytes,
			Requirements: []string{"modern/auth-rs-no-data-on-401"},
			Judge: func(c *Case) {
				if !c.guarded() {
					return
				}
				for _, x := range c.stepExchanges("auth/") {
					if x.Status == http.StatusUnauthorized || x.Status == http.StatusForbidden {
						c.right(x, !x.answer().OK(), "no result with the status "+strconv.Itoa(x.Status), x.says())
					}
				}
			},
		},
		{
			ID: "auth-every-request", Title: "each request is let in by its own token", Layer: Bytes,
			Requirements: []string{"modern/auth-rs-every-request"},
			Judge: func(c *Case) {
				if !c.guarded() {
					return
				}
				again := c.stepsOf("auth/none-again")
				for _, s := range again {
					for _, x := range s.Exchanges() {
						if c.heard(x) {
							c.right(x, x.Status == http.StatusUnauthorized, "status 401, whatever the request before it brought", x.says())
						}
					}
				}
				c.NotObserved("there was no token that opens the server")
			},
		},
		{
			ID: "auth-query-token", Title: "a token in the URL opens nothing", Layer: Bytes,
			Requirements: []string{"modern/auth-rs-query-token-refused"},
			Judge: func(c *Case) {
				if !c.guarded() {
					return
				}
				for _, s := range c.stepsOf("auth/query") {
					for _, f := range s.remarks(noteQuery) {
						got := strings.TrimPrefix(string(s.Trace.Recording.Events[f.Index].Data), noteQuery)
						c.want(f, !strings.HasPrefix(got, "2"), "a refusal of a request whose token stands in the URL", "status "+got)
					}
				}
				c.NotObserved("there was no token that opens the server")
			},
		},
		{
			ID: "auth-insufficient-scope", Title: "a token that allows too little gets 403 and what is needed", Layer: Bytes,
			Requirements: []string{"legacy/auth-403-insufficient-scope", "modern/auth-rs-insufficient-scope-403"},
			Judge: func(c *Case) {
				c.requests(func(x *Exchange) {
					if x.Status != http.StatusForbidden || x.Header.Get(headAuth) != redactedValue || x.Header.Get(headOrigin) != "" {
						return
					}
					p := bearer(x)
					if p == nil && !c.claims() {
						c.NotApplicable(ownScheme)
						return
					}
					if p == nil && c.servedKin(x) != nil {
						return // the token allows that: the server has another reason
					}
					ok := p["error"] == "insufficient_scope" && p["scope"] != "" && p["resource_metadata"] != ""
					c.right(x, ok, "WWW-Authenticate: Bearer with error=\"insufficient_scope\", scope and resource_metadata", or(x.ResponseHeader.Get(headChallenge), "none"))
				})
				c.NotObserved("no token that allows too little was used")
			},
		},
		{
			ID: "auth-by-401", Title: "a server without authorization is open, one with it says so by 401", Layer: Bytes,
			Requirements: []string{"legacy/auth-optional"},
			Judge: func(c *Case) {
				own := c.AtLeast(rev2025June) && !c.claims()
				for _, x := range c.stepExchanges("auth/none") {
					switch {
					case x.Method != http.MethodPost || !c.heard(x):
					case own && x.Status == http.StatusUnauthorized:
						c.wrong(x, "a Bearer challenge or metadata, as authorization over HTTP should be that of MCP", "status 401 with WWW-Authenticate: "+or(x.ResponseHeader.Get(headChallenge), "none"))
						own = false
					default:
						c.right(x, x.served() || x.Status == http.StatusUnauthorized || x.answer() != nil && x.good(), "a result, or status 401", x.says())
					}
				}
			},
		},
	}
}

// hostOf is the host of the server in a recording.
func hostOf(t *Trace) string {
	u, err := url.Parse(endpointOf(t))
	if err != nil {
		return ""
	}
	return u.Host
}

func metadataChecks() []Check {
	return []Check{
		{
			ID: "auth-metadata-found", Title: "the metadata of a protected server is found", Layer: Bytes,
			Requirements: []string{"legacy/auth-prm-discoverable", "modern/auth-rs-prm-discoverable", "modern/auth-rs-prm-implemented"},
			Judge: func(c *Case) {
				if !c.guarded() {
					return
				}
				looked := c.stepExchanges("auth-metadata/")
				if m, _ := foundIn(c.traces); m != nil {
					c.Saw()
					return
				}
				elsewhere := false
				c.challenges(func(x *Exchange) {
					u, err := url.Parse(bearer(x)["resource_metadata"])
					elsewhere = elsewhere || err == nil && u.Host != "" && u.Host != hostOf(x.Trace)
				})
				if elsewhere {
					c.NotObserved("the metadata is on another host, where this checker does not ask")
					return
				}
				if slices.ContainsFunc(looked, c.putOff) {
					return
				}
				for _, x := range looked {
					c.wrong(x, "the metadata of the protected resource, where WWW-Authenticate says or at a well-known place", x.says())
					return
				}
			},
		},
		{
			ID: "auth-metadata-servers", Title: "the metadata names an authorization server", Layer: Bytes,
			Requirements: []string{"legacy/auth-prm-served", "modern/auth-rs-prm-authorization-servers"},
			Judge: func(c *Case) {
				m, x := c.metadata()
				if m == nil {
					return
				}
				n := 0
				for v := range m.Get("authorization_servers").Elems() {
					u, err := url.Parse(plain(v))
					if err != nil || u.Scheme == "" || u.Host == "" {
						c.wrong(x, "URLs as authorization_servers", text(v))
						return
					}
					n++
				}
				c.right(x, n > 0, "one authorization server or more", text(m.Get("authorization_servers")))
			},
		},
		{
			ID: "auth-metadata-resource", Title: "the metadata is that of the endpoint", Layer: Bytes,
			Requirements: []string{"modern/auth-rs-prm-resource-matches"},
			Judge: func(c *Case) {
				m, x := c.metadata()
				if m == nil {
					return
				}
				at := endpointOf(x.Trace)
				if at == "" {
					c.NotObserved("the recording does not say where the server is")
					return
				}
				c.right(x, covers(plain(m.Get("resource")), at), at+", or what it lies below, as resource", text(m.Get("resource")))
			},
		},
		{
			ID: "auth-no-offline-access", Title: "offline_access is neither asked for nor listed", Layer: Bytes,
			Requirements: []string{"modern/auth-rs-no-offline-access"},
			Judge: func(c *Case) {
				c.challenges(func(x *Exchange) {
					scope := bearer(x)["scope"]
					c.right(x, !slices.Contains(strings.Fields(scope), "offline_access"), "a challenge without offline_access", scope)
				})
				if m, x := foundIn(c.traces); m != nil {
					for v := range m.Get("scopes_supported").Elems() {
						if plain(v) == "offline_access" {
							c.wrong(x, "scopes without offline_access", text(m.Get("scopes_supported")))
						}
					}
				}
			},
		},
		{
			ID: "elicitation-not-own-login", Title: "no URL lets users in to the server itself", Layer: Feature,
			Requirements: []string{"modern/elicit-not-for-own-authorization"},
			Judge: func(c *Case) {
				var issuers []string
				if m, _ := foundIn(c.traces); m != nil {
					for v := range m.Get("authorization_servers").Elems() {
						issuers = append(issuers, plain(v))
					}
				}
				c.each(func(f *Frame) {
					for _, in := range f.Result.Get("inputRequests").Members() {
						to := plain(in.Get("params").Get("url"))
						u, err := url.Parse(to)
						if to == "" || err != nil {
							continue
						}
						own := slices.ContainsFunc(issuers, func(issuer string) bool {
							o, err := url.Parse(issuer)
							return err == nil && o.Host == u.Host && u.Query().Has("response_type") && u.Query().Has("client_id")
						})
						c.want(f, !own, "another page than the authorization server of this very server", to)
					}
				})
			},
		},
	}
}

// covers reports whether a resource is that of a URL: the same, or what it lies
// below.
func covers(resource, at string) bool {
	r, errR := url.Parse(resource)
	u, errU := url.Parse(at)
	if errR != nil || errU != nil || resource == "" || r.Fragment != "" || !strings.EqualFold(r.Scheme, u.Scheme) || !strings.EqualFold(r.Host, u.Host) {
		return false
	}
	path := strings.TrimSuffix(r.Path, "/")
	return u.Path == path || strings.HasPrefix(u.Path, path+"/")
}

func authServerChecks() []Check {
	one := func(c *Case, step string) *Exchange {
		for _, s := range c.stepsOf(step) {
			for _, x := range s.Exchanges() {
				return x
			}
		}
		return nil
	}
	return []Check{
		{
			ID: "auth-server-metadata", Title: "authorization has metadata at the root, or the usual addresses there", Layer: Bytes,
			Requirements: []string{"legacy/auth-server-metadata-or-defaults"},
			Judge: func(c *Case) {
				if !c.guarded() {
					return
				}
				m, authorize, token := one(c, "auth-server/metadata"), one(c, "auth-server/authorize"), one(c, "auth-server/token")
				if m == nil || authorize == nil || token == nil {
					c.NotObserved("the authorization server was not asked")
					return
				}
				if v, err := wire.ParseRaw([]byte(m.Text())); err == nil && m.Status == http.StatusOK && v.Kind() == wire.KindObject {
					c.Saw()
					return
				}
				c.right(m, authorize.Status != http.StatusNotFound && token.Status != http.StatusNotFound, "metadata at "+wellKnownServer+", or else /authorize and /token", m.says())
			},
		},
		{
			ID: "auth-registration", Title: "clients can register by themselves", Layer: Bytes,
			Requirements: []string{"legacy/auth-dcr-should"},
			Judge: func(c *Case) {
				if !c.guarded() {
					return
				}
				m := one(c, "auth-server/metadata")
				v, err := wire.Raw(nil), error(nil)
				if m != nil {
					v, err = wire.ParseRaw([]byte(m.Text()))
				}
				if m == nil || err != nil || m.Status != http.StatusOK {
					c.NotObserved("the authorization server has no metadata")
					return
				}
				c.right(m, plain(v.Get("registration_endpoint")) != "", "a registration_endpoint in the metadata", text(v.Get("registration_endpoint")))
			},
		},
	}
}
