package client

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Names of scripts of authorization.
const (
	authPlain         = "auth-plain"
	authFallback      = "auth-fallback"
	authOpenID        = "auth-openid"
	authForeignIssuer = "auth-foreign-issuer"
	authForeignServer = "auth-foreign-resource"
	authWrongIss      = "auth-wrong-iss"
	authQuietIss      = "auth-unexpected-iss"
	authMissingIss    = "auth-missing-iss"
	authSlashIss      = "auth-other-spelling"
	authErrorIss      = "auth-error-wrong-iss"
	authNoPKCE        = "auth-no-pkce"
	authWrongState    = "auth-wrong-state"
	authNoState       = "auth-no-state"
	authDocument      = "auth-document"
	authDocumentOnly  = "auth-document-only"
	authNoRegister    = "auth-registration-refused"
	authMigration     = "auth-migration"
	authStepUp        = "auth-step-up"
	authStepForever   = "auth-step-up-forever"
	authExpired       = "auth-expired"
	authOld           = "auth-old"
	authOldDefault    = "auth-old-default"
)

// authority is a protected server with the authorization servers that it
// trusts. What it issues is good for its own plays only.
type authority struct {
	play *Play
	mu   sync.Mutex

	// The protected resource.
	challenge string // of a 401, after "Bearer"; %s stands for the address of the metadata
	prmPath   string // where the metadata is
	resource  string // "" for the right one
	prmScopes string // JSON array; "" for none
	server    string // name of the origin of the authorization server

	// The authorization server.
	tenant    string // path of the issuer
	metaPaths []string
	issuer    string            // in the metadata; "" for the right one
	members   map[string]string // of the metadata, JSON values; "" leaves a usual one out
	redirect  func(q url.Values, v url.Values)
	register  func(x *Exchange) bool

	deny    func(token, method string) (status int, challenge string) // of requests with a good token; 0 for none
	tokens  map[string]string                                         // good ones, with their scope
	codes   map[string]url.Values                                     // what was asked for, by code
	clients map[string]string                                         // secrets by client id
	n       int
}

// protect makes the server of a play a protected one.
func protect(p *Play, change func(a *authority)) {
	a := &authority{
		play: p, challenge: `resource_metadata="%s", scope="mcp:read"`, prmPath: "/custom/metadata.json", server: "as", prmScopes: `["mcp:read","mcp:write"]`,
		metaPaths: []string{"/.well-known/oauth-authorization-server"},
		members:   map[string]string{}, tokens: map[string]string{}, codes: map[string]url.Values{}, clients: map[string]string{},
	}
	if change != nil {
		change(a)
	}
	p.HTTP = a.serve
}

func (a *authority) base() string { return a.play.Origin(a.server) }

func (a *authority) rightIssuer() string { return a.base() + a.tenant }

func (a *authority) serve(x *Exchange) bool {
	path := x.Path()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case x.Origin == "" && path == endpoint:
		return a.guard(x)
	case x.Origin == "" && a.server != "" && a.prmPath == path:
		resource := a.resource
		switch {
		case resource != "":
		case path == "/.well-known/oauth-protected-resource":
			resource = a.play.Origin("") // what is at the root speaks for the root (RFC 9728, section 3.3)
		default:
			resource = a.play.URL()
		}
		scopes := ""
		if a.prmScopes != "" {
			scopes = `,"scopes_supported":` + a.prmScopes
		}
		return x.Respond(200, jsonType, `{"resource":`+quoted(resource)+`,"authorization_servers":[`+quoted(a.rightIssuer())+`],"bearer_methods_supported":["header"]`+scopes+`}`)
	case x.Origin != a.server:
		return x.Respond(404, "", "")
	}
	for _, m := range a.metaPaths {
		if path == m {
			return x.Respond(200, jsonType, a.metadata())
		}
	}
	switch path {
	case a.tenant + "/register":
		return a.registers(x)
	case a.tenant + "/authorize":
		return a.authorizes(x)
	case a.tenant + "/token":
		return a.exchanges(x)
	}
	return x.Respond(404, "", "")
}

