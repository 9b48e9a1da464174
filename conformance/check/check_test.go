package check_test

import (
	"context"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// over is what the servers in memory are reached over.
const over = catalogue.Stdio

// A mutant is a server that breaks the rule of one check.
type mutant struct {
	// rev is where it is judged; "" is the newest revision that the check
	// applies to.
	rev    string
	server checktest.Server
	// warn says that the finding is a warning though the requirement is not:
	// the check tolerates this breach.
	warn bool
}

func launcher(s checktest.Server) check.Launcher {
	return check.Pipe{Serve: func(ctx context.Context, in io.Reader, out, errs io.Writer) check.Exit {
		return check.Exit{Code: s.Serve(ctx, in, out, errs)}
	}}
}

// driven is what a server was heard to say in one revision.
type driven struct {
	rev            string
	facts          *check.Facts
	traces, offers []*check.Trace
	probes         map[string][]string // names of probes by the steps that they made
	parts          []piece             // of the good run
}

// drive drives a server in fake time as a run does.
func drive(t *testing.T, s checktest.Server, rev string) driven {
	t.Helper()
	out := driven{rev: rev, probes: map[string][]string{}}
	synctest.Test(t, func(t *testing.T) {
		x, err := check.Explore(t.Context(), launcher(s), check.Limits{})
		require.NoError(t, err)
		out.offers = x.Traces
	})
	return out.with(t, s, check.Probes())
}

// with drives a server by these probes.
func (d driven) with(t *testing.T, s checktest.Server, probes []check.Probe) driven {
	t.Helper()
	for i := range probes {
		p := probes[i]
		probes[i].Run = func(dr *check.Driver) {
			n := 0
			dr.View(func(t *check.Trace) { n = len(t.Steps()) })
			p.Run(dr)
			dr.View(func(t *check.Trace) {
				for _, s := range t.Steps()[n:] {
					d.probes[s.Name] = append(d.probes[s.Name], p.Name)
				}
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var err error
		d.traces, err = check.Drive(t.Context(), launcher(s), check.DriveOptions{Revision: d.rev, Probes: probes})
		require.NoError(t, err)
	})
	d.facts = check.FactsOf(d.rev, d.traces)
	return d
}

func (d driven) verdict(k *check.Check) result.Check {
	return k.Verdict(d.rev, over, d.facts, d.traces, d.offers)
}

// judge gives the verdicts on a server by check id.
func judge(t *testing.T, s checktest.Server, rev string) map[string]result.Check {
	t.Helper()
	return drive(t, s, rev).verdicts()
}

func (d driven) verdicts() map[string]result.Check {
	out := map[string]result.Check{}
	for _, k := range check.All() {
		if k.Applies(d.rev, over) {
			out[k.ID] = d.verdict(&k)
		}
	}
	return out
}

var (
	goodMu   sync.Mutex
	goodRuns = map[string]driven{}
)

// good is the run of the good server in a revision. It is made once.
func good(t *testing.T, rev string) driven {
	t.Helper()
	goodMu.Lock()
	defer goodMu.Unlock()
	if _, ok := goodRuns[rev]; !ok {
		d := drive(t, checktest.Server{}, rev)
		d.parts = d.pieces()
		goodRuns[rev] = d
	}
	return goodRuns[rev]
}

// piece is one step of a run with the opening of its session.
type piece struct {
	step  string
	trace *check.Trace
}

func (d driven) pieces() []piece {
	var out []piece
	for _, t := range d.traces {
		var open, part []transcript.Event
		step := ""
		end := func() {
			switch step {
			case "":
			case "open":
				open = part
			default:
				out = append(out, piece{step, check.NewTrace(&transcript.Recording{Fields: t.Recording.Fields, Events: slices.Concat(open, part)})})
			}
		}
		for _, e := range t.Recording.Events {
			if e.Dir == transcript.Note && e.Kind == transcript.KindProbe {
				end()
				step, part = string(e.Data), nil
			}
			part = append(part, e)
		}
		end()
	}
	return out
}

// wants finds the probes that a check needs: those that list what the server
// has, those whose steps it asks for (it is told of none first, and then of
// those it misses), and, where it asks for none, some of those in whose lines
// it sees something.
func (d driven) wants(k *check.Check) []check.Probe {
	names := map[string]bool{"unknown notification": true} // needs nothing: it opens the session
	add := func(step string) {
		for made, probes := range d.probes {
			if strings.HasPrefix(made, step) {
				for _, p := range probes {
					names[p] = true
				}
			}
		}
	}
	for _, l := range check.Lists {
		add(l.Method)
	}
	base := len(names)
	rec := &transcript.Recording{}
	for range 50 {
		step, missed := strings.CutSuffix(k.Verdict(d.rev, over, d.facts, []*check.Trace{check.NewTrace(rec)}, nil).Reason, " was not tried")
		if !missed {
			break
		}
		add(step)
		rec.Events = append(rec.Events, transcript.Event{Dir: transcript.Note, Kind: transcript.KindProbe, Data: []byte(step)})
	}
	if len(names) == base {
		for _, p := range d.parts {
			if len(names) < base+8 && k.Verdict(d.rev, over, d.facts, []*check.Trace{p.trace}, nil).Verdict == result.Pass {
				add(p.step)
			}
		}
	}
	return slices.DeleteFunc(check.Probes(), func(p check.Probe) bool { return !names[p.Name] })
}

// TestGoodServerHasNoFindings holds that checks stay quiet where there is
// nothing to tell, in each revision, and that each of them has something to
// see in one.
func TestGoodServerHasNoFindings(t *testing.T) {
	passed := map[string]bool{}
	for name, s := range map[string]checktest.Server{
		"everything":  {},
		"modern only": {Versions: []string{"2026-07-28"}},
		"no tasks":    {Without: []string{"tasks"}},
		"nothing":     {Without: []string{"tools", "prompts", "resources", "completions", "logging", "tasks"}},
	} {
		for _, rev := range check.Revisions() {
			if !s.Speaks(rev) {
				continue
			}
			t.Run(name+" "+rev, func(t *testing.T) {
				d := good(t, rev)
				if name != "everything" {
					d = drive(t, s, rev)
				}
				for id, v := range d.verdicts() {
					require.Contains(t, []result.Verdict{result.Pass, result.NotObserved, result.NotApplicable}, v.Verdict, "%s: want %s, got %s; %s\n%s", id, v.Expected, v.Observed, v.Reason, frames(v))
					passed[id] = passed[id] || v.Verdict == result.Pass
				}
			})
		}
	}
	for _, k := range overStdio() {
		require.True(t, passed[k.ID], "%s passes on the good server in no revision", k.ID)
	}
}

// TestServersThatRefuseCallsHaveNoFindings holds that a server may refuse to
// call its tools, and that no check takes its reason for another.
func TestServersThatRefuseCallsHaveNoFindings(t *testing.T) {
	listed := regexp.MustCompile(`"name":"(hello|add|picture|work|slow|ask|form|visit|job|long-job)"`)
	// The tool slow is answered past Output.
	slow := func(c *conn, line []byte) bool {
		v, err := wire.ParseRaw(line)
		if name, _ := v.Get("params").Get("name").Str(); err != nil || name != "slow" || v.Get("id") == nil {
			return false
		}
		c.Line(`{"jsonrpc":"2.0","id":` + string(v.Get("id")) + `,"error":{"code":-32603,"message":"not logged in"}}`)
		return true
	}
	refused := func(answer func(r *request) string) func(c *conn, r *request, a string) string {
		return func(c *conn, r *request, a string) string {
			// What is wrong with the call comes first, as ever.
			if r == nil || r.Method != "tools/call" || !listed.MatchString(string(r.Params)) || wire.Raw(a).Get("result") == nil {
				return a
			}
			return answer(r)
		}
	}
	cases := 0
	for name, fn := range map[string]func(c *conn, r *request, a string) string{
		"not logged in": refused(func(r *request) string { return errorLine(r, -32603, "not logged in") }),
		"not logged in, which comes first": func(_ *conn, r *request, a string) string {
			if r != nil && r.Method == "tools/call" && listed.MatchString(string(r.Params)) {
				return errorLine(r, 4001, "not logged in")
			}
			return a
		},
		"unknown account":   refused(func(r *request) string { return errorLine(r, -32602, "unknown account") }),
		"a code of its own": refused(func(r *request) string { return errorLine(r, 4001, "not logged in") }),
		"needs elicitation": func(c *conn, r *request, a string) string {
			if r != nil && r.Method == "initialize" {
				c.State["elicitation"] = r.Params.Get("capabilities").Get("elicitation") != nil
			}
			if c.State["elicitation"] == true {
				return a
			}
			return refused(func(r *request) string { return errorLine(r, -32600, "this client cannot be asked") })(c, r, a)
		},
		"a tool error": refused(func(r *request) string {
			return `{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":{"content":[{"type":"text","text":"not logged in"}],"isError":true}}`
		}),
	} {
		for _, rev := range []string{"2025-06-18", "2025-11-25", "2025-11-25 with tasks", modernRevision} {
			if cases++; cases%raced != 0 {
				continue
			}
			if name == "a tool error" && (strings.HasSuffix(rev, "tasks") || rev == modernRevision) {
				continue // such a result would break other rules there
			}
			t.Run(name+" "+rev, func(t *testing.T) {
				t.Parallel()
				s := checktest.Server{Without: []string{"tasks"}, Input: slow, Output: fn}
				rev, _, tasks := strings.Cut(rev, " ")
				if tasks {
					s.Without = nil
				}
				d := drive(t, s, rev)
				for id, v := range d.verdicts() {
					if v.Verdict == result.Warn && id == "tool-failure-as-result" {
						continue // an internal error is what a SHOULD speaks of
					}
					if !slices.Contains([]result.Verdict{result.Pass, result.NotObserved, result.NotApplicable}, v.Verdict) {
						t.Errorf("%s %s: want %s, got %s; %s\n%s", v.Verdict, id, v.Expected, v.Observed, v.Reason, frames(v))
					}
				}
				if v, ok := d.verdicts()["task-member-ignored"]; ok && !tasks && name == "not logged in" {
					require.Equal(t, result.NotObserved, v.Verdict)
					require.Equal(t, "the same call gives no result without the task member either", v.Reason)
				}
			})
		}
	}
}

// TestEveryCheckSeesItsMutant holds that there is a server for each check
// which the check finds wrong.
func TestEveryCheckSeesItsMutant(t *testing.T) {
	all := mutants()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if i%raced != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := all[name]
			i := slices.IndexFunc(check.All(), func(k check.Check) bool { return k.ID == baseOf(name) })
			require.GreaterOrEqual(t, i, 0, "no such check")
			k := check.All()[i]
			rev := m.rev
			if rev == "" {
				for _, r := range check.Revisions() {
					if k.Applies(r, over) {
						rev = r
					}
				}
			}
			require.True(t, k.Applies(rev, over), "the check does not apply to %s", rev)
			want := result.Fail
			if m.warn || k.Warns(rev, over) {
				want = result.Warn
			}
			// What the check sees after its own probes it would see after all
			// of them. A breach that takes others to show is looked for by all.
			v := driven{rev: rev, probes: map[string][]string{}}.with(t, m.server, good(t, rev).wants(&k)).verdict(&k)
			if v.Verdict != want {
				v = drive(t, m.server, rev).verdict(&k)
			}
			require.Equal(t, want, v.Verdict, "want %s, got %s; %s\n%s", v.Expected, v.Observed, v.Reason, frames(v))
			require.NotEmpty(t, v.Expected)
			require.NotEmpty(t, v.Observed)
		})
	}
}

