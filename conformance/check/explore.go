package check

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Exploration is what a target was found to speak.
type Exploration struct {
	// Speaks are revisions, oldest first: those that it agreed to, and those
	// that it claims in an answer which breaks the rules.
	Speaks   []string
	Answered bool     // it answered something at all
	Silent   bool     // it ran and answered nothing within the limit for the start
	Locked   bool     // over HTTP it lets nobody in: what it speaks is not known, and taken to be all
	Traces   []*Trace // one session for each version that was offered
	// Started is the longest that a process took to its first answer.
	Started time.Duration
	// Unheard are revisions at whose offer a new process answered nothing at all,
	// with how long it was waited for: it may speak them and start slowly.
	Unheard map[string]time.Duration
	// Deaf is how long a server that speaks stateful revisions, and starts fast,
	// answered nothing to discovery nor to a handshake behind it; else 0. It is
	// taken for one that speaks no stateless revision.
	Deaf time.Duration
}

// unheard keeps that a new process answered nothing to the offer of a revision.
func (x *Exploration) unheard(rev string, waited time.Duration) {
	if x.Unheard == nil {
		x.Unheard = map[string]time.Duration{}
	}
	x.Unheard[rev] = waited
}

// Profiles of the sessions of an exploration.
const (
	profileOffer    = "offer"
	profileDiscover = "discover"
)

// unknownVersions are offered to see what a server does with a version that it
// cannot know.
var unknownVersions = []string{"1999-01-01", "2099-12-31"}

// modernHint is how long a server may think about a handshake before it is
// asked the stateless way beside it.
const modernHint = 3 * time.Second

