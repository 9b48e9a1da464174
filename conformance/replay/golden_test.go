package replay

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/match"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/conformance/validate"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

const goldenDir = "../../testdata/transcripts"

// fieldScenario names what a client under test is told to do.
const fieldScenario = "scenario"

// goldenFile is one golden transcript: testdata/transcripts/<revision>/<area>/<rule>.wire.
type goldenFile struct {
	name     string // 2025-11-25/tools/unknown-tool
	revision string
	text     []byte
	rec      *transcript.Recording
}

func goldens(t *testing.T) []goldenFile {
	t.Helper()
	var gs []goldenFile
	err := filepath.WalkDir(goldenDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(goldenDir, path)
		require.NoError(t, err)
		name, ok := strings.CutSuffix(filepath.ToSlash(name), ".wire")
		require.True(t, ok, "%s is no transcript", path)
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		rec, err := transcript.Parse(b)
		require.NoError(t, err, name)
		rev, _, _ := strings.Cut(name, "/")
		gs = append(gs, goldenFile{name, rev, b, rec})
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, gs)
	return gs
}

func TestGoldenTranscriptsAreWellFormed(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			b, err := g.rec.MarshalText()
			require.NoError(t, err)
			require.Empty(t, gocmp.Diff(string(g.text), string(b)), "not in canonical form")
			require.Len(t, strings.Split(g.name, "/"), 3, "want <revision>/<area>/<rule>.wire")
			require.True(t, revision.Known(g.revision))
			require.Equal(t, g.revision, g.rec.Get(transcript.FieldRevision))
			require.NotEmpty(t, g.rec.Fields[0].Before, "say what it shows in a comment at the top")
			reqs := g.rec.All(transcript.FieldRequirement)
			require.NotEmpty(t, reqs)
			for _, id := range reqs {
				r, ok := catalogue.Lookup(id)
				require.True(t, ok, "no requirement %s", id)
				require.True(t, r.Applies(g.revision, ""), "%s does not hold in %s", id, g.revision)
			}
			side := g.rec.Get(transcript.FieldSide)
			require.Contains(t, []string{"server", "client", "both"}, side)
			require.Equal(t, side != "server", g.rec.Get(fieldScenario) != "", "a scenario is for clients, and they need one")
		})
	}
}

// TestGoldenTranscriptsKeepTheSchema holds that a golden line of a side that
// is to keep the rules keeps the schema of its revision. What a client sends
// to provoke a server is free.
func TestGoldenTranscriptsKeepTheSchema(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			p, err := validate.For(g.revision)
			require.NoError(t, err)
			asked := map[transcript.Dir]map[string]string{transcript.ToServer: {}, transcript.ToClient: {}}
			bound := match.Bindings{}
			for i := range g.rec.Events {
				e := &g.rec.Events[i]
				if !e.Message() {
					continue
				}
				v, err := wire.ParseRaw(e.Data)
				if err != nil {
					continue
				}
				pat, err := match.Parse(v)
				require.NoError(t, err)
				filled, err := pat.Fill(bound, nil)
				require.NoError(t, err)
				keeps := e.Dir == transcript.ToClient || g.rec.Get(transcript.FieldSide) != "server"
				for _, v := range parts(filled) {
					switch m := look(v, false); m.class {
					case request, notification:
						if m.class == request {
							asked[e.Dir][m.id] = m.method
						}
						if keeps {
							require.NoError(t, p.Message(m.method, v), "%s", v)
						}
					case response:
						method := asked[e.Dir.Reverse()][m.id]
						if result := v.Get("result"); keeps && result != nil && method != "" {
							require.NoError(t, p.Result(method, result), "%s: %s", method, v)
						}
					}
				}
			}
		})
	}
}

// TestGoldenTranscriptsPlayThemselves plays the two sides of each transcript
// against each other: what one sends for a placeholder, the other accepts.
func TestGoldenTranscriptsPlayThemselves(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			if !Fits(g.rec, "stdio") {
				return
			}
			synctest.Test(t, func(t *testing.T) {
				here, there := Pipe()
				type end struct {
					out *Outcome
					err error
				}
				client := make(chan end)
				go func() {
					out, err := Server(t.Context(), g.rec, Stream(here))
					client <- end{out, err}
				}()
				server, err := Client(t.Context(), g.rec, Stream(there))
				require.NoError(t, err)
				c := <-client
				require.NoError(t, c.err)
				require.NoError(t, server.Err())
				require.NoError(t, c.out.Err())
				require.Zero(t, server.Unplayed+c.out.Unplayed)
			})
		})
	}
}

// subject is an implementation that the golden transcripts are played to.
type subject struct {
	name      string
	transport string                  // "" is stdio
	only      func(g goldenFile) bool // those that it is played; nil for all
	revisions []string                // that it speaks; transcripts of others are not for it
	// start starts it for one transcript. A server gets "" for the scenario.
	start func(t *testing.T, rev, scenario string) Link
	// again, when set, starts it for the recording of a transcript that it has
	// played: that plays too, whatever the subject chooses anew.
	again func(t *testing.T, rev string) Link
	// except names transcripts that it cannot play, each with the reason. One
	// that it can play after all is an error.
	except map[string]string
}

