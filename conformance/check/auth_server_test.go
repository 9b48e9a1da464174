package check_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/runtime/wire"
)

const goodToken = "Bearer good-token"

// behindKey lets in who has the key of a scheme of its own; others get a status
// and a challenge.
func behindKey(status int, challenge string, body ...string) func() http.HandlerFunc {
	return func() http.HandlerFunc {
		h := &checktest.HTTP{}
		return func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasPrefix(r.URL.Path, "/.well-known/"):
				http.NotFound(w, r)
			case r.Header.Get("X-Key") == "good-key":
				h.ServeHTTP(w, r)
			default:
				if challenge != "" {
					w.Header().Set("WWW-Authenticate", challenge)
				}
				w.WriteHeader(status)
				for _, text := range body {
					_, _ = io.WriteString(w, text)
				}
			}
		}
	}
}

// behindToken is a server with the authorization of MCP; before may answer a
// request itself, or alter it.
func behindToken(before func(w http.ResponseWriter, r *http.Request) (done bool)) func() http.HandlerFunc {
	return func() http.HandlerFunc {
		h := &checktest.HTTP{Tokens: map[string]string{strings.TrimPrefix(goodToken, "Bearer "): "read tools"}}
		return func(w http.ResponseWriter, r *http.Request) {
			if !before(w, r) {
				h.ServeHTTP(w, r)
			}
		}
	}
}

// admitting lets everybody in who uses a method.
func admitting(method string) func() http.HandlerFunc {
	return behindToken(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == method && r.URL.Path == checktest.PathMCP {
			r.Header.Set("Authorization", goodToken)
		}
		return false
	})
}

// authVerdicts drives a server by the probe of authorization, whose requests say
// nothing about the streams of those who were let in.
func authVerdicts(t *testing.T, h http.HandlerFunc, head http.Header, rev string) map[string]result.Check {
	t.Helper()
	probes := slices.DeleteFunc(check.Probes(), func(p check.Probe) bool { return p.Name != "requests without a token that opens the server" })
	require.Len(t, probes, 1)
	out := map[string]result.Check{}
	synctest.Test(t, func(t *testing.T) {
		e, stop := atURL(h)
		defer stop()
		e.Header = head
		traces, err := check.Drive(t.Context(), e, check.DriveOptions{Revision: rev, Probes: probes})
		require.NoError(t, err)
		for _, k := range check.All() {
			if (strings.HasPrefix(k.ID, "auth-") || k.ID == "http-get-answered") && k.Applies(rev, catalogue.HTTP) {
				out[k.ID] = k.Verdict(rev, catalogue.HTTP, check.FactsOf(rev, traces), traces, nil)
			}
		}
	})
	return out
}

