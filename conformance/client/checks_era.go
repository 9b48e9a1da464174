package client

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// start is one run of a client: what it sent of both eras, in order, with what
// the server answered.
type start struct {
	view    *view
	lines   []*check.Frame
	answers map[*check.Frame]*check.Frame
}

// starts takes the recordings of scripts apart by the runs of the client,
// whatever the era of what it said and however many servers it started in each:
// one may be there to find out the era, and another one to be spoken to.
func starts(c *check.Case, scripts ...string) []*start {
	var out []*start
	for _, v := range views(c, scripts...) {
		other := viewOf(v.trace, !c.Modern())
		answers := map[*check.Frame]*check.Frame{}
		for _, w := range []*view{v, other} {
			for _, k := range w.talks {
				for f, a := range k.answers {
					answers[f] = a
				}
			}
		}
		var marks []int
		for i, e := range v.trace.Recording.Events {
			if e.Dir == transcript.Note && e.Kind == transcript.KindStart {
				marks = append(marks, i)
			}
		}
		by := map[int]*start{}
		for _, f := range v.lines {
			n, _ := slices.BinarySearch(marks, f.Index)
			s := by[n]
			if s == nil {
				s = &start{view: v, answers: answers}
				by[n] = s
				out = append(out, s)
			}
			s.lines = append(s.lines, members(f)...)
		}
		// The two views make frames of their own for the members of batches
		// only; single messages are the same.
	}
	return out
}

// requests are those of the client, in order.
func (s *start) requests() []*check.Frame {
	var out []*check.Frame
	for _, f := range s.lines {
		if !f.FromServer && f.Kind == check.KindRequest {
			out = append(out, f)
		}
	}
	return out
}

// handshake is the first initialize of the older era after an event.
func (s *start) handshake(after int) *check.Frame {
	for _, f := range s.requests() {
		if f.Index > after && f.Method == initialize && !stateless(f) {
			return f
		}
	}
	return nil
}

// dual reports whether the client speaks both eras, as far as the recordings of
// any script show: it sent requests of both.
func dual(c *check.Case) bool {
	old, young := false, false
	for _, s := range starts(c) {
		for _, f := range s.requests() {
			old = old || f.Method == initialize && !stateless(f)
			young = young || stateless(f)
		}
	}
	for _, t := range c.Offers {
		for _, f := range t.Frames() {
			if !f.FromServer && f.Kind == check.KindRequest {
				old = old || f.Method == initialize && !stateless(f)
				young = young || stateless(f)
			}
		}
	}
	return old && young
}

