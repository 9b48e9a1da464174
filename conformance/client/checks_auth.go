package client

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/runtime/wire"
)

// What a request is for in a flow of authorization.
const (
	toServer    = "mcp"
	toResource  = "metadata of the resource"
	toIssuer    = "metadata of the issuer"
	toAuthorize = "authorization"
	toToken     = "token"
	toRegister  = "registration"
)

// authStep is one request of a flow.
type authStep struct {
	*exchange
	kind  string
	form  url.Values // of a token request
	reply wire.Raw   // the body of the response, if it is JSON
	host  string     // origin of the target, "" for that of the server
}

// authFlow is a recording read as a flow of authorization.
type authFlow struct {
	view  *view
	steps []*authStep
	kinds map[string][]*authStep // steps, by kind

	issued     func() map[string]*authStep // tokens that were given, with the steps that gave them
	registered func() map[string]bool      // ids that registrations gave
}

// flows reads the recordings of scripts; those in which the client did not
// begin with authorization are left out.
func flows(c *check.Case, scripts ...string) []*authFlow {
	var out []*authFlow
	for _, v := range views(c, scripts...) {
		f := v.flow()
		if slices.ContainsFunc(f.steps, func(s *authStep) bool { return s.kind != toServer }) {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		c.NotObserved("the client does no authorization")
	}
	return out
}

func (v *view) newFlow() *authFlow {
	f := &authFlow{view: v, kinds: map[string][]*authStep{}}
	named := map[string]bool{} // addresses of metadata that challenges named
	for _, x := range v.whole {
		s := &authStep{exchange: x}
		path := x.path
		if !x.own() {
			if u, err := url.Parse(x.Target); err == nil {
				s.host, path = u.Scheme+"://"+u.Host, u.Path
			}
		}
		switch {
		case strings.Contains(path, "/.well-known/oauth-protected-resource"), named[path]:
			s.kind = toResource
		case strings.Contains(path, "/.well-known/oauth-authorization-server"), strings.Contains(path, "/.well-known/openid-configuration"):
			s.kind = toIssuer
		case strings.HasSuffix(path, "/authorize"):
			s.kind = toAuthorize
		case strings.HasSuffix(path, "/token"):
			s.kind = toToken
			s.form, _ = url.ParseQuery(string(x.Body))
		case strings.HasSuffix(path, "/register"):
			s.kind = toRegister
		case x.own() && !strings.HasPrefix(path, "/canary/"):
			s.kind = toServer
		default:
			continue
		}
		for _, m := range x.Messages {
			s.reply, _ = wire.ParseRaw(m.Data)
		}
		if at := challengeOf(x)["resource_metadata"]; at != "" {
			if u, err := url.Parse(at); err == nil {
				named[u.Path] = true
			}
		}
		f.steps = append(f.steps, s)
		f.kinds[s.kind] = append(f.kinds[s.kind], s)
	}
	f.issued, f.registered = sync.OnceValue(f.newIssued), sync.OnceValue(f.newRegistered)
	return f
}

func (f *authFlow) newRegistered() map[string]bool {
	out := map[string]bool{}
	for _, s := range f.of(toRegister) {
		out[str(s.reply.Get("client_id"))] = true
	}
	return out
}

// challengeOf are the parameters of the Bearer challenge of a response.
func challengeOf(x *exchange) map[string]string {
	out := map[string]string{}
	for _, value := range x.ResponseHeader["www-authenticate"] {
		_, rest, ok := strings.Cut(value, "Bearer")
		for ok && rest != "" {
			var name, text string
			rest = strings.TrimLeft(rest, " ,")
			name, rest, ok = strings.Cut(rest, "=")
			if strings.HasPrefix(rest, `"`) {
				text, rest, _ = strings.Cut(rest[1:], `"`)
			} else {
				text, rest, _ = strings.Cut(rest, ",")
			}
			if ok {
				out[strings.TrimSpace(name)] = text
			}
		}
	}
	return out
}

// of are the steps of one kind.
func (f *authFlow) of(kind string) []*authStep { return slices.Clip(f.kinds[kind]) }

// until are the steps of one kind before another one, all of them before nil.
func (f *authFlow) until(kind string, before *authStep) []*authStep {
	all := f.of(kind)
	if before == nil {
		return all
	}
	return all[:sort.Search(len(all), func(i int) bool { return all[i].First >= before.First })]
}

// last is the last step of a kind before another one, nil where there is none.
func (f *authFlow) last(kind string, before *authStep) *authStep {
	if all := f.until(kind, before); len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// answered is the last step of a kind with a good answer before another one.
func (f *authFlow) good(kind string, before *authStep) *authStep {
	for _, s := range slices.Backward(f.until(kind, before)) {
		if s.Status >= 200 && s.Status < 300 && s.reply != nil {
			return s
		}
	}
	return nil
}

func (f *authFlow) newIssued() map[string]*authStep {
	out := map[string]*authStep{}
	for _, s := range f.of(toToken) {
		if t := str(s.reply.Get("access_token")); t != "" {
			out[t] = s
		}
	}
	return out
}

// each calls fn for every step of a kind of every flow.
func eachStep(c *check.Case, kind string, fn func(f *authFlow, s *authStep)) {
	for _, f := range flows(c) {
		for _, s := range f.of(kind) {
			fn(f, s)
		}
	}
}

// stops makes a check that a flow goes no further than to one kind of step in
// some scripts.
func stops(id, title, reached, further string, requirements []string, scripts ...string) check.Check {
	return check.Check{
		ID: id, Title: title, Layer: check.Feature, Requirements: requirements,
		Judge: func(c *check.Case) {
			for _, f := range flows(c, scripts...) {
				at := f.last(reached, nil)
				if at == nil {
					c.NotObserved("the client did not come so far")
					continue
				}
				ok := true
				for _, s := range f.of(further) {
					if s.First > at.First || reached == toAuthorize {
						c.Broken(s.at(), "no request for "+further, s.Method+" "+s.path)
						ok = false
						break
					}
				}
				if ok {
					c.Saw()
				}
			}
		},
	}
}

// goesOn makes a check that a flow that came to one kind of step in a script
// goes on to another.
func goesOn(id, title, reached, further, requirement string, scripts ...string) check.Check {
	return check.Check{
		ID: id, Title: title, Layer: check.Feature, Requirements: []string{requirement},
		Judge: func(c *check.Case) {
			for _, f := range flows(c, scripts...) {
				if at := f.last(reached, nil); at != nil && at.Status < 400 {
					want(c, at.at(), len(f.of(further)) > 0, "a request for "+further, "none")
				}
			}
		},
	}
}

// authChecks are about authorization over HTTP.
func authChecks() []check.Check {
	all := []check.Check{
		{
			ID: "client-auth-bearer", Title: "the token comes in the Authorization header", Layer: check.Feature,
			Requirements: []string{"modern/auth-client-bearer-header"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c) {
					issued := f.issued()
					for _, s := range f.of(toServer) {
						value := s.Header.Get("authorization")
						scheme, token, _ := strings.Cut(value, " ")
						if value == "" || len(issued) == 0 {
							continue
						}
						want(c, s.at(), strings.EqualFold(scheme, "Bearer") && issued[token] != nil, "Authorization with the scheme Bearer and the token that was given", strconv.Quote(value))
					}
				}
			},
		},
		{
			ID: "client-auth-every-request", Title: "every request to the server has the token", Layer: check.Feature,
			Requirements: []string{"legacy/auth-every-request", "modern/auth-client-every-request"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c) {
					authorized := false
					for _, s := range f.of(toServer) {
						has := s.Header.Get("authorization") != ""
						if authorized && s.Method != "OPTIONS" {
							want(c, s.at(), has, "the Authorization header", "none")
						}
						authorized = authorized || has && s.Status < 400
					}
				}
			},
		},
		{
			ID: "client-auth-no-query", Title: "tokens stand in no address", Layer: check.Feature,
			Requirements: []string{"legacy/auth-token-not-in-query", "modern/auth-client-no-query-token"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c) {
					issued := f.issued()
					tokens := map[*authStep]string{}
					for _, t := range f.of(toToken) {
						tokens[t] = str(t.reply.Get("access_token"))
					}
					for _, s := range f.of(toServer) {
						found := s.query.Has("access_token")
						// Of many tokens the last ones are those that are used.
						const recent = 50
						given := f.until(toToken, s)
						for _, t := range given[max(0, len(given)-recent):] {
							found = found || tokens[t] != "" && strings.Contains(s.Target, tokens[t])
						}
						if len(issued) > 0 {
							want(c, s.at(), !found, "no token in the address", s.Target)
						}
					}
				}
			},
		},
		{
			ID: "client-auth-own-tokens", Title: "only tokens of the server's authorization server are sent to it", Layer: check.Feature,
			Requirements: []string{"legacy/auth-token-origin", "modern/auth-client-only-own-tokens"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c) {
					issued := f.issued()
					newest := ""
					for _, s := range f.steps {
						if s.kind == toToken && s.reply.Get("access_token") != nil {
							newest = s.host
						}
						_, token, _ := strings.Cut(s.Header.Get("authorization"), " ")
						if s.kind == toServer && issued[token] != nil && newest != "" {
							want(c, s.at(), issued[token].host == newest, "a token of "+newest, "one of "+issued[token].host)
						}
					}
				}
			},
		},
		{
			ID: "client-auth-challenge", Title: "a challenge leads to the metadata that it names", Layer: check.Feature,
			Requirements: []string{"legacy/auth-client-handles-401", "modern/auth-client-reacts-to-401", "modern/auth-client-uses-header-prm"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c) {
					for i, s := range f.steps {
						at := challengeOf(s.exchange)["resource_metadata"]
						u, err := url.Parse(at)
						if s.kind != toServer || s.Status != 401 || at == "" || err != nil {
							continue
						}
						fetched := false
						for _, g := range f.steps[i:] {
							if g.kind == toResource {
								fetched = fetched || g.path == u.Path
								want(c, g.at(), g.path == u.Path, "a request for "+u.Path+" first", g.Method+" "+g.path)
								break
							}
						}
						if !fetched && len(f.of(toIssuer))+len(f.of(toAuthorize)) > 0 {
							c.Broken(s.at(), "a request for "+u.Path, "none")
						}
						break
					}
				}
			},
		},
		{
			ID: "client-auth-resource-order", Title: "without an address the metadata is looked for under the path, then at the root", Layer: check.Feature,
			Requirements: []string{"legacy/auth-client-prm-fallback", "modern/auth-client-prm-fallback-order"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authFallback) {
					inOrder(c, f, f.of(toResource), "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource")
				}
			},
		},
		{
			ID: "client-auth-issuer-path-order", Title: "metadata of an issuer with a path is looked for in the given order", Layer: check.Feature,
			Requirements: []string{"legacy/auth-client-as-discovery", "modern/auth-client-as-discovery-path"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authFallback) {
					inOrder(c, f, f.of(toIssuer), "/.well-known/oauth-authorization-server/tenant1", "/.well-known/openid-configuration/tenant1", "/tenant1/.well-known/openid-configuration")
				}
			},
		},
		{
			ID: "client-auth-issuer-root-order", Title: "OAuth metadata is looked for before OpenID metadata", Layer: check.Feature,
			Requirements: []string{"legacy/auth-client-as-discovery", "modern/auth-client-as-discovery-root"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authOpenID) {
					inOrder(c, f, f.of(toIssuer), "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
				}
			},
		},
		{
			ID: "client-auth-rfc8414", Title: "metadata of the authorization server is looked for where RFC 8414 says", Layer: check.Feature,
			Requirements: []string{"legacy/auth-client-as-discovery-rfc8414"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authOld, authPlain) {
					ok := slices.ContainsFunc(f.of(toIssuer), func(s *authStep) bool { return strings.HasSuffix(s.path, "/.well-known/oauth-authorization-server") })
					if at := f.last(toAuthorize, nil); at != nil || ok {
						want(c, f.steps[0].at(), ok, "a request for /.well-known/oauth-authorization-server", "none")
					}
				}
			},
		},
		{
			ID: "client-auth-default-endpoints", Title: "without metadata the usual addresses are used", Layer: check.Feature,
			Requirements: []string{"legacy/auth-default-endpoints"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authOldDefault) {
					metas := f.of(toIssuer)
					if len(metas) == 0 {
						c.NotObserved("the client looks for no metadata")
						continue
					}
					// A client of a later revision may look elsewhere first.
					root := slices.ContainsFunc(metas, func(s *authStep) bool { return s.path == "/.well-known/oauth-authorization-server" })
					if !root {
						c.Broken(metas[0].at(), "a request for /.well-known/oauth-authorization-server at the root", metas[0].path)
						continue
					}
					some := slices.ContainsFunc(f.steps, func(s *authStep) bool {
						return s.own() && (s.path == "/register" || s.path == "/authorize" || s.path == "/token")
					})
					want(c, metas[0].at(), some, "requests to /register, /authorize and /token at the root", "none")
				}
			},
		},
		{
			ID: "client-auth-metadata-version", Title: "requests for metadata name the version", Layer: check.Feature,
			Requirements: []string{"legacy/auth-metadata-version-header"},
			Judge: func(c *check.Case) {
				eachStep(c, toIssuer, func(_ *authFlow, s *authStep) {
					want(c, s.at(), s.Header.Get("mcp-protocol-version") != "", "the header MCP-Protocol-Version", "none")
				})
			},
		},
		{
			ID: "client-auth-registers", Title: "the client registers where the server has registration", Layer: check.Feature,
			Requirements: []string{"legacy/auth-dcr-should"}, Soft: true,
			Judge: func(c *check.Case) {
				for _, f := range flows(c) {
					meta := f.good(toIssuer, nil)
					if at := f.last(toAuthorize, nil); at != nil && meta.has("registration_endpoint") && !isURL(at.query.Get("client_id")) {
						// A client id may have been agreed on before.
						if len(f.of(toRegister)) > 0 {
							c.Saw()
						}
					} else if at == nil && meta.has("registration_endpoint") && len(f.of(toRegister)) == 0 && meta.has("code_challenge_methods_supported") && f.view.trace.Profile == authOld {
						c.Broken(meta.at(), "a registration", "none")
					}
				}
			},
		},
		stops("client-auth-issuer-validated", "metadata of another issuer is not used", toIssuer, toAuthorize, []string{"modern/auth-client-issuer-validated"}, authForeignIssuer),
		stops("client-auth-resource-validated", "metadata of another server is not used", toResource, toAuthorize, []string{"modern/auth-client-prm-resource-validated"}, authForeignServer),
		stops("client-auth-iss-mismatch", "an answer of another issuer is refused", toAuthorize, toToken, []string{"modern/auth-client-iss-mismatch"}, authWrongIss, authQuietIss),
		stops("client-auth-iss-missing", "an answer without the issuer is refused where it is announced", toAuthorize, toToken, []string{"modern/auth-client-iss-missing"}, authMissingIss),
		stops("client-auth-iss-spelling", "issuers are compared as they are written", toAuthorize, toToken, []string{"modern/auth-client-iss-no-normalisation"}, authSlashIss),
		stops("client-auth-pkce-announced", "a server that does not announce PKCE is not used", toIssuer, toAuthorize, []string{"legacy/auth-pkce-support-verified", "modern/auth-client-pkce-unsupported-refused"}, authNoPKCE),
		stops("client-auth-state-checked", "an answer with a wrong state, or none, is refused", toAuthorize, toToken, []string{"legacy/auth-state", "modern/auth-client-state"}, authWrongState, authNoState),
		goesOn("client-auth-iss-match", "an answer of the right issuer is accepted", toAuthorize, toToken, "modern/auth-client-iss-match", authPlain),
		goesOn("client-auth-iss-absent", "an answer without an issuer is accepted where none is announced", toAuthorize, toToken, "modern/auth-client-iss-absent-ok", authOpenID, authFallback),
		{
			ID: "client-auth-iss-error", Title: "an error of another issuer is not acted on", Layer: check.Feature,
			Requirements: []string{"modern/auth-client-iss-error-responses"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authErrorIss) {
					asked := f.of(toAuthorize)
					if len(asked) == 0 {
						continue
					}
					for _, s := range asked[1:] {
						if s.query.Get("scope") != asked[0].query.Get("scope") {
							c.Broken(s.at(), "no other request because of the error", "one for the scope "+strconv.Quote(s.query.Get("scope")))
							return
						}
					}
					c.Saw()
				}
			},
		},
		{
			ID: "client-auth-resource", Title: "authorization and token are asked for with the resource", Layer: check.Feature,
			Requirements: []string{"legacy/auth-resource-parameter", "modern/auth-client-resource-in-authorization"},
			Judge: func(c *check.Case) {
				eachStep(c, toAuthorize, func(_ *authFlow, s *authStep) {
					want(c, s.at(), s.query.Get("resource") != "", "the parameter resource", "none")
				})
			},
		},
		{
			ID: "client-auth-resource-token", Title: "a token is asked for with the resource", Layer: check.Feature,
			Requirements: []string{"legacy/auth-resource-parameter", "modern/auth-client-resource-in-token"},
			Judge: func(c *check.Case) {
				eachStep(c, toToken, func(_ *authFlow, s *authStep) {
					want(c, s.at(), s.form.Get("resource") != "", "the parameter resource", "none")
				})
			},
		},
		{
			ID: "client-auth-resource-canonical", Title: "the resource is the server's address, in its canonical form", Layer: check.Feature,
			Requirements: []string{"legacy/auth-resource-canonical", "modern/auth-client-resource-is-server"},
			Judge: func(c *check.Case) {
				for _, kind := range []string{toAuthorize, toToken} {
					eachStep(c, kind, func(f *authFlow, s *authStep) {
						text := s.query.Get("resource")
						if kind == toToken {
							text = s.form.Get("resource")
						}
						u, err := url.Parse(text)
						if text == "" {
							return
						}
						given := ""
						if prm := f.good(toResource, s); prm != nil {
							given = str(prm.reply.Get("resource"))
						}
						switch {
						case err != nil || !u.IsAbs() || u.Host == "" || strings.Contains(text, "#"):
							c.Broken(s.at(), "an absolute URI without a fragment as resource", strconv.Quote(text))
						case given != "" && !sameServer(text, given):
							c.Broken(s.at(), "the resource "+given, text)
						default:
							c.Saw()
						}
					})
				}
			},
		},
		{
			ID: "client-auth-pkce", Title: "the code is asked for and redeemed with PKCE", Layer: check.Feature,
			Requirements: []string{"legacy/auth-pkce", "modern/auth-client-pkce"},
			Judge: func(c *check.Case) {
				eachStep(c, toAuthorize, func(_ *authFlow, s *authStep) {
					want(c, s.at(), s.query.Get("code_challenge") != "", "the parameter code_challenge", "none")
				})
				eachStep(c, toToken, func(f *authFlow, s *authStep) {
					if s.form.Get("grant_type") != "authorization_code" {
						return
					}
					asked := f.last(toAuthorize, s)
					verifier := s.form.Get("code_verifier")
					if asked == nil || asked.query.Get("code_challenge") == "" {
						return
					}
					sum := sha256.Sum256([]byte(verifier))
					challenge := base64.RawURLEncoding.EncodeToString(sum[:])
					if asked.query.Get("code_challenge_method") == "plain" || asked.query.Get("code_challenge_method") == "" {
						challenge = verifier
					}
					want(c, s.at(), challenge == asked.query.Get("code_challenge"), "the code_verifier of the challenge", strconv.Quote(verifier))
				})
			},
		},
		{
			ID: "client-auth-pkce-s256", Title: "the challenge of PKCE is made by S256", Layer: check.Feature,
			Requirements: []string{"legacy/auth-pkce-s256", "modern/auth-client-pkce-s256"},
			Judge: func(c *check.Case) {
				eachStep(c, toAuthorize, func(_ *authFlow, s *authStep) {
					if s.query.Get("code_challenge") != "" {
						want(c, s.at(), s.query.Get("code_challenge_method") == "S256", "the method S256", strconv.Quote(s.query.Get("code_challenge_method")))
					}
				})
			},
		},
		{
			ID: "client-auth-state", Title: "authorization is asked for with a state", Layer: check.Feature,
			Requirements: []string{"legacy/auth-state", "modern/auth-client-state"},
			Judge: func(c *check.Case) {
				eachStep(c, toAuthorize, func(_ *authFlow, s *authStep) {
					want(c, s.at(), s.query.Get("state") != "", "the parameter state", "none")
				})
			},
		},
		{
			ID: "client-auth-redirect", Title: "the redirect goes to this host or over https, as registered", Layer: check.Feature,
			Requirements: []string{"legacy/auth-redirect-uris", "modern/auth-client-redirect-uri"},
			Judge: func(c *check.Case) {
				eachStep(c, toAuthorize, func(f *authFlow, s *authStep) {
					text := s.query.Get("redirect_uri")
					u, err := url.Parse(text)
					if err != nil || !(u.Scheme == "https" || loopback(u.Hostname()) && u.Scheme == "http") {
						c.Broken(s.at(), "a redirect to this host or over https", strconv.Quote(text))
						return
					}
					if reg := f.good(toRegister, s); reg != nil && str(reg.reply.Get("client_id")) == s.query.Get("client_id") {
						body, _ := wire.ParseRaw(reg.Body)
						known := false
						for r := range body.Get("redirect_uris").Elems() {
							known = known || sameRedirect(str(r), text)
						}
						want(c, s.at(), known, "a redirect that was registered", text)
						return
					}
					c.Saw()
				})
			},
		},
		{
			ID: "client-auth-client-id", Title: "the client has an id that the authorization server knows", Layer: check.Feature,
			Requirements: []string{"modern/auth-client-obtains-client-id"},
			Judge: func(c *check.Case) {
				eachStep(c, toAuthorize, func(f *authFlow, s *authStep) {
					id := s.query.Get("client_id")
					reg := f.good(toRegister, s)
					switch {
					case id == "":
						c.Broken(s.at(), "the parameter client_id", "none")
					case reg != nil && reg.host == s.host && !isURL(id):
						// Of several registrations any is good.
						want(c, s.at(), f.registered()[id], "the client_id "+show(reg.reply.Get("client_id")), strconv.Quote(id))
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "client-auth-registration-order", Title: "a metadata document goes before a registration", Layer: check.Feature,
			Requirements: []string{"legacy/auth-registration-order", "modern/auth-client-registration-priority"},
			Judge: func(c *check.Case) {
				// Of a client that has a document, which it uses where there is
				// nothing else.
				has := false
				for _, f := range flows(c, authDocumentOnly) {
					for _, s := range f.of(toAuthorize) {
						has = has || isURL(s.query.Get("client_id"))
					}
				}
				for _, f := range flows(c, authDocument) {
					asked := f.last(toAuthorize, nil)
					switch {
					case asked == nil:
					case len(f.of(toRegister)) == 0:
						c.Saw()
					case has:
						c.Broken(f.of(toRegister)[0].at(), "no registration, as the client has a metadata document", "one")
					}
				}
			},
		},
		{
			ID: "client-auth-document-supported", Title: "an address is the client's id only where the server takes one", Layer: check.Feature,
			Requirements: []string{"modern/auth-client-cimd-supported"},
			Judge: func(c *check.Case) {
				eachStep(c, toAuthorize, func(f *authFlow, s *authStep) {
					meta := f.good(toIssuer, s)
					takes, _ := meta.member("client_id_metadata_document_supported").Bool()
					if isURL(s.query.Get("client_id")) && meta != nil {
						want(c, s.at(), takes, "a client_id that the server knows, as it takes no metadata documents", s.query.Get("client_id"))
					} else if takes {
						c.Saw()
					}
				})
			},
		},
		{
			ID: "client-auth-document-url", Title: "an address as the client's id is https and has a path", Layer: check.Feature,
			Requirements: []string{"legacy/auth-cimd-document", "modern/auth-client-cimd-url"},
			Judge: func(c *check.Case) {
				eachStep(c, toAuthorize, func(f *authFlow, s *authStep) {
					if id := s.query.Get("client_id"); isURL(id) {
						u, err := url.Parse(id)
						want(c, s.at(), err == nil && u.Scheme == "https" && strings.Trim(u.Path, "/") != "", "an https URL with a path", id)
					}
				})
			},
		},
		{
			ID: "client-auth-application-type", Title: "a registration says of what type the application is", Layer: check.Feature,
			Requirements: []string{"modern/auth-client-dcr-application-type"},
			Judge: func(c *check.Case) {
				eachStep(c, toRegister, func(_ *authFlow, s *authStep) {
					body, _ := wire.ParseRaw(s.Body)
					want(c, s.at(), body.Get("application_type").Kind() == wire.KindString, "a string as application_type", show(body.Get("application_type")))
				})
			},
		},
		{
			ID: "client-auth-application-native", Title: "an application on this host is registered as a native one", Layer: check.Feature,
			Requirements: []string{"modern/auth-client-dcr-native"},
			Judge: func(c *check.Case) {
				eachStep(c, toRegister, func(_ *authFlow, s *authStep) {
					body, _ := wire.ParseRaw(s.Body)
					kind := str(body.Get("application_type"))
					local, remote := 0, 0
					for r := range body.Get("redirect_uris").Elems() {
						if u, err := url.Parse(str(r)); err == nil && u.Scheme == "https" && !loopback(u.Hostname()) {
							remote++
						} else {
							local++
						}
					}
					switch {
					case kind == "" || local > 0 && remote > 0:
					case local > 0:
						want(c, s.at(), kind == "native", "application_type native, as it redirects to this host", kind)
					case remote > 0:
						want(c, s.at(), kind == "web", "application_type web, as it redirects over https", kind)
					}
				})
			},
		},
		{
			ID: "client-auth-registration-refused", Title: "a registration that is refused is not tried for ever", Layer: check.Feature,
			Requirements: []string{"modern/auth-client-dcr-failure-handled"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authNoRegister) {
					const most = 5
					tries := f.of(toRegister)
					switch {
					case len(tries) == 0:
					case len(tries) > most:
						c.Broken(tries[most].at(), "the end after some attempts", strconv.Itoa(len(tries))+" registrations")
					default:
						c.Saw()
					}
				}
			},
		},
		{
			ID: "client-auth-credentials-bound", Title: "credentials of one authorization server are not used at another", Layer: check.Feature,
			Requirements: []string{"modern/auth-client-credentials-bound-to-issuer"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authMigration) {
					given := map[string]string{} // by what was given, the origin
					for _, s := range f.steps {
						if s.kind == toRegister || s.kind == toToken {
							for _, m := range []string{"client_id", "client_secret", "access_token", "refresh_token"} {
								if v := str(s.reply.Get(m)); v != "" && m != "client_id" || m == "client_id" && s.kind == toRegister && v != "" {
									given[v] = s.host
								}
							}
						}
						if s.kind != toAuthorize && s.kind != toToken && s.kind != toRegister {
							continue
						}
						told := s.Header.Get("authorization")
						if b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(told, "Basic ")); err == nil {
							told += string(b)
						}
						told += s.Target + string(s.Body)
						bad := ""
						for v, host := range given {
							if host != s.host && strings.Contains(told, v) {
								bad = v
							}
						}
						if len(given) > 0 {
							want(c, s.at(), bad == "", "credentials of "+s.host, "one of another authorization server")
						}
					}
				}
			},
		},
		{
			ID: "client-auth-registers-again", Title: "at a new authorization server the client registers anew", Layer: check.Feature,
			Requirements: []string{"modern/auth-client-reregisters", "modern/auth-client-cimd-portable"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authMigration) {
					first := f.of(toRegister)
					asked := f.of(toAuthorize)
					if len(asked) < 2 || asked[0].host == asked[len(asked)-1].host {
						continue
					}
					last := asked[len(asked)-1]
					if isURL(asked[0].query.Get("client_id")) {
						want(c, last.at(), last.query.Get("client_id") == asked[0].query.Get("client_id"), "the same client_id, which is an address", last.query.Get("client_id"))
						continue
					}
					if len(first) > 0 {
						want(c, last.at(), slices.ContainsFunc(first, func(s *authStep) bool { return s.host == last.host }), "a registration at "+last.host, "none")
					}
				}
			},
		},
		{
			ID: "client-auth-scope-challenge", Title: "the scope of the challenge is asked for", Layer: check.Feature,
			Requirements: []string{"legacy/auth-scope-selection", "modern/auth-client-scope-from-challenge", "modern/auth-client-scope-authoritative"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authPlain) {
					for _, s := range f.of(toAuthorize) {
						challenged := ""
						for _, m := range slices.Backward(f.until(toServer, s)) {
							if challenged = challengeOf(m.exchange)["scope"]; challenged != "" {
								break
							}
						}
						asked := strings.Fields(s.query.Get("scope"))
						for _, sc := range strings.Fields(challenged) {
							want(c, s.at(), slices.Contains(asked, sc), "the scope "+sc, strconv.Quote(s.query.Get("scope")))
						}
					}
				}
			},
		},
		{
			ID: "client-auth-scope-metadata", Title: "without a challenge all scopes of the metadata are asked for", Layer: check.Feature,
			Requirements: []string{"legacy/auth-scope-selection", "modern/auth-client-scope-from-metadata"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authFallback) {
					for _, s := range f.of(toAuthorize) {
						prm := f.good(toResource, s)
						asked := strings.Fields(s.query.Get("scope"))
						for sc := range prm.member("scopes_supported").Elems() {
							want(c, s.at(), slices.Contains(asked, str(sc)), "the scope "+str(sc), strconv.Quote(s.query.Get("scope")))
						}
					}
				}
			},
		},
		{
			ID: "client-auth-scope-omitted", Title: "where nothing names a scope none is asked for", Layer: check.Feature,
			Requirements: []string{"legacy/auth-scope-selection", "modern/auth-client-scope-omitted"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authOpenID) {
					for _, s := range f.of(toAuthorize) {
						want(c, s.at(), !s.query.Has("scope"), "no parameter scope", strconv.Quote(s.query.Get("scope")))
					}
				}
			},
		},
		{
			ID: "client-auth-step-up", Title: "too little scope leads to another authorization", Layer: check.Feature,
			Requirements: []string{"legacy/auth-step-up", "modern/auth-client-step-up"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authStepUp) {
					for _, s := range f.of(toServer) {
						if s.Status != 403 {
							continue
						}
						again := slices.ContainsFunc(f.of(toAuthorize), func(a *authStep) bool {
							return a.First > s.First && slices.Contains(strings.Fields(a.query.Get("scope")), "mcp:write")
						})
						want(c, s.at(), again, "an authorization for the scope mcp:write", "none")
						break
					}
				}
			},
		},
		{
			ID: "client-auth-scope-union", Title: "a step up keeps the scopes from before", Layer: check.Feature,
			Requirements: []string{"modern/auth-client-scope-union"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authStepUp) {
					var before []string
					for _, s := range f.of(toAuthorize) {
						now := strings.Fields(s.query.Get("scope"))
						if before != nil && slices.Contains(now, "mcp:write") {
							lost := slices.DeleteFunc(slices.Clone(before), func(sc string) bool { return slices.Contains(now, sc) })
							want(c, s.at(), len(lost) == 0, "the scopes from before: "+strings.Join(before, " "), s.query.Get("scope"))
						}
						before = now
					}
				}
			},
		},
		{
			ID: "client-auth-retries-limited", Title: "authorization is not tried for ever", Layer: check.Feature,
			Requirements: []string{"legacy/auth-step-up", "modern/auth-client-retry-limit"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authStepForever) {
					const most = 5
					asked := f.of(toAuthorize)
					switch {
					case len(asked) == 0:
					case len(asked) > most:
						c.Broken(asked[most].at(), "the end after a few attempts", strconv.Itoa(len(asked))+" authorizations")
					default:
						c.Saw()
					}
				}
			},
		},
		{
			ID: "client-auth-refresh-grant", Title: "a client that uses refresh tokens registers for them", Layer: check.Feature,
			Requirements: []string{"modern/auth-client-refresh-grant-declared"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c) {
					refreshes := slices.ContainsFunc(f.of(toToken), func(s *authStep) bool { return s.form.Get("grant_type") == "refresh_token" })
					asks := slices.ContainsFunc(f.of(toAuthorize), func(s *authStep) bool {
						return slices.Contains(strings.Fields(s.query.Get("scope")), "offline_access")
					})
					for _, s := range f.of(toRegister) {
						body, _ := wire.ParseRaw(s.Body)
						listed := false
						for g := range body.Get("grant_types").Elems() {
							listed = listed || str(g) == "refresh_token"
						}
						if refreshes || asks || listed {
							want(c, s.at(), listed, "refresh_token among the grant_types", show(body.Get("grant_types")))
						}
					}
				}
			},
		},
		{
			ID: "client-auth-offline", Title: "offline_access is asked for only where it is listed", Layer: check.Feature,
			Requirements: []string{"modern/auth-client-offline-access"},
			Judge: func(c *check.Case) {
				eachStep(c, toAuthorize, func(f *authFlow, s *authStep) {
					meta := f.good(toIssuer, s)
					listed := false
					for sc := range meta.member("scopes_supported").Elems() {
						listed = listed || str(sc) == "offline_access"
					}
					if meta != nil && !listed {
						want(c, s.at(), !slices.Contains(strings.Fields(s.query.Get("scope")), "offline_access"), "no offline_access, which the server does not list", s.query.Get("scope"))
					}
				})
			},
		},
		{
			ID: "client-auth-no-refresh", Title: "without a refresh token an expired token leads to another authorization", Layer: check.Feature,
			Requirements: []string{"modern/auth-client-no-refresh-assumed"},
			Judge: func(c *check.Case) {
				for _, f := range flows(c, authExpired) {
					for _, s := range f.of(toServer) {
						if s.Status != 401 || s.Header.Get("authorization") == "" {
							continue
						}
						want(c, s.at(), slices.ContainsFunc(f.of(toAuthorize), func(a *authStep) bool { return a.First > s.First }), "another authorization", "none")
						break
					}
				}
			},
		},
		{
			ID: "client-auth-token-method", Title: "the client authenticates to the token endpoint in a way that it has", Layer: check.Feature,
			Requirements: []string{"modern/auth-client-token-endpoint-method"},
			Judge: func(c *check.Case) {
				eachStep(c, toToken, func(f *authFlow, s *authStep) {
					meta := f.good(toIssuer, s)
					methods := meta.member("token_endpoint_auth_methods_supported")
					if methods == nil {
						return
					}
					used := "none"
					switch {
					case strings.HasPrefix(s.Header.Get("authorization"), "Basic "):
						used = "client_secret_basic"
					case s.form.Get("client_assertion") != "":
						used = "private_key_jwt"
					case s.form.Get("client_secret") != "":
						used = "client_secret_post"
					}
					ok := false
					for m := range methods.Elems() {
						ok = ok || str(m) == used
					}
					want(c, s.at(), ok, "one of "+show(methods), used)
				})
			},
		},
	}
	for i := range all {
		all[i].Transports = onHTTP
	}
	return all
}