// guard asks for a token.
func (a *authority) guard(x *Exchange) bool {
	scheme, token, _ := strings.Cut(x.Header.Get("authorization"), " ")
	v, _ := wire.ParseRaw(x.Body)
	if _, good := a.tokens[token]; !good || !strings.EqualFold(scheme, "Bearer") {
		a.refuse(x, 401, a.challenge)
		return true
	}
	if a.deny != nil {
		if status, challenge := a.deny(token, str(v.Get("method"))); status != 0 {
			a.refuse(x, status, challenge)
			return true
		}
	}
	return false
}

func (a *authority) refuse(x *Exchange, status int, challenge string) {
	at := a.play.Origin("") + a.prmPath
	switch {
	case challenge != "":
		// More than one challenge may stand in the header.
		x.SetHeader("WWW-Authenticate", `Basic realm="other, and none", Bearer realm="test", `+strings.ReplaceAll(challenge, "%s", at))
	default:
		x.SetHeader("WWW-Authenticate", "Bearer")
	}
	x.Respond(status, "", "")
}

func quoted(s string) string { return string(wire.Quote(s)) }

func (a *authority) metadata() string {
	at := a.base() + a.tenant
	issuer := a.issuer
	if issuer == "" {
		issuer = a.rightIssuer()
	}
	members := map[string]string{
		"issuer": quoted(issuer), "authorization_endpoint": quoted(at + "/authorize"), "token_endpoint": quoted(at + "/token"), "registration_endpoint": quoted(at + "/register"),
		"response_types_supported": `["code"]`, "grant_types_supported": `["authorization_code","refresh_token"]`, "code_challenge_methods_supported": `["S256"]`,
		"token_endpoint_auth_methods_supported": `["none","client_secret_basic","client_secret_post"]`, "authorization_response_iss_parameter_supported": a.announces(),
		"scopes_supported": `["mcp:read","mcp:write"]`,
	}
	for k, v := range a.members {
		members[k] = v
	}
	var all []string
	for _, k := range sortedKeys(members) {
		if members[k] != "" {
			all = append(all, quoted(k)+":"+members[k])
		}
	}
	return "{" + strings.Join(all, ",") + "}"
}

// announces is whether the issuer says who it is in its answers, as JSON; ""
// in revisions that know nothing of it.
func (a *authority) announces() string {
	if a.play.Modern() {
		return "true"
	}
	return ""
}

func (a *authority) registers(x *Exchange) bool {
	if a.register != nil && a.register(x) {
		return true
	}
	v, err := wire.ParseRaw(x.Body)
	if err != nil || v.Kind() != wire.KindObject {
		return x.Respond(400, jsonType, `{"error":"invalid_client_metadata"}`)
	}
	a.n++
	id, secret := a.server+"-client-"+strconv.Itoa(a.n), a.server+"-secret-"+strconv.Itoa(a.n)
	a.clients[id] = secret
	extra := ""
	method := v.Get("token_endpoint_auth_method")
	if method == nil {
		// What a client does not ask for is told: else it is client_secret_basic
		// (RFC 7591, 2), which this one may not take.
		method = wire.Raw(`"client_secret_basic"`)
		supported := wire.Raw(a.members["token_endpoint_auth_methods_supported"])
		if !strings.Contains(string(supported), string(method)) {
			for m := range supported.Elems() {
				method = m
				break
			}
		}
		extra = `,"token_endpoint_auth_method":` + string(method)
	}
	if str(method) != "none" {
		extra += `,"client_secret":` + quoted(secret) + `,"client_secret_expires_at":0`
	}
	return x.Respond(201, jsonType, `{"client_id":`+quoted(id)+extra+`,`+strings.TrimPrefix(strings.TrimSpace(string(v)), "{"))
}

