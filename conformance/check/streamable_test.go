package check_test

import (
	"cmp"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/broken"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/result"
)

// heard is what a server over HTTP said in one revision.
type heard struct {
	rev            string
	over           catalogue.Transport
	facts          *check.Facts
	traces, offers []*check.Trace
}

// target says how a server over HTTP is reached.
type target struct {
	over catalogue.Transport // "" is Streamable HTTP
	host string              // "" is one of this machine
	head http.Header
}

func (w target) endpoint(r *checktest.Running) *check.Endpoint {
	e := &check.Endpoint{Over: w.over, Header: w.head, Dial: r.Dial, URL: "http://" + w.host + checktest.PathMCP}
	if w.host == "" {
		e.URL = "http://127.0.0.1:4000" + checktest.PathMCP
	}
	if w.over == catalogue.SSE {
		e.URL = e.URL[:len(e.URL)-len(checktest.PathMCP)] + checktest.PathSSE
	}
	return e
}

// driveHTTPFor drives a server over HTTP by the probes that a check needs.
func driveHTTPFor(t *testing.T, f *broken.HTTPFault, rev string, over catalogue.Transport, k check.Check) heard {
	t.Helper()
	out := heard{rev: rev, over: over}
	synctest.Test(t, func(t *testing.T) {
		r := f.New().Start()
		defer r.Close()
		e := f.Endpoint(r)
		x, err := check.Explore(t.Context(), e, check.Limits{})
		require.NoError(t, err)
		out.offers = x.Traces
		out.traces, err = check.DriveFor(t.Context(), e, check.DriveOptions{Revision: rev, Probes: check.Probes()}, []check.Check{k}, out.offers)
		require.NoError(t, err)
		time.Sleep(time.Second) // what the server still does
	})
	out.facts = check.FactsOf(rev, out.traces)
	return out
}

// driveHTTP drives a server over HTTP in fake time, by all probes or some.
func driveHTTP(t *testing.T, h *checktest.HTTP, w target, rev string, explore bool, probes []check.Probe) heard {
	t.Helper()
	out := heard{rev: rev, over: w.over}
	if out.over == "" {
		out.over = catalogue.HTTP
	}
	synctest.Test(t, func(t *testing.T) {
		r := h.Start()
		defer r.Close()
		e := w.endpoint(r)
		if explore {
			x, err := check.Explore(t.Context(), e, check.Limits{})
			require.NoError(t, err)
			out.offers = x.Traces
		}
		var err error
		out.traces, err = check.Drive(t.Context(), e, check.DriveOptions{Revision: rev, Probes: probes})
		require.NoError(t, err)
		time.Sleep(time.Second) // what the server still does
	})
	out.facts = check.FactsOf(rev, out.traces)
	return out
}

func (d heard) verdict(k *check.Check) result.Check {
	return k.Verdict(d.rev, d.over, d.facts, d.traces, d.offers)
}

// verdicts are those of all checks of servers.
func (d heard) verdicts() map[string]result.Check {
	out := map[string]result.Check{}
	for _, k := range check.All() {
		if k.Applies(d.rev, d.over) {
			out[k.ID] = d.verdict(&k)
		}
	}
	return out
}

// overHTTPOnly reports whether a check is about what HTTP adds.
func overHTTPOnly(k *check.Check) bool {
	for _, rev := range check.Revisions() {
		if k.Applies(rev, catalogue.Stdio) {
			return false
		}
	}
	return true
}

// goodServers are servers over HTTP that keep all rules, each in its own way.
var goodServers = map[string]struct {
	http   func() *checktest.HTTP
	target target
	revs   []string // nil is all that it speaks
}{
	"everything": {http: func() *checktest.HTTP { return &checktest.HTTP{} }},
	"objects":    {http: func() *checktest.HTTP { return &checktest.HTTP{JSON: true} }, revs: []string{"2025-03-26", "2025-11-25"}},
	"streams": {http: func() *checktest.HTTP {
		return &checktest.HTTP{Streams: true, Server: checktest.Server{Versions: []string{"2026-07-28"}}}
	}},
	"polling": {http: func() *checktest.HTTP { return &checktest.HTTP{Polls: true} }, revs: []string{"2025-11-25"}},
	"no sessions": {http: func() *checktest.HTTP {
		return &checktest.HTTP{Stateless: true, JSON: true, Server: checktest.Server{Without: []string{"logging", "tasks"}}}
	}, revs: []string{"2025-06-18"}},
	"nothing": {http: func() *checktest.HTTP {
		return &checktest.HTTP{NoSSE: true, Server: checktest.Server{Without: []string{"tools", "prompts", "resources", "completions", "logging", "tasks"}}}
	}, revs: []string{"2025-11-25", "2026-07-28"}},
	"old transport": {http: func() *checktest.HTTP { return &checktest.HTTP{} }, target: target{over: catalogue.SSE}, revs: []string{"2024-11-05"}},
	"protected": {
		http: func() *checktest.HTTP {
			return &checktest.HTTP{Tokens: map[string]string{"secret-token": "read " + checktest.ScopeCall}}
		},
		target: target{host: "mcp.test", head: http.Header{"Authorization": {"Bearer secret-token"}}},
	},
	"protected, a narrow token": {
		http:   func() *checktest.HTTP { return &checktest.HTTP{Tokens: map[string]string{"secret-token": "read"}} },
		target: target{host: "mcp.test", head: http.Header{"Authorization": {"Bearer secret-token"}}}, revs: []string{"2026-07-28"},
	},
}