// TestAuthorizationIsThatOfMCPOrNone holds that 401 is wanted where the same
// request was served with credentials, and that who has a scheme of its own is
// not judged by the rules of another.
func TestAuthorizationIsThatOfMCPOrNone(t *testing.T) {
	const june, november, july = "2025-06-18", "2025-11-25", "2026-07-28"
	token := http.Header{"Authorization": {goodToken}}
	key := http.Header{"X-Key": {"good-key"}}
	refusing := behindToken(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNotImplemented)
		}
		return r.Method == http.MethodDelete
	})
	for name, tt := range map[string]struct {
		server func() http.HandlerFunc
		head   http.Header
		revs   []string
		want   map[string]result.Verdict
	}{
		"a method that is refused either way": {refusing, token, []string{june, november, july}, map[string]result.Verdict{"auth-401": result.Pass}},
		"one with nothing to compare":         {refusing, nil, []string{june, november, july}, map[string]result.Verdict{"auth-401": result.Pass, "auth-metadata-found": result.Pass}},
		"a stream for everybody":              {admitting(http.MethodGet), token, []string{june, november}, map[string]result.Verdict{"auth-401": result.Fail}},
		"sessions that everybody ends":        {admitting(http.MethodDelete), token, []string{november}, map[string]result.Verdict{"auth-401": result.Fail}},
		"a page for people": {behindToken(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodGet && r.URL.Path == checktest.PathMCP {
				w.Header().Set("Content-Type", "text/html")
				_, _ = w.Write([]byte("<p>Hello</p>"))
				return true
			}
			return false
		}), token, []string{november}, map[string]result.Verdict{"auth-401": result.Pass}},
		"no sessions": {func() http.HandlerFunc {
			return (&checktest.HTTP{Stateless: true, Tokens: map[string]string{"good-token": "read tools"}}).ServeHTTP
		}, token, []string{june, november}, map[string]result.Verdict{"auth-401": result.Pass, "http-get-answered": result.NotObserved}},
		"a scheme of its own": {behindKey(http.StatusUnauthorized, ""), key, []string{june, november, july}, map[string]result.Verdict{
			"auth-401": result.NotApplicable, "auth-challenge": result.NotApplicable, "auth-challenge-metadata": result.NotApplicable,
			"auth-metadata-found": result.NotApplicable, "auth-malformed": result.NotApplicable, "auth-by-401": result.Warn,
		}},
		"a scheme of its own with a name": {behindKey(http.StatusUnauthorized, `ApiKey realm="x"`), nil, []string{june, november, july}, map[string]result.Verdict{
			"auth-challenge": result.NotApplicable, "auth-metadata-found": result.NotApplicable, "auth-by-401": result.Warn,
		}},
		"a scheme of its own with 403": {behindKey(http.StatusForbidden, ""), key, []string{november, july}, map[string]result.Verdict{
			"auth-401": result.NotApplicable, "auth-metadata-found": result.NotApplicable, "auth-by-401": result.Warn,
		}},
		"a scheme of its own in the first revision with authorization": {behindKey(http.StatusUnauthorized, ""), key, []string{"2025-03-26"}, map[string]result.Verdict{
			"auth-401": result.NotApplicable, "auth-server-metadata": result.NotApplicable, "auth-by-401": result.Pass,
		}},
		"a claim by its challenge": {behindKey(http.StatusUnauthorized, "Bearer"), key, []string{june, november, july}, map[string]result.Verdict{
			"auth-401": result.Pass, "auth-challenge-metadata": result.Fail, "auth-metadata-found": result.Fail, "auth-challenge": result.Pass, "auth-by-401": result.Pass,
		}},
		"one that puts clients off": {behindKey(http.StatusTooManyRequests, ""), key, []string{june, november, july}, map[string]result.Verdict{
			"auth-401": result.Blocked, "auth-challenge": result.Blocked, "auth-by-401": result.Blocked, "auth-metadata-found": result.Blocked,
		}},
		"one that puts those off who ask for its metadata": {func() http.HandlerFunc {
			h := behindKey(http.StatusUnauthorized, "Bearer")()
			return func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/.well-known/oauth-protected-resource" {
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				h(w, r)
			}
		}, key, []string{june, november, july}, map[string]result.Verdict{"auth-401": result.Pass, "auth-metadata-found": result.Blocked}},
		"a claim by its challenge with 403": {behindKey(http.StatusForbidden, "Bearer"), key, []string{november, july}, map[string]result.Verdict{"auth-401": result.Fail}},
		"a claim by its metadata": {behindToken(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == checktest.PathMCP && r.Header.Get("Authorization") == "" {
				w.WriteHeader(http.StatusUnauthorized)
				return true
			}
			return false
		}), token, []string{june, november, july}, map[string]result.Verdict{"auth-401": result.Pass, "auth-challenge": result.Fail, "auth-challenge-metadata": result.Fail, "auth-metadata-found": result.Pass}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, rev := range tt.revs {
				got := authVerdicts(t, tt.server(), tt.head, rev)
				for id, want := range tt.want {
					if c, there := got[id]; there {
						require.Equal(t, want, c.Verdict, "%s in %s: %s %s", id, rev, c.Reason, c.Observed)
					}
				}
			}
		})
	}
}