func TestGoldenTranscriptsAgainstServers(t *testing.T) {
	playGoldens(t, servers, "server", Options.Server)
}

func TestGoldenTranscriptsAgainstClients(t *testing.T) {
	playGoldens(t, clients, "client", Options.Client)
}

func playGoldens(t *testing.T, subjects []subject, side string, play playFunc) {
	if len(subjects) == 0 {
		t.Skipf("no %s is named in the table of subjects: nothing was played", side)
	}
	all := goldens(t)
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			played := map[string]bool{}
			for _, g := range all {
				if !slices.Contains([]string{side, "both"}, g.rec.Get(transcript.FieldSide)) || !slices.Contains(s.revisions, g.revision) {
					continue
				}
				if !Fits(g.rec, cmp.Or(s.transport, "stdio")) || s.only != nil && !s.only(g) {
					continue
				}
				played[g.name] = true
				t.Run(g.name, func(t *testing.T) {
					t.Parallel()
					out, err := play(Options{}, t.Context(), g.rec, s.start(t, g.revision, g.rec.Get(fieldScenario)))
					if reason := s.except[g.name]; reason != "" {
						require.True(t, err != nil || out.Err() != nil, "it plays now: take it off the exceptions")
						t.Logf("an exception: %s", reason)
						return
					}
					if errors.Is(err, ErrTransport) {
						t.Logf("not played: %v", err)
						return
					}
					require.NoError(t, err)
					require.NoError(t, out.Err(), "what happened:\n%s", out.Recording)
					if s.again != nil {
						again(t, out.Recording, s.again(t, g.revision))
					}
					if s.transport == "" { // the recording of another one has no heads
						judged(t, out.Recording, catalogue.Side(side))
					}
				})
			}
			require.NotEmpty(t, played)
			for name := range s.except {
				require.True(t, played[name], "the exception %s is for no transcript", name)
			}
		})
	}
}

// judged wants a recording to show nothing wrong with one side: what a golden
// transcript shows is right, and so is the peer that keeps it.
func judged(t *testing.T, rec *transcript.Recording, side catalogue.Side) {
	t.Helper()
	rep, err := conformance.Lint([]*transcript.Recording{rec}, conformance.LintOptions{Side: side})
	require.NoError(t, err)
	for _, c := range rep.Results {
		switch c.Verdict {
		case result.Fail, result.Warn, result.Error:
			t.Errorf("%s %s: want %s, got %s %s", c.Verdict, c.ID, c.Expected, c.Observed, c.Reason)
		}
	}
}

// areasWithout are areas of the catalogue that no transcript of one message
// after the other can show, each with the reason.
var areasWithout = map[string]string{
	"auth":      "it takes an authorization server beside the two",
	"timeout":   "it takes time that passes, which a transcript does not say",
	"transport": "it is about transports of one's own",
}

// areasWithoutIn are the same for some revisions.
var areasWithoutIn = map[string]string{
	"2025-03-26 sse":    "it is about clients that try two transports in turn",
	"2025-06-18 sse":    "it is about clients that try two transports in turn",
	"2025-11-25 sse":    "it is about clients that try two transports in turn",
	"2026-07-28 schema": "it is about what is not done with a schema: to follow it into the network, or without end",
}

// TestGoldenTranscriptsShowEachArea holds that each area of each revision of
// which anything can be seen on the wire has a transcript.
func TestGoldenTranscriptsShowEachArea(t *testing.T) {
	shown := map[string]bool{}
	for _, g := range goldens(t) {
		for _, id := range g.rec.All(transcript.FieldRequirement) {
			r, _ := catalogue.Lookup(id)
			shown[g.revision+" "+r.Area()] = true
		}
	}
	for _, rev := range revision.All() {
		areas := map[string]bool{}
		for r := range catalogue.All() {
			if r.Applies(rev, "") && (r.Observe == catalogue.Active || r.Observe == catalogue.Passive) {
				areas[r.Area()] = true
			}
		}
		for area := range areas {
			at := rev + " " + area
			reason := cmp.Or(areasWithout[area], areasWithoutIn[at])
			switch {
			case shown[at] && reason != "":
				t.Errorf("%s is shown: take it off the exceptions", at)
			case !shown[at] && reason == "":
				t.Errorf("no transcript shows %s", at)
			}
		}
	}
}

// again plays what was recorded to a new server.
func again(t *testing.T, rec *transcript.Recording, l Link) {
	t.Helper()
	require.NotEmpty(t, rec.Get(transcript.FieldRecorded))
	out, err := Options{}.Server(t.Context(), rec, l)
	require.NoError(t, err)
	require.NoError(t, out.Err(), "recorded:\n%s\nwhat happened:\n%s", rec, out.Recording)
}