func TestGoodHTTPServersHaveNoFindings(t *testing.T) {
	passed := map[string]bool{}
	cases := 0
	for name, g := range goodServers {
		for _, rev := range check.Revisions() {
			h := g.http()
			if !h.Server.Speaks(rev) || g.revs != nil && !slices.Contains(g.revs, rev) || g.target.over == "" && rev == "2024-11-05" {
				continue
			}
			if cases++; cases%raced != 0 {
				continue
			}
			t.Run(name+" "+rev, func(t *testing.T) {
				d := driveHTTP(t, h, g.target, rev, true, check.Probes())
				fine := []result.Verdict{result.Pass, result.NotObserved, result.NotApplicable}
				if h.Tokens != nil { // what a token does not open stays unknown
					fine = append(fine, result.Blocked)
				}
				for id, v := range d.verdicts() {
					passed[id] = passed[id] || v.Verdict == result.Pass
					if !slices.Contains(fine, v.Verdict) {
						t.Errorf("%s %s: want %s, got %s; %s\n%s", v.Verdict, id, v.Expected, v.Observed, v.Reason, frames(v))
					}
				}
			})
		}
	}
	for _, k := range check.All() {
		if raced == 1 && overHTTPOnly(&k) && !passed[k.ID] {
			t.Errorf("%s passes on a good server in no revision", k.ID)
		}
	}
}

// overStdio are the checks that say something over stdio.
func overStdio() []check.Check {
	return slices.DeleteFunc(check.All(), func(k check.Check) bool { return overHTTPOnly(&k) })
}

// TestEveryHTTPCheckSeesItsMutant holds that each broken server over HTTP is
// found wrong by its check, after the probes that this check needs.
func TestEveryHTTPCheckSeesItsMutant(t *testing.T) {
	faults := broken.HTTPServers()
	for i := range faults {
		f := &faults[i]
		if i%(4*raced) != 0 || strings.Contains(f.Name, "/") {
			continue // the others are judged with all broken peers
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			at := slices.IndexFunc(check.All(), func(k check.Check) bool { return k.ID == f.Check })
			require.GreaterOrEqual(t, at, 0, "no such check")
			k := check.All()[at]
			over, rev := cmp.Or(f.Over, catalogue.HTTP), f.Revision
			for _, r := range check.Revisions() {
				if f.Revision == "" && k.Applies(r, over) {
					rev = r
				}
			}
			want := result.Fail
			if f.Tolerated || k.Warns(rev, over) {
				want = result.Warn
			}
			v := driveHTTPFor(t, f, rev, over, k).verdict(&k)
			require.Equal(t, want, v.Verdict, "want %s, got %s; %s\n%s", v.Expected, v.Observed, v.Reason, frames(v))
			require.NotEmpty(t, v.Expected)
			require.NotEmpty(t, v.Observed)
		})
	}
}

// TestServerAtOtherAddressesIsFound holds that a server of this machine is
// looked for at the other addresses of the machine, too.
func TestServerAtOtherAddressesIsFound(t *testing.T) {
	defer check.SetLocalAddrs(
		&net.IPNet{IP: net.IPv4(127, 0, 0, 1), Mask: net.CIDRMask(8, 32)}, &net.IPNet{IP: net.IPv4(192, 0, 2, 7), Mask: net.CIDRMask(24, 32)},
	)()
	all := check.All()
	k := all[slices.IndexFunc(all, func(k check.Check) bool { return k.ID == "http-loopback-only" })]
	for everywhere, want := range map[bool]result.Verdict{false: result.Pass, true: result.Warn} {
		for over, revs := range map[catalogue.Transport][]string{catalogue.HTTP: {"2025-03-26", "2025-11-25", modernRevision}, catalogue.SSE: {"2024-11-05"}} {
			for _, rev := range revs {
				f := &broken.HTTPFault{Over: over, New: func() *checktest.HTTP { return &checktest.HTTP{Fault: checktest.Fault{Everywhere: everywhere}} }}
				v := driveHTTPFor(t, f, rev, over, k).verdict(&k)
				require.Equal(t, want, v.Verdict, "%s %s: %s", over, rev, v.Reason)
			}
		}
	}
}