// TestShutServerIsJudgedByWhoItLetsIn holds that of a server that refuses all
// requests nothing else is judged, and what to do is said once.
func TestShutServerIsJudgedByWhoItLetsIn(t *testing.T) {
	for name, tt := range map[string]struct {
		server func() http.HandlerFunc
		head   http.Header
		rev    string
		why    string
		fails  []string
	}{
		"stateful":       {behindKey(http.StatusUnauthorized, ""), nil, "2025-11-25", "every request is refused with status 401: give credentials with -H, or --bearer", nil},
		"stateless":      {behindKey(http.StatusUnauthorized, ""), nil, "2026-07-28", "every request is refused with status 401: give credentials with -H, or --bearer", nil},
		"forbidden":      {behindKey(http.StatusForbidden, ""), nil, "2025-11-25", "status 403: give credentials", nil},
		"with an error":  {behindKey(http.StatusUnauthorized, "", `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"unauthorized"}}`), nil, "2025-11-25", "status 401: give credentials", nil},
		"of no request":  {behindKey(http.StatusForbidden, "", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"forbidden"}}`), nil, "2026-07-28", "status 403: give credentials", nil},
		"with a bad key": {behindKey(http.StatusUnauthorized, ""), http.Header{"X-Key": {"bad"}}, "2025-11-25", "does not open the server", nil},
		"a breach":       {behindKey(http.StatusUnauthorized, "Bearer"), nil, "2025-11-25", "give credentials", []string{"auth-metadata-found"}},
		"no breach":      {behindToken(func(http.ResponseWriter, *http.Request) bool { return false }), nil, "2026-07-28", "give credentials", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, stop := atURL(tt.server())
				defer stop()
				e.Header = tt.head
				x, err := check.Explore(t.Context(), e, check.Limits{})
				require.NoError(t, err)
				require.True(t, x.Locked)
				traces, err := check.Drive(t.Context(), e, check.DriveOptions{Revision: tt.rev, Probes: check.Probes(), Locked: true})
				require.NoError(t, err)
				reasons := map[string]bool{}
				var fails []string
				for _, k := range check.All() {
					if !k.Applies(tt.rev, catalogue.HTTP) {
						continue
					}
					c := k.Verdict(tt.rev, catalogue.HTTP, check.FactsOf(tt.rev, traces), traces, x.Traces)
					switch {
					case c.Verdict == result.Fail:
						fails = append(fails, k.ID)
					case !strings.HasPrefix(k.ID, "auth-") && k.ID != "http-authenticated":
						require.Equal(t, result.Blocked, c.Verdict, k.ID)
						reasons[c.Reason] = true
					}
				}
				require.Equal(t, tt.fails, fails)
				require.Len(t, reasons, 1)
				for why := range reasons {
					require.Contains(t, why, tt.why)
				}
			})
		})
	}
}

// refusing answers what match matches by a status and a body, "ID" in it being
// the id of the request.
func refusing(status int, challenge, text string, match func(r *http.Request, body string) bool) func(next http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if !match(r, string(body)) {
				next.ServeHTTP(w, r)
				return
			}
			if challenge != "" {
				w.Header().Set("WWW-Authenticate", challenge)
			}
			if text != "" {
				w.Header().Set("Content-Type", "application/json")
			}
			w.WriteHeader(status)
			id := wire.Raw(body).Get("id")
			if id == nil {
				id = wire.Raw("null")
			}
			_, _ = io.WriteString(w, strings.ReplaceAll(text, "ID", string(id)))
		})
	}
}

// TestWhatWantsATokenIsNotJudgedOtherwise holds that 401 to some requests, or 403
// that asks for more of the token, or 429, is a breach of no rule that is not
// about authorization, whatever stands in the body.
func TestWhatWantsATokenIsNotJudgedOtherwise(t *testing.T) {
	const november = "2025-11-25"
	const empty, plain, error, error0 = "", `{"error":"no","error_description":"no"}`, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32001,"message":"no"}}`, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"no"},"id":null}`
	const narrow = `Bearer error="insufficient_scope", scope="tools", resource_metadata="http://mcp.test/.well-known/oauth-protected-resource"`
	allBut := func(methods ...string) func(*http.Request, string) bool {
		return func(r *http.Request, body string) bool {
			return r.URL.Path == checktest.PathMCP && !slices.ContainsFunc(methods, func(m string) bool { return strings.Contains(body, `"`+m+`"`) })
		}
	}
	holding := func(text string) func(*http.Request, string) bool {
		return func(_ *http.Request, body string) bool { return strings.Contains(body, text) }
	}
	busy := func(rest int) func(*http.Request, string) bool { // let in is every one of so many
		var n atomic.Int64
		return func(r *http.Request, _ string) bool { return r.Method == http.MethodPost && n.Add(1)%int64(rest) == 0 }
	}
	calls := holding(`"tools/call"`)
	cases := 0
	for name, tt := range map[string]struct {
		rev             string
		status          int
		challenge, body string
		token           bool
		match           func(r *http.Request, body string) bool
	}{
		"GET and DELETE":                   {november, 401, "", empty, false, func(r *http.Request, _ string) bool { return r.Method != http.MethodPost }},
		"all but the handshake":            {november, 401, "", empty, false, allBut("initialize")},
		"the same, with JSON":              {"2025-06-18", 401, "Bearer", plain, false, allBut("initialize")},
		"the same, with an error":          {november, 401, "Bearer", error, false, allBut("initialize")},
		"the same, of no request":          {"2025-03-26", 401, "", error0, false, allBut("initialize")},
		"all but the handshake, stateless": {modernRevision, 401, "Bearer", error0, false, allBut(discover, "initialize")},
		"all but lists, stateless":         {modernRevision, 401, "", error, false, allBut(discover, "initialize", "tools/list", "prompts/list", "resources/list", "resources/templates/list")},
		"calls":                            {november, 401, "Bearer", error, false, calls},
		"calls, stateless":                 {modernRevision, 401, "Bearer", error, false, calls},
		"calls with more of a token":       {november, 403, narrow, error, true, calls},
		"the same, stateless":              {modernRevision, 403, narrow, error, true, calls},
		"more of a token, with JSON":       {modernRevision, 403, narrow, plain, true, calls},
		"the same, without a word":         {modernRevision, 403, narrow, empty, true, calls},
		"streams with more of a token": {november, 403, narrow, empty, true, func(r *http.Request, _ string) bool {
			return r.Method == http.MethodGet && r.URL.Path == checktest.PathMCP
		}},
		"levels and notifications": {november, 401, "Bearer", error, false, func(_ *http.Request, body string) bool {
			return strings.Contains(body, `"logging/setLevel"`) || strings.Contains(body, `"notifications/cancelled"`)
		}},
		"few requests":                {november, 429, "", empty, false, busy(3)},
		"few requests, with an error": {november, 429, "", error, false, busy(3)},
		"few requests, of no request": {modernRevision, 429, "", error0, false, busy(4)},
		"few requests, with JSON":     {modernRevision, 429, "", plain, true, busy(5)},
	} {
		if cases++; cases%raced != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, to := &checktest.HTTP{Wrap: refusing(tt.status, tt.challenge, tt.body, tt.match)}, target{}
			if tt.token {
				to.host = "mcp.test"
				h.Tokens, to.head = map[string]string{"good-token": "read " + checktest.ScopeCall}, http.Header{"Authorization": {goodToken}}
			}
			blocked := 0
			for id, v := range driveHTTP(t, h, to, tt.rev, true, check.Probes()).verdicts() {
				switch {
				case v.Verdict == result.Blocked:
					blocked++
				case tt.status != 429 && (strings.HasPrefix(id, "auth-") || id == "http-authenticated"):
				case v.Verdict == result.Fail, v.Verdict == result.Warn:
					t.Errorf("%s %s: want %s, got %s\n%s", v.Verdict, id, v.Expected, v.Observed, frames(v))
				}
			}
			require.Positive(t, blocked)
		})
	}
}

// TestRefusalOfWhatIsServedElsewhereIsABreach holds that a status which asks for
// credentials is wrong for what the server serves with those that were given, and
// that a token may run out.
func TestRefusalOfWhatIsServedElsewhereIsABreach(t *testing.T) {
	const november = "2025-11-25"
	ended := func() func(r *http.Request, _ string) bool {
		var over sync.Map
		return func(r *http.Request, _ string) bool {
			id := r.Header.Get("Mcp-Session-Id")
			_, gone := over.Load(id)
			if r.Method == http.MethodDelete {
				over.Store(id, true)
			}
			return gone && id != ""
		}
	}
	header := func(name string, values ...string) func(*http.Request, string) bool {
		return func(r *http.Request, _ string) bool { return slices.Contains(values, r.Header.Get(name)) }
	}
	for name, tt := range map[string]struct {
		rev       string
		status    int
		challenge string
		token     bool
		match     func(r *http.Request, body string) bool
		check     string
	}{
		"a session that is over":              {november, 401, "", false, ended(), "http-session-ended"},
		"one of a client with a token":        {november, 401, "Bearer", true, ended(), "http-session-ended"},
		"a version":                           {november, 401, "", false, header("Mcp-Protocol-Version", "not-a-version", "1999-01-01"), "http-version-header-invalid"},
		"an origin":                           {november, 401, "Bearer", false, header("Origin", "http://evil.example"), "http-origin-403"},
		"an origin, of a client with a token": {november, 401, "Bearer", true, header("Origin", "http://evil.example"), "http-origin-403"},
		"the same, stateless":                 {modernRevision, 401, "Bearer", true, header("Origin", "http://evil.example"), "http-origin-403"},
		"GET of a server that is open":        {november, 403, "", false, func(r *http.Request, _ string) bool { return r.Method == http.MethodGet }, "http-get-answered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, to := &checktest.HTTP{Wrap: refusing(tt.status, tt.challenge, "", tt.match)}, target{}
			if tt.token {
				to.host = "mcp.test"
				h.Tokens, to.head = map[string]string{"good-token": "read " + checktest.ScopeCall}, http.Header{"Authorization": {goodToken}}
			}
			v := driveHTTP(t, h, to, tt.rev, true, check.Probes()).verdicts()[tt.check]
			require.Equal(t, result.Fail, v.Verdict, "%s; %s", v.Observed, v.Reason)
		})
	}
	for _, rev := range []string{november, modernRevision} {
		t.Run("a token that runs out "+rev, func(t *testing.T) {
			t.Parallel()
			var began atomic.Int64
			run := func(r *http.Request, _ string) bool {
				return r.Header.Get("Authorization") == goodToken && began.Add(1) > 60
			}
			h := &checktest.HTTP{Tokens: map[string]string{"good-token": "read " + checktest.ScopeCall}, Wrap: refusing(401, `Bearer error="invalid_token"`, "", run)}
			for id, v := range driveHTTP(t, h, target{host: "mcp.test", head: http.Header{"Authorization": {goodToken}}}, rev, true, check.Probes()).verdicts() {
				if !strings.HasPrefix(id, "auth-") {
					require.NotContains(t, []result.Verdict{result.Fail, result.Warn}, v.Verdict, "%s: want %s, got %s\n%s", id, v.Expected, v.Observed, frames(v))
				}
			}
		})
	}
}

// TestRefusalOfEverythingShowsNothing holds that a rule which wants a refusal, or
// what the usual request gets, is not kept where the usual request is refused too.
func TestRefusalOfEverythingShowsNothing(t *testing.T) {
	for rev, tt := range map[string]struct {
		serves []string // methods
		checks []string
	}{
		"2025-11-25":   {[]string{"initialize"}, []string{"http-origin-refused", "http-origin-403"}},
		modernRevision: {[]string{discover, "initialize", "tools/list", "prompts/list", "resources/list"}, []string{"header-name-decoded", "header-blanks", "param-header-decoded", "param-header-mismatch", "param-header-absent"}},
	} {
		for _, status := range []int{401, 403, 429} {
			t.Run(strconv.Itoa(status)+" "+rev, func(t *testing.T) {
				t.Parallel()
				refuses := func(r *http.Request, body string) bool {
					r.Header.Del("Origin") // which it does not look at
					return !slices.ContainsFunc(tt.serves, func(m string) bool { return strings.Contains(body, `"method":"`+m+`"`) })
				}
				all := driveHTTP(t, &checktest.HTTP{Wrap: refusing(status, "", "", refuses)}, target{}, rev, true, check.Probes()).verdicts()
				for _, id := range tt.checks {
					v := all[id]
					require.Contains(t, []result.Verdict{result.Blocked, result.NotObserved}, v.Verdict, "%s: %s; %s", id, v.Observed, v.Reason)
				}
			})
		}
	}
}

// TestForbiddenOddityIsNoMatterOfScope holds that 403 without a challenge, to what
// is served otherwise, is not taken for one to a token that allows too little.
func TestForbiddenOddityIsNoMatterOfScope(t *testing.T) {
	for rev, odd := range map[string]func(r *http.Request, body string) bool{
		"2025-11-25": func(r *http.Request, _ string) bool {
			return strings.HasPrefix(r.Header.Get("Mcp-Protocol-Version"), "1999")
		},
		modernRevision: func(r *http.Request, _ string) bool { return r.Header.Get("Mcp-Session-Id") != "" },
	} {
		t.Run(rev, func(t *testing.T) {
			h := &checktest.HTTP{Tokens: map[string]string{"good-token": "read " + checktest.ScopeCall}, Wrap: refusing(403, "", "", odd)}
			v := driveHTTP(t, h, target{host: "mcp.test", head: http.Header{"Authorization": {goodToken}}}, rev, true, check.Probes()).verdicts()["auth-insufficient-scope"]
			require.Equal(t, result.NotObserved, v.Verdict, v.Observed)
		})
	}
}