// eraChecks are about versions and eras of the stateless revisions, and what
// belongs to them.
func eraChecks() []check.Check {
	return []check.Check{
		{
			ID: "client-probes-first", Title: "over stdio the client asks for the versions before anything else", Layer: check.Protocol,
			Requirements: []string{"modern/era-client-stdio-probe", "modern/era-client-stdio-modern-only-probe"},
			Judge: func(c *check.Case) {
				for _, s := range starts(c, Good) {
					reqs := s.requests()
					if !slices.ContainsFunc(reqs, stateless) {
						continue
					}
					want(c, reqs[0], reqs[0].Method == discover, "server/discover as the first request", reqs[0].Method)
				}
			},
		},
		{
			ID: "client-modern-error-no-fallback", Title: "an error of a stateless server is not taken for a server of the older era", Layer: check.Protocol,
			Requirements: []string{"modern/era-client-modern-error-no-fallback"},
			Judge:        func(c *check.Case) { noFallback(c, scriptRefusedOnce) },
		},
		{
			ID: "client-http-reads-400", Title: "the body of a status 400 is read before the client falls back", Layer: check.Protocol,
			Requirements: []string{"modern/era-client-http-inspects-400"},
			Judge:        func(c *check.Case) { noFallback(c, scriptModern400) },
		},
		{
			ID: "client-falls-back-any-error", Title: "any error leads a client of both eras to initialize", Layer: check.Protocol,
			Requirements: []string{"modern/era-client-fallback-any-error"},
			Judge:        func(c *check.Case) { fallback(c, scriptOldErrors) },
		},
		{
			ID: "client-falls-back-timeout", Title: "a server that does not answer leads a client of both eras to initialize", Layer: check.Protocol,
			Requirements: []string{"modern/era-client-fallback-timeout"}, Soft: true,
			Judge: func(c *check.Case) {
				for _, s := range starts(c, scriptMute) {
					for _, f := range s.requests() {
						if !stateless(f) || s.answers[f] != nil {
							continue
						}
						switch {
						case s.handshake(f.Index) != nil:
							c.Saw()
						case s.view.why == OverExit && dual(c):
							c.Broken(f, "initialize after a while, as the client speaks both eras", "the end of the client")
						default:
							c.NotObserved("the client still waited when the play was over; how long it may is its own choice")
						}
						break
					}
				}
			},
		},
		{
			ID: "client-http-falls-back", Title: "a status 400 without an error of the stateless era leads to initialize", Layer: check.Protocol,
			Requirements: []string{"modern/era-client-http-falls-back"},
			Judge:        func(c *check.Case) { fallback(c, scriptOld400) },
		},
		{
			ID: "client-remembers-era", Title: "the era of a server is not asked for again", Layer: check.Protocol,
			Requirements: []string{"modern/era-client-caches-era"},
			Judge: func(c *check.Case) {
				for _, s := range starts(c, scriptOldErrors, scriptOld400) {
					open := s.handshake(-1)
					if open == nil || !s.answers[open].OK() {
						continue
					}
					for _, f := range s.requests() {
						if f.Index > s.answers[open].Index && f.Method != initialize {
							want(c, f, !stateless(f), "a request of the older era, as the server was found to speak", f.Method+" of the stateless one")
						}
					}
				}
			},
		},
		{
			ID: "client-version-retried", Title: "after an error over the version the client tries one that both know", Layer: check.Protocol,
			Requirements: []string{"modern/version-client-retries"},
			Judge: func(c *check.Case) {
				for _, s := range starts(c, scriptRefusedOnce) {
					for _, f := range s.requests() {
						if code, _ := s.answers[f].Code(); code != -32022 {
							continue
						}
						again := slices.ContainsFunc(s.requests(), func(g *check.Frame) bool {
							return g.Index > s.answers[f].Index && str(g.Params.Get("_meta").Get(metaVersion)) == c.Revision
						})
						want(c, f, again, "another request with version "+c.Revision+", which the server lists", "none")
						break
					}
				}
			},
		},
		{
			ID: "client-version-no-overlap", Title: "without a common version the client stops", Layer: check.Protocol,
			Requirements: []string{"modern/version-client-stops-without-overlap"},
			Judge: func(c *check.Case) {
				for _, s := range starts(c, scriptNoOverlap) {
					reqs := s.requests()
					if len(reqs) == 0 || !stateless(reqs[0]) {
						continue
					}
					const most = 6 // as many as its versions, say
					switch open := s.handshake(-1); {
					case open != nil:
						c.Broken(open, "no request after the error", "initialize, after an error by which the server speaks "+unknownVersion+" only")
					case len(reqs) > most:
						c.Broken(reqs[most], "the end after the error", strconv.Itoa(len(reqs))+" requests")
					default:
						c.Saw()
					}
				}
			},
		},
		{
			ID: "client-draft-code", Title: "codes of older drafts have no meaning", Layer: check.Protocol,
			Requirements: []string{"modern/error-legacy-range-no-meaning", "modern/error-mcp-codes-meaning"}, Soft: true,
			Judge: func(c *check.Case) {
				for _, s := range starts(c, scriptDraftCode) {
					for _, f := range s.requests() {
						if code, _ := s.answers[f].Code(); code != -32004 {
							continue
						}
						again := slices.IndexFunc(s.requests(), func(g *check.Frame) bool {
							return g.Index > s.answers[f].Index && stateless(g) && g.Method == f.Method
						})
						if again >= 0 {
							c.Broken(s.requests()[again], "no retry, as the error is none over versions", "the same request again")
						} else {
							c.Saw()
						}
						break
					}
				}
			},
		},
		{
			ID: "client-name-no-influence", Title: "the name of the server changes nothing", Layer: check.Protocol,
			Requirements: []string{"modern/serverinfo-no-behaviour-change"},
			Judge: func(c *check.Case) {
				sequence := func(script string) (out []string, last *check.Frame) {
					for _, k := range talks(c, script) {
						for _, f := range k.requests("") {
							out = append(out, f.Method+" "+str(f.Params.Get("name"))+str(f.Params.Get("uri")))
							last = f
						}
					}
					slices.Sort(out) // requests at once come in any order
					return out, last
				}
				good, _ := sequence(Good)
				other, last := sequence(scriptOtherName)
				if len(good) == 0 || len(other) == 0 {
					c.NotObserved("the client sent nothing")
					return
				}
				want(c, last, slices.Equal(good, other), "the same requests as to a server of another name: "+strings.Join(good, ", "), strings.Join(other, ", "))
			},
		},
		{
			ID: "client-patterns", Title: "a result that wants the request again is followed", Layer: check.Protocol,
			Requirements: []string{"modern/base-patterns-all-supported"}, Soft: true,
			Judge: func(c *check.Case) {
				// A client may leave to others what wants input; one that goes on
				// elsewhere goes on here.
				follows := false
				for _, k := range talks(c, scriptRounds, scriptAllRounds, scriptStateOnly) {
					for _, r := range k.rounds() {
						follows = follows || r.retry != nil
					}
				}
				if !follows {
					c.NotObserved("the client leaves to others what wants input")
				}
				for _, k := range talks(c, scriptStateOnly) {
					for _, r := range k.rounds() {
						switch {
						case r.retry != nil:
							c.Saw()
						case !follows, k.view.why != OverExit, k.alive(r.answer):
						default:
							c.Broken(r.answer, "the request again with the requestState", "the end of the client")
						}
					}
				}
			},
		},
	}
}