func (a *authority) authorizes(x *Exchange) bool {
	q := x.URL.Query()
	to, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || !to.IsAbs() {
		return x.Respond(400, "text/plain; charset=utf-8", "no redirect_uri\n")
	}
	a.n++
	code := a.server + "-code-" + strconv.Itoa(a.n)
	a.codes[code] = q
	back := url.Values{"code": {code}}
	if q.Has("state") {
		back.Set("state", q.Get("state"))
	}
	if a.members["authorization_response_iss_parameter_supported"] == "" && a.play.Modern() {
		back.Set("iss", a.rightIssuer())
	}
	if a.redirect != nil {
		a.redirect(q, back)
	}
	query := to.Query()
	for k, v := range back {
		query[k] = v
	}
	to.RawQuery = query.Encode()
	x.SetHeader("Location", to.String())
	return x.Respond(http.StatusFound, "", "")
}

func (a *authority) exchanges(x *Exchange) bool {
	form, _ := url.ParseQuery(string(x.Body))
	asked, ok := a.codes[form.Get("code")]
	if !ok {
		return x.Respond(400, jsonType, `{"error":"invalid_grant"}`)
	}
	if challenge := asked.Get("code_challenge"); challenge != "" && challenge != form.Get("code_verifier") {
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		if base64.RawURLEncoding.EncodeToString(sum[:]) != challenge {
			return x.Respond(400, jsonType, `{"error":"invalid_grant"}`)
		}
	}
	delete(a.codes, form.Get("code"))
	a.n++
	token := a.server + "-token-" + strconv.Itoa(a.n)
	a.tokens[token] = asked.Get("scope")
	scope := ""
	if s := asked.Get("scope"); s != "" {
		scope = `,"scope":` + quoted(s)
	}
	return x.Respond(200, jsonType, `{"access_token":`+quoted(token)+`,"token_type":"Bearer","expires_in":3600`+scope+`}`)
}