// Explore finds out which revisions a target speaks. It speaks a stateful one
// when it answers an offer of that version with the same version, and a
// stateless one when discovery lists it; what is neither a refusal nor a proper
// answer counts as one that agrees. Each offer is made to a new process. The
// error says that the target could not be started.
func Explore(ctx context.Context, l Target, limits Limits) (*Exploration, error) {
	x := &Exploration{}
	began := time.Now()
	slow := false // a process that was launched for an offer answered nothing
	legacyRevs := slices.DeleteFunc(Revisions(), Modern)
	slices.Reverse(legacyRevs)
	for i, version := range slices.Concat(legacyRevs, unknownVersions) {
		if i > 0 && (!x.Answered || x.Locked) {
			break // it is silent or gone: offering more would only take time
		}
		launched := time.Now()
		s, err := Open(ctx, l, SessionOptions{Profile: profileOffer, Revision: version, Limits: limits, Started: x.Started, Unstarted: slow})
		if err != nil {
			return nil, err
		}
		s.opening = i > 0 && !slow
		s.Step("offer")
		f := s.Ask("initialize", s.Hello(version))
		replied := func() bool { return s.isSettled(f) || s.trace.handshake(f, version) != nil }
		if i == 0 {
			// A server of the stateless era alone may ignore a handshake: do
			// not wait out the long limit for the start.
			hint := min(modernHint, s.limits.Start/2)
			if !s.wait(hint, replied) && s.Lost() == "" {
				d := s.AskWith(strconv.Itoa(firstFence), "server/discover", WithMeta("", metaOf(firstModern, "{}")))
				s.wait(s.limits.Start-hint, func() bool { return replied() || s.trace.Answer(d).OK() })
				s.wait(s.limits.Short, replied)
				if !s.hasAnswered() && s.Lost() == "" {
					x.Silent = true // to both ways of asking, for the whole limit
				}
			}
		} else if !s.wait(s.limits.Short, replied) {
			s.Await(f)
		}
		if s.AnswerTo(f).OK() {
			s.Tell("notifications/initialized", "")
		}
		waited := time.Since(launched)
		t := s.Close()
		r := t.handshake(f, version)
		if r != nil && r.claims && slices.Contains(revisions, version) {
			x.Speaks = append(x.Speaks, version)
		}
		if i > 0 && r == nil && t.unheard() {
			slow = true
			if slices.Contains(revisions, version) {
				x.unheard(version, waited)
			}
		}
		x.Answered = x.Answered || s.hasAnswered() || r != nil
		x.Started = max(x.Started, t.started())
		x.Traces = append(x.Traces, t)
		x.Locked = i == 0 && (r == nil || !r.claims) && t.locked()
		if i == 0 && r == nil {
			break // no handshake: other versions would not change that
		}
	}
	if x.Silent {
		return x, ctx.Err()
	}
	for _, v := range x.Named() { // it speaks what it names to other offers
		if rev, _ := wire.Raw(v).Str(); x.Unheard[rev] > 0 {
			x.Speaks = append(x.Speaks, rev)
			delete(x.Unheard, rev)
		}
	}
	start := time.Since(began)

	s, err := Open(ctx, l, SessionOptions{Profile: profileDiscover, Revision: firstModern, Limits: limits})
	if err != nil {
		return nil, err
	}
	s.Step("discover")
	f := s.Ask("server/discover", "")
	wait := s.limits.Start
	if x.Answered {
		wait = min(wait, 3*time.Second+start)
	}
	replied := func() bool { return s.isSettled(f) || s.trace.discovery(f) != nil }
	if !s.wait(wait, replied) && !s.hasAnswered() && s.Lost() == "" {
		// It may not have started yet, or hear nothing before a handshake.
		s.Step("handshake")
		h := s.Ask("initialize", s.Hello(legacyRevs[0]))
		s.wait(max(s.limits.Start-wait, s.limits.Short), func() bool { return replied() || s.answered || s.isSettled(h) })
		if s.wait(s.limits.Short, replied); !s.hasAnswered() && s.Lost() == "" {
			waited := time.Since(s.began)
			if len(x.Speaks) == 0 || 3*x.Started > s.limits.Start {
				x.unheard(firstModern, waited)
			} else {
				x.Deaf = waited
			}
		}
	}
	var r *stance
	s.View(func(t *Trace) { r = t.discovery(f) })
	if r != nil {
		x.Answered = true
		a := r.Frame
		found := discovered(a)
		if len(found) == 0 {
			// It serves the request and does not list the version, as it may have
			// forgotten to, or mean it; or it has no discovery that can be
			// understood, and serves other requests as such a revision has them.
			unlisted := a.OK() && a.Result.Get("capabilities").Kind() == wire.KindObject
			s.Step("discover/unlisted")
			list := s.Ask("tools/list", "")
			if unlisted {
				s.Await(list)
			} else {
				s.wait(s.limits.Short, func() bool { return s.isSettled(list) })
			}
			if unlisted && s.speaksAll(list) || r.claims && !unlisted || s.AnswerTo(list).result().Get("resultType") != nil {
				found = []string{firstModern}
			}
		}
		x.Speaks = append(x.Speaks, found...)
	}
	x.Traces = append(x.Traces, s.Close())
	if why := x.unreachable(); why != "" {
		return nil, errors.New(why)
	}
	if x.Locked = x.Locked && len(x.Speaks) == 0 && x.Traces[len(x.Traces)-1].locked(); x.Locked {
		x.Answered = true
		x.Speaks = slices.DeleteFunc(Revisions(), func(rev string) bool { return !AtLeast(rev, rev2025March) })
	}
	slices.Sort(x.Speaks)
	x.Speaks = slices.Compact(x.Speaks)
	return x, ctx.Err()
}

// unheard reports whether a server ran, and answered nothing until the session
// was given up.
func (t *Trace) unheard() bool {
	if t.unstarted() == "" && !t.noted(noteHung) && !t.noted(noteStalled) {
		return false
	}
	for f := range t.visit(t.sent) {
		if t.Answer(f) != nil {
			return false
		}
	}
	return true
}

// locked reports whether HTTP answered the first request of a session by asking
// for credentials, with a JSON-RPC error as its body or anything else.
func (t *Trace) locked() bool {
	for _, x := range t.order {
		if x.request != nil && x.request.Kind == KindRequest {
			return x.status == 401 || x.status == 403
		}
	}
	return false
}

// unreachable says why no exchange of the exploration got a response, "" where
// one did.
func (x *Exploration) unreachable() string {
	why := ""
	for _, t := range x.Traces {
		for _, c := range t.order {
			if c.status != 0 || !c.failed {
				return ""
			}
			if why == "" {
				why = t.gather(c).Err
			}
		}
	}
	return why
}

// Said shows what a target answered to the ways in which it was asked what it
// speaks: to each way once, as the frames of a report.
func (x *Exploration) Said() []result.Frame {
	var out []result.Frame
	seen := map[string]bool{}
	for _, t := range x.Traces {
		for req := range t.visit(t.sent) {
			a := t.Answer(req)
			if req.Kind != KindRequest || a == nil {
				continue
			}
			// The versions that are offered differ, the answers seldom do.
			if key := t.Profile + string(a.Error) + string(a.Result); !seen[key] {
				seen[key] = true
				out = append(out, shown(result.Around(t.Recording, a.Index, 0, 0, req.Index))...)
			}
		}
	}
	const most = 12
	return out[:min(len(out), most)]
}