// noFallback judges that no initialize follows an error of the stateless era.
func noFallback(c *check.Case, script string) {
	for _, s := range starts(c, script) {
		for _, f := range s.requests() {
			a := s.answers[f]
			if !stateless(f) || !a.Failed() {
				continue
			}
			if open := s.handshake(a.Index); open != nil {
				c.Broken(open, "a request of the stateless era, or the end", "initialize, after the error "+show(a.Error))
			} else {
				c.Saw()
			}
			break
		}
	}
}

// fallback judges that a client of both eras made the handshake after each of
// several refusals; of a client that never does nothing is known.
func fallback(c *check.Case, script string) {
	var left []*check.Frame
	some := 0
	for _, s := range starts(c, script) {
		reqs := s.requests()
		switch {
		case len(reqs) == 0 || !stateless(reqs[0]):
		case s.handshake(reqs[0].Index) != nil:
			some++
		default:
			left = append(left, reqs[0])
		}
	}
	switch {
	case some == 0 && !dual(c):
		c.NotObserved("the client does not speak the older era")
	case len(left) > 0:
		c.Broken(left[0], "initialize, as after other refusals", "none")
	case some > 0:
		c.Saw()
	}
}

// stdioChecks are about lines, processes and their ends.
func stdioChecks() []check.Check {
	return []check.Check{
		{
			ID: "client-lines", Title: "each line to the server is one message", Layer: check.Bytes,
			Requirements: []string{"legacy/stdio-newline-framing", "modern/stdio-no-embedded-newline"},
			Judge: func(c *check.Case) {
				for _, v := range views(c) {
					for _, f := range v.lines {
						if !f.FromServer && f.Kind != check.KindBlank && !v.partial(f) {
							want(c, f, f.Kind != check.KindText, "one JSON value on a line", "a line that is none: "+f.Why)
						}
					}
				}
			},
		},
		{
			ID: "client-line-ended", Title: "each message ends with a newline", Layer: check.Bytes,
			Requirements: []string{"modern/stdio-newline-terminated"},
			Judge: func(c *check.Case) {
				for _, v := range views(c) {
					for _, f := range v.lines {
						if !f.FromServer {
							want(c, f, !v.partial(f), "a newline at the end of the message", "the end of the input")
						}
					}
				}
			},
		},
		{
			ID: "client-stdin-only", Title: "nothing but messages is written to the server", Layer: check.Bytes,
			Requirements: []string{"modern/stdio-stdin-only-mcp"},
			Judge: func(c *check.Case) {
				for _, v := range views(c) {
					for _, f := range v.lines {
						if !f.FromServer && !v.partial(f) {
							ok := f.Kind != check.KindText && f.Kind != check.KindScalar && f.Kind != check.KindBlank && f.Kind != check.KindOther
							want(c, f, ok, "a message", "a line that is none")
						}
					}
				}
			},
		},
		{
			ID: "client-no-oauth", Title: "no tokens are sent over stdio", Layer: check.Protocol,
			Requirements: []string{"legacy/stdio-no-oauth"},
			Judge: func(c *check.Case) {
				for _, v := range views(c) {
					for _, f := range v.lines {
						if !f.FromServer && f.Value.Kind() == wire.KindObject {
							found := ""
							for _, name := range []string{"access_token", "authorization", "Authorization", "refresh_token"} {
								if f.Value.Get(name) != nil || f.Params.Get(name) != nil || f.Params.Get("_meta").Get(name) != nil {
									found = name
								}
							}
							want(c, f, found == "", "credentials from the environment", "the member "+found)
						}
					}
				}
			},
		},
		{
			ID: "client-stderr-tolerated", Title: "what a server writes to stderr is no failure", Layer: check.Bytes,
			Requirements: []string{"modern/stdio-stderr-not-an-error"},
			Judge:        func(c *check.Case) { asFar(c, scriptStderr) },
		},
		{
			ID: "client-closes-input-first", Title: "a server is stopped by closing its input first", Layer: check.Bytes,
			Requirements: []string{"modern/stdio-client-shutdown-order"},
			Judge: func(c *check.Case) {
				for _, v := range views(c) {
					closed := false
					for i := range v.trace.Recording.Events {
						e := &v.trace.Recording.Events[i]
						switch {
						case e.Dir != transcript.Note:
						case e.Kind == transcript.KindNote && strings.HasPrefix(string(e.Data), NoteConnection):
							closed = false
						case e.Kind == transcript.KindEOF && e.Closed() == transcript.ToServer:
							closed = true
							c.Saw()
						case e.Kind == transcript.KindEOF, e.Kind == transcript.KindNote && strings.HasPrefix(string(e.Data), NoteOver) && string(e.Data) != NoteOver+OverExit:
							// What it does to a server that ended, or once it was
							// made to end itself, is no choice of its own.
							closed = true
						case e.Kind == transcript.KindNote && strings.HasPrefix(string(e.Data), NoteSignal) && !closed:
							c.Broken(point(v.trace, i), "the end of the input before any signal", string(e.Data))
							closed = true
						}
					}
				}
			},
		},
		{
			ID: "client-terminates", Title: "a server that does not end by itself is ended", Layer: check.Bytes,
			Requirements: []string{"modern/stdio-client-forced-termination"}, Soft: true,
			Judge: func(c *check.Case) {
				for _, v := range views(c, scriptStubborn) {
					closed, forced, exited := -1, false, false
					for i := range v.trace.Recording.Events {
						e := &v.trace.Recording.Events[i]
						text := string(e.Data)
						switch {
						case e.Dir != transcript.Note:
						case e.Kind == transcript.KindEOF && e.Closed() == transcript.ToServer:
							closed = i
						case e.Kind == transcript.KindNote && (strings.HasPrefix(text, NoteSignal) || strings.HasPrefix(text, NoteClosed)):
							forced = true
						case e.Kind == transcript.KindExit:
							exited = true
						}
					}
					switch {
					case closed < 0:
					case forced:
						c.Saw()
					case exited || v.why == OverExit:
						c.Broken(point(v.trace, closed), "a signal for the server that runs on", "the client left it running")
					default:
						c.NotObserved("the client still waited for the server's end when the play was over")
					}
				}
			},
		},
		{
			ID: "client-restarts", Title: "a server that ended unexpectedly is started again", Layer: check.Bytes,
			Requirements: []string{"modern/stdio-client-restarts-server"}, Soft: true,
			Judge: func(c *check.Case) {
				goesOn := false
				for _, k := range talks(c, Good) {
					goesOn = goesOn || len(k.requests("")) > 1
				}
				for _, v := range views(c, scriptDying) {
					n, ended := 0, -1
					for i := range v.trace.Recording.Events {
						e := &v.trace.Recording.Events[i]
						switch {
						case e.Dir == transcript.Note && e.Kind == transcript.KindNote && strings.HasPrefix(string(e.Data), NoteConnection):
							n++
						case e.Dir == transcript.Note && e.Kind == transcript.KindEOF && e.Closed() == transcript.ToClient && ended < 0:
							ended = i
						}
					}
					switch {
					case n > 1:
						c.Saw()
					case ended >= 0 && goesOn && (v.why == OverIdle || v.why == OverTime):
						c.Broken(point(v.trace, ended), "another start of the server, as the client had more to ask", "none, though the client runs on")
					default:
						c.NotObserved("the client ended with its server")
					}
				}
			},
		},
		{
			ID: "client-resubscribes", Title: "subscriptions are made again after a new start", Layer: check.Protocol,
			Requirements: []string{"modern/stdio-client-resubscribes"},
			Judge: func(c *check.Case) {
				for _, v := range views(c, scriptDyingListen) {
					if len(v.talks) < 2 {
						continue
					}
					before, after := v.talks[0].requests(listen), v.talks[len(v.talks)-1].requests(listen)
					if len(before) == 0 {
						continue
					}
					if others := v.talks[len(v.talks)-1].requests(""); len(others) > 0 {
						want(c, others[len(others)-1], len(after) > 0, "subscriptions/listen after the new start", "none")
					}
				}
			},
		},
	}
}

// partial reports whether the input, or a body, ended within a message.
func (v *view) partial(f *check.Frame) bool {
	e := &v.trace.Recording.Events[f.Index]
	x := v.numbered[e.Exchange]
	return e.Partial || x != nil && x.message == f && x.cut()
}