// authScripts are about authorization.
func authScripts() []Script {
	script := func(name, about, since string, change func(a *authority)) Script {
		return Script{
			Name: name, About: about, Since: since, Transports: onHTTP, Scenario: "auth/metadata-default",
			Serve: func(p *Play) { protect(p, change) },
		}
	}
	noIss := func(a *authority) { a.members["authorization_response_iss_parameter_supported"] = "false" }
	iss := func(value func(a *authority) string) func(a *authority) {
		return func(a *authority) {
			a.redirect = func(_, back url.Values) {
				back.Del("iss")
				if v := value(a); v != "" {
					back.Set("iss", v)
				}
			}
		}
	}
	out := []Script{
		script(authPlain, "a protected server whose challenge says where its metadata is and which scope it wants", june, func(a *authority) {
			a.challenge = `resource_metadata="%s", scope="mcp:read special:scope", error="invalid_token"`
		}),
		script(authFallback, "a protected server whose challenge says nothing, with an issuer that has a path", latest, func(a *authority) {
			a.challenge, a.prmPath, a.tenant = "", "/.well-known/oauth-protected-resource", "/tenant1"
			a.metaPaths = []string{"/tenant1/.well-known/openid-configuration"}
			a.members["token_endpoint_auth_methods_supported"] = `["client_secret_post"]`
			noIss(a)
		}),
		script(authOpenID, "a protected server that names no scopes, with an issuer that has OpenID metadata only", latest, func(a *authority) {
			a.challenge, a.prmScopes = `resource_metadata="%s"`, ""
			a.metaPaths = []string{"/.well-known/openid-configuration"}
			a.members["token_endpoint_auth_methods_supported"], a.members["scopes_supported"] = `["client_secret_basic"]`, ""
			noIss(a)
		}),
		script(authForeignIssuer, "metadata of an issuer that is another one", modern, func(a *authority) { a.issuer = "https://issuer.example.com" }),
		script(authForeignServer, "metadata of a server that is another one", modern, func(a *authority) { a.resource = "https://other.example.com/mcp" }),
		script(authWrongIss, "an answer of another issuer", modern, iss(func(*authority) string { return "https://evil.example.com" })),
		script(authQuietIss, "an answer of another issuer, though none is announced", modern, func(a *authority) {
			noIss(a)
			iss(func(*authority) string { return "https://evil.example.com" })(a)
		}),
		script(authMissingIss, "an answer without the issuer that is announced", modern, iss(func(*authority) string { return "" })),
		script(authSlashIss, "an answer of the issuer, written otherwise", modern, iss(func(a *authority) string { return a.rightIssuer() + "/" })),
		script(authErrorIss, "an error of another issuer", modern, func(a *authority) {
			a.redirect = func(_, back url.Values) {
				back.Del("code")
				back.Set("error", "access_denied")
				back.Set("iss", "https://evil.example.com")
			}
		}),
		script(authNoPKCE, "an authorization server that does not say that it has PKCE", latest, func(a *authority) { a.members["code_challenge_methods_supported"] = "" }),
		script(authWrongState, "an answer with another state", june, func(a *authority) {
			a.redirect = func(_, back url.Values) { back.Set("state", "made-up") }
		}),
		script(authNoState, "an answer without the state", june, func(a *authority) {
			a.redirect = func(_, back url.Values) { back.Del("state") }
		}),
		script(authDocument, "an authorization server that takes metadata documents and registrations", latest, func(a *authority) {
			a.members["client_id_metadata_document_supported"] = "true"
		}),
		script(authDocumentOnly, "an authorization server that takes metadata documents and no registrations", latest, func(a *authority) {
			a.members["client_id_metadata_document_supported"] = "true"
			a.members["registration_endpoint"] = ""
		}),
		script(authNoRegister, "an authorization server that refuses a registration for its redirect", modern, func(a *authority) {
			a.register = func(x *Exchange) bool { return x.Respond(400, jsonType, `{"error":"invalid_redirect_uri"}`) }
		}),
		script(authMigration, "a server that moves to another authorization server", modern, func(a *authority) {
			used := 0
			a.deny = func(token, method string) (int, string) {
				if used++; used > 2 && a.server == "as" {
					a.server = "as2"
					a.tokens = map[string]string{}
				}
				if a.tokens[token] == "" && a.server == "as2" {
					return 401, a.challenge
				}
				return 0, ""
			}
			a.play.Origin("as2")
		}),
		script(authStepUp, "a server that wants more scope for one request", latest, func(a *authority) {
			a.deny = func(token, method string) (int, string) {
				if !strings.Contains(a.tokens[token], "mcp:write") && method != initialize && method != discover && !strings.HasPrefix(method, "notifications/") {
					return 403, `error="insufficient_scope", scope="mcp:write", resource_metadata="%s"`
				}
				return 0, ""
			}
		}),
		script(authStepForever, "a server that never has enough scope", latest, func(a *authority) {
			a.deny = func(token, method string) (int, string) {
				return 403, `error="insufficient_scope", scope="mcp:read mcp:write", resource_metadata="%s"`
			}
		}),
		script(authExpired, "a token that is good for a moment, without another one to renew it", modern, func(a *authority) {
			used := map[string]int{}
			first := ""
			a.deny = func(token, _ string) (int, string) {
				if first == "" {
					first = token
				}
				if used[token]++; token == first && used[token] > 2 {
					return 401, a.challenge
				}
				return 0, ""
			}
		}),
		script(authOld, "a server that is its own authorization server", march, func(a *authority) { a.server, a.challenge = "", "" }),
		script(authOldDefault, "a server that is its own authorization server, without metadata", march, func(a *authority) {
			a.server, a.challenge, a.metaPaths = "", "", nil
		}),
	}
	for i := range out {
		if out[i].Since == march {
			out[i].Until = march
		}
	}
	return out
}