// has reports whether the answer of a step has a member; a nil step has none.
func (s *authStep) has(name string) bool { return s.member(name) != nil }

func (s *authStep) member(name string) wire.Raw {
	if s == nil {
		return nil
	}
	return s.reply.Get(name)
}

// inOrder judges that steps are these, in this order, up to where there was an
// answer.
func inOrder(c *check.Case, f *authFlow, steps []*authStep, paths ...string) {
	at := 0
	// It is their order that counts: another look between them is no harm.
	steps = slices.DeleteFunc(slices.Clone(steps), func(s *authStep) bool {
		return !slices.Contains(paths, "/"+strings.TrimPrefix(strings.TrimPrefix(s.path, s.host), "/"))
	})
	for _, s := range steps {
		_, path, _ := strings.Cut(strings.TrimPrefix(s.path, s.host), "/")
		path = "/" + path
		if at > 0 && path == paths[at-1] {
			continue // once more
		}
		if at == len(paths) || s.Status == 200 && path == paths[at] && at == len(paths)-1 {
			c.Saw()
			return
		}
		if path != paths[at] {
			c.Broken(s.at(), "a request for "+paths[at], s.Method+" "+path)
			return
		}
		at++
	}
	if len(steps) > 0 && at < len(paths) {
		c.Broken(steps[len(steps)-1].at(), "a request for "+paths[at]+" next", "none")
	}
}

func isURL(id string) bool { return strings.Contains(id, "://") }

func loopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// sameRedirect compares redirect URIs; the port of one to this host is open.
func sameRedirect(a, b string) bool {
	if a == b {
		return true
	}
	x, err := url.Parse(a)
	y, err2 := url.Parse(b)
	return err == nil && err2 == nil && loopback(x.Hostname()) && x.Scheme == y.Scheme && x.Hostname() == y.Hostname() && x.Path == y.Path
}

// sameServer reports whether two addresses name one server: a slash at the end,
// and a path below it, make no difference.
func sameServer(a, b string) bool {
	x, y := strings.TrimSuffix(a, "/"), strings.TrimSuffix(b, "/")
	if x == y {
		return true
	}
	u, err := url.Parse(x)
	w, err2 := url.Parse(y)
	return err == nil && err2 == nil && strings.EqualFold(u.Scheme, w.Scheme) && strings.EqualFold(u.Host, w.Host) && (strings.HasPrefix(w.Path, u.Path) || strings.HasPrefix(u.Path, w.Path))
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