// TestEveryCheckHasAMutant holds that no check goes without proof.
func TestEveryCheckHasAMutant(t *testing.T) {
	all := mutants()
	for _, k := range check.All() {
		if !slices.ContainsFunc(check.Revisions(), func(rev string) bool { return k.Applies(rev, over) }) {
			continue // what shows over HTTP alone has broken servers of its own
		}
		_, ok := all[k.ID]
		require.True(t, ok, "no mutant breaks the rule of %s", k.ID)
	}
}

// TestChecksAreWellFormed holds the rules of the registry.
func TestChecksAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range check.All() {
		require.Regexp(t, `^[a-z0-9]+(-[a-z0-9]+)*$`, k.ID)
		require.False(t, seen[k.ID], "%s stands twice", k.ID)
		seen[k.ID] = true
		require.NotEmpty(t, k.Title, k.ID)
		require.NotEmpty(t, k.Layer, k.ID)
		require.NotNil(t, k.Judge, k.ID)
		for _, id := range k.Requirements {
			_, ok := catalogue.Lookup(id)
			require.True(t, ok, "%s: %s is not in the catalogue", k.ID, id)
		}
		applies := false
		for _, rev := range check.Revisions() {
			for _, over := range []catalogue.Transport{catalogue.Stdio, catalogue.HTTP, catalogue.SSE} {
				warns := map[bool]bool{}
				for _, r := range k.Bound(rev, over) {
					applies = true
					warns[r.Warns()] = true
				}
				require.LessOrEqual(t, len(warns), 1, "%s: its requirements weigh differently in %s over %s: split it", k.ID, rev, over)
			}
		}
		require.True(t, applies, "%s applies to no revision: are its requirements in the catalogue?", k.ID)
	}
	probes := map[string]bool{}
	for _, p := range check.Probes() {
		require.False(t, probes[p.Name], "probe %s stands twice", p.Name)
		probes[p.Name] = true
	}
}

func baseOf(name string) string {
	for i := range name {
		if name[i] == '/' {
			return name[:i]
		}
	}
	return name
}

func frames(v result.Check) string {
	s := ""
	for _, f := range v.Frames {
		if f.Here {
			s += "* "
		} else {
			s += "  "
		}
		s += f.Text + "\n"
	}
	return s
}