// Named are the versions that the target named when it accepted a handshake, as
// JSON, each once; "nothing" stands for none.
func (x *Exploration) Named() []string {
	var out []string
	for _, t := range x.Traces {
		for req := range t.visit(t.sent) {
			if a := t.Answer(req); req.Method == "initialize" && a.OK() {
				if v := text(a.Result.Get("protocolVersion")); !slices.Contains(out, v) {
					out = append(out, v)
				}
			}
		}
	}
	return out
}

// Exploring reports whether a session was made to find out what the target
// speaks; such a session belongs to no revision.
func (t *Trace) Exploring() bool { return t.Profile == profileOffer || t.Profile == profileDiscover }

// discovered reads the stateless revisions from an answer to discovery.
func discovered(a *Frame) []string {
	list := a.result().Get("supportedVersions")
	if code, _ := a.Code(); code == -32022 {
		list = a.Error.Get("data").Get("supported")
	}
	var out []string
	for v := range list.Elems() {
		if rev, ok := v.Str(); ok && slices.Contains(revisions, rev) && Modern(rev) {
			out = append(out, rev)
		}
	}
	return out
}

// speaksAll reports whether a request was not refused because of its version.
func (s *Session) speaksAll(req *Frame) bool {
	a := s.AnswerTo(req)
	code, _ := a.Code()
	return a != nil && code != -32022
}

func (f *Frame) result() wire.Raw {
	if f == nil {
		return nil
	}
	return f.Result
}

func (s *Session) hasAnswered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answered
}

// Heard sums up what came from the server's output, "" for nothing.
func (t *Trace) Heard() string {
	if len(t.order) > 0 {
		var out []string
		for _, x := range t.order {
			said := fmt.Sprintf("HTTP status %d", x.status)
			if x.media != "" {
				said += " with " + x.media
			}
			if x.status != 0 && !slices.Contains(out, said) {
				out = append(out, said)
			}
		}
		said := strings.Join(out, ", ")
		if t.noted(noteFlood) {
			said += "; it wrote more than is recorded, none of it an answer, and had to be stopped"
		}
		if at := t.Elsewhere(); at != "" {
			said += "; its endpoint event names an address at " + at + ", another origin than its own, and nothing is sent there"
		}
		return said
	}
	var lines, size int64
	endless := false
	for i := range t.Recording.Events {
		e := &t.Recording.Events[i]
		if e.Dir != transcript.ToClient {
			continue
		}
		lines++
		size += max(e.Length, int64(len(e.Data)))
		endless = endless || e.Partial && max(e.Length, int64(len(e.Data))) > int64(keptStart)
	}
	flooded := ""
	if t.noted(noteFlood) {
		flooded = ", and had to be stopped"
	}
	switch {
	case lines == 0:
		return ""
	case endless && lines == 1:
		return fmt.Sprintf("it wrote %s without ending a line%s", bytesText(size), flooded)
	}
	return fmt.Sprintf("it wrote %d lines (%s), none of them an answer%s", lines, bytesText(size), flooded)
}

// Elsewhere is the origin to which a stream of HTTP+SSE sends its client where
// that is not the server's own, as in "https://other.example", and "" where no
// stream does. Nothing is posted there: what this client is given to send,
// credentials among it, is for the server alone.
func (t *Trace) Elsewhere() string {
	base, err := url.Parse(endpointOf(t))
	if err != nil || t.Transport != catalogue.SSE {
		return ""
	}
	for _, x := range t.order {
		for _, e := range t.gather(x).Messages {
			if e.Event != "endpoint" {
				continue
			}
			if u, err := base.Parse(strings.TrimSpace(string(e.Data))); err == nil && !sameOrigin(base, u) {
				return u.Scheme + "://" + u.Host
			}
		}
	}
	return ""
}

func bytesText(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// Stderr is the last lines of the server's free text.
func (t *Trace) Stderr(lines int) string {
	var out []string
	for _, e := range t.notes(transcript.KindStderr, 0) {
		out = append(out, string(e.Data))
	}
	return strings.Join(out[max(0, len(out)-lines):], "\n")
}