func TestChallengesAreRead(t *testing.T) {
	for h, want := range map[string]map[string]string{
		`Bearer`: {}, `bearer realm="x"`: {"realm": "x"}, `Basic realm="a", Bearer scope="b c", error=invalid_token`: {"scope": "b c", "error": "invalid_token"},
		`Bearer resource_metadata="https://a/b?c=d,e", scope="x"`: {"resource_metadata": "https://a/b?c=d,e", "scope": "x"},
		`Bearer a="q\"uote"`: {"a": `q"uote`}, `Bearer a="open`: {"a": "open"}, `Bearer a=1, Digest b=2`: {"a": "1"}, `Basic x`: nil, ``: nil, `Forbearer a=1`: nil,
	} {
		require.Equal(t, want, check.Challenge(h), h)
	}
}

func TestResourceCoversEndpoint(t *testing.T) {
	const at = "https://example.com/a/mcp"
	for resource, want := range map[string]bool{
		at: true, "https://example.com/a": true, "https://example.com/a/": true, "https://example.com": true, "HTTPS://EXAMPLE.com/a/mcp": true,
		"https://example.com/a/mc": false, "https://example.com/a/mcp#x": false, "http://example.com/a/mcp": false, "https://other.example/a/mcp": false, "": false, "a": false,
	} {
		require.Equal(t, want, check.Covers(resource, at), resource)
	}
}

func TestStrengthOfIDs(t *testing.T) {
	for id, weak := range map[string]bool{
		"7f1e8c52-93ab-4d0e-8a61-b2c4d6e80f11": false, "mcp-session-0b3f8c52-93ab-4d0e-8a61-b2c4d6e80f11": false, "thCdkFtUEOHzHup9YLESSLVkt9lu6jKUxrttTp1OLfE": false,
		"01ARZ3NDEKTSV4RRFFQ69G5FAV": false, "V1StGXR8_Z5jdHi6B-myT": false, "1": true, "session-17": true, "b7c1de09f2a84c55": true, "": true,
	} {
		require.Equal(t, weak, check.Bits(id) < 100, "%s: %v", id, check.Bits(id))
	}
	require.True(t, check.Follows("a-0009", "a-0010"))
	require.True(t, check.Follows("00ff", "0100"))
	require.False(t, check.Follows("7f1e8c52", "93ab4d0e"))
	require.False(t, check.Follows("b", "a"))
	require.False(t, check.Follows("a", "ab"))
}

// httpSteps are the kinds of steps that the probes make which there are over
// HTTP alone, by the names of the probes.
func httpSteps(t *testing.T) map[string]map[string]bool {
	t.Helper()
	made := map[string]map[string]bool{}
	for _, name := range []string{"everything", "old transport", "protected"} {
		g := goodServers[name]
		for _, rev := range check.Revisions() {
			if g.revs != nil && !slices.Contains(g.revs, rev) || g.target.over == "" && rev == "2024-11-05" {
				continue
			}
			probes := check.Probes()
			for i, p := range probes {
				if len(p.Transports) == 0 {
					continue
				}
				probes[i].Run = func(d *check.Driver) {
					n := 0
					d.View(func(t *check.Trace) { n = len(t.Steps()) })
					p.Run(d)
					d.View(func(t *check.Trace) {
						for _, s := range t.Steps()[n:] {
							if made[p.Name] == nil {
								made[p.Name] = map[string]bool{}
							}
							kind, _, _ := strings.Cut(s.Name, "/")
							made[p.Name][kind] = true
						}
					})
				}
			}
			driveHTTP(t, g.http(), g.target, rev, false, probes)
		}
	}
	return made
}

// TestRefusedAnywayIsNoFaultOfAHeader holds that what a server refuses without
// an odd header as well is not put down to that header.
func TestRefusedAnywayIsNoFaultOfAHeader(t *testing.T) {
	refusing := checktest.Server{Output: func(_ *conn, r *request, a string) string {
		if r != nil && (r.Method == "resources/read" || r.Method == "tools/list") {
			return errorLine(r, -32603, "no")
		}
		return a
	}}
	d := driveHTTP(t, &checktest.HTTP{Server: refusing}, target{}, "2026-07-28", false, check.Probes())
	all := d.verdicts()
	for _, id := range []string{"header-param-unknown", "http-session-id-ignored", "http-last-event-id-ignored"} {
		require.Equal(t, result.Pass, all[id].Verdict, "%s: %s; %s", id, all[id].Observed, all[id].Reason)
	}
}
