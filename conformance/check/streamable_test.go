package check_test

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

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
	"objects":    {http: func() *checktest.HTTP { return &checktest.HTTP{JSON: true} }},
	"streams":    {http: func() *checktest.HTTP { return &checktest.HTTP{Streams: true} }, revs: []string{"2026-07-28"}},
	"polling":    {http: func() *checktest.HTTP { return &checktest.HTTP{Polls: true} }, revs: []string{"2025-11-25"}},
	"no sessions": {http: func() *checktest.HTTP {
		return &checktest.HTTP{Stateless: true, JSON: true, Server: checktest.Server{Without: []string{"logging", "tasks"}}}
	}, revs: []string{"2025-03-26", "2025-06-18", "2026-07-28"}},
	"stateless only": {http: func() *checktest.HTTP {
		return &checktest.HTTP{Server: checktest.Server{Versions: []string{"2026-07-28"}}}
	}},
	"nothing": {http: func() *checktest.HTTP {
		return &checktest.HTTP{NoSSE: true, Server: checktest.Server{Without: []string{"tools", "prompts", "resources", "completions", "logging", "tasks"}}}
	}},
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
	for name, g := range goodServers {
		for _, rev := range check.Revisions() {
			h := g.http()
			if !h.Server.Speaks(rev) || g.revs != nil && !slices.Contains(g.revs, rev) || g.target.over == "" && rev == "2024-11-05" {
				continue
			}
			t.Run(name+" "+rev, func(t *testing.T) {
				began := time.Now()
				d := driveHTTP(t, h, g.target, rev, true, check.Probes())
				t.Log("driven in", time.Since(began))
				for id, v := range d.verdicts() {
					passed[id] = passed[id] || v.Verdict == result.Pass
					if !slices.Contains([]result.Verdict{result.Pass, result.NotObserved, result.NotApplicable}, v.Verdict) {
						t.Errorf("%s %s: want %s, got %s; %s\n%s", v.Verdict, id, v.Expected, v.Observed, v.Reason, frames(v))
					}
				}
				t.Log("judged in", time.Since(began))
			})
		}
	}
	for _, k := range check.All() {
		if overHTTPOnly(&k) && !passed[k.ID] {
			t.Errorf("%s passes on a good server in no revision", k.ID)
		}
	}
}

// overStdio are the checks that say something over stdio.
func overStdio() []check.Check {
	return slices.DeleteFunc(check.All(), func(k check.Check) bool { return overHTTPOnly(&k) })
}
