package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// ErrNoSession says that a recording holds no session of a known revision.
var ErrNoSession = errors.New("the recording holds no session that says its revision")

// LintOptions of a judgement of recordings; the zero value judges both sides by
// every check. Of Options, Revisions, Checks, Level, Redact and Progress count.
type LintOptions struct {
	Options
	Side     catalogue.Side // to judge; "" and catalogue.Both are both
	NoSchema bool           // compare no message with its schema, which takes most of the time
}

// Lint judges recordings of any traffic: those that goldwire record made, golden
// transcripts, and those that a run saved. Each is split into its sessions, and
// both sides of each are judged, of a golden transcript or a run the side under
// test only.
//
// Where the options name revisions, only sessions of those are judged, and a
// session that does not say its revision is taken for one of the first of them.
// ErrNoSession when nothing is left to judge. A line that is marked as redacted
// breaks nothing.
//
// A recording may be as large as all else in memory, so that Lint takes each out
// of recs when it has split it.
func Lint(recs []*transcript.Recording, lo LintOptions) (*result.Report, error) {
	o, side := lo.Options, lo.Side
	trace := func(rec *transcript.Recording) *check.Trace {
		t := check.NewTrace(rec)
		t.NoSchema = lo.NoSchema
		return t
	}
	type setting struct {
		side catalogue.Side
		rev  string
		over catalogue.Transport
	}
	traces := map[setting][]*check.Trace{}
	offers := map[setting][]*check.Trace{}
	wanted := func(rev string) bool {
		return len(o.Revisions) == 0 || o.Revisions[0] == "all" || slices.Contains(o.Revisions, rev)
	}
	var revs []string
	unknown := 0
	for i, rec := range recs {
		recs[i] = nil
		parts, attempts := sessions(rec)
		for _, s := range parts {
			if rev := s.Get(transcript.FieldRevision); rev == "" || !slices.Contains(check.Revisions(), rev) {
				if len(o.Revisions) == 0 || o.Revisions[0] == "all" {
					unknown++
					continue
				}
				s.Set(transcript.FieldRevision, o.Revisions[0])
			}
			if rev := s.Get(transcript.FieldRevision); !wanted(rev) {
				continue
			} else if !slices.Contains(revs, rev) {
				revs = append(revs, rev)
			}
			own := s.Get(fieldProfile) != ""
			var apart *check.Trace // the same with its batches taken apart
			served := s            // what the server is judged by
			if !own {
				served = without(s, attempts)
				if members := unbatch(served); members != nil {
					apart = trace(mark(members))
				}
				if marked := mark(s); served == s {
					s, served = marked, marked
				} else {
					s, served = marked, mark(served)
				}
			}
			sides := []catalogue.Side{catalogue.Server, catalogue.Client}
			if under := catalogue.Side(s.Get(transcript.FieldSide)); own && under != catalogue.Client {
				sides = sides[:1]
			} else if under == catalogue.Client || under == catalogue.Server {
				sides = []catalogue.Side{under}
			}
			t := trace(s)
			ts := t
			if served != s {
				ts = trace(served)
			}
			for _, one := range sides {
				t := t
				if one == catalogue.Server {
					t = ts
				}
				if side != "" && side != catalogue.Both && side != one {
					continue
				}
				at := setting{one, t.Revision, t.Transport}
				if own && t.Exploring() {
					at.rev = ""
					offers[at] = append(offers[at], t)
					continue
				}
				traces[at] = append(traces[at], t)
				if apart != nil && one == catalogue.Server { // the checks of clients look into batches themselves
					traces[at] = append(traces[at], apart)
				}
			}
		}
	}
	if len(traces) == 0 {
		if unknown > 0 || len(recs) == 0 {
			return nil, ErrNoSession
		}
		return nil, fmt.Errorf("%w that is to be judged", ErrNoSession)
	}
	slices.Sort(revs)
	rep := &result.Report{Target: result.Target{Side: string(catalogue.Both)}, Revisions: revs}
	if side != "" && side != catalogue.Both {
		rep.Target.Side = string(side)
	}
	r := runner{ctx: context.Background(), o: o, rep: rep}
	checks, err := Select(o, catalogue.Any)
	if err != nil && !errors.Is(err, ErrNoCheck) {
		return nil, err
	}
	none := err
	foreign := map[setting]bool{} // nothing in it was provoked by a checker
	for at, ts := range traces {
		foreign[at] = !slices.ContainsFunc(ts, func(t *check.Trace) bool { return t.Profile != check.StepRecorded })
	}
	for _, rev := range revs {
		for _, over := range []catalogue.Transport{catalogue.Stdio, catalogue.HTTP, catalogue.SSE} {
			if ts := traces[setting{catalogue.Server, rev, over}]; ts != nil && none == nil {
				from := len(rep.Results)
				if err := r.verdicts(rev, over, checks, ts, offers[setting{catalogue.Server, "", over}]); err != nil {
					return rep, err
				}
				if foreign[setting{catalogue.Server, rev, over}] {
					plainly(rep.Results[from:])
				}
			}
			if ts := traces[setting{catalogue.Client, rev, over}]; ts != nil {
				from := len(rep.Results)
				for _, v := range client.Judge(rev, over, ts, func(k *check.Check) bool { ok, err := o.Judges(k, rev, over); return ok && err == nil }) {
					o.Redact.Check(&v)
					rep.Results = append(rep.Results, v)
					r.tell(Progress{Revision: rev, Check: &v})
				}
				if foreign[setting{catalogue.Client, rev, over}] {
					plainly(rep.Results[from:])
				}
			}
		}
	}
	if len(rep.Results) == 0 && none != nil {
		return nil, none
	}
	return rep, nil
}

// plainly puts the results on a recording that no checker made in the terms of
// who made it: nobody wanted to see what was not seen, and the marks of steps
// were never on the wire.
func plainly(results []result.Check) {
	for i := range results {
		c := &results[i]
		if c.Verdict == result.Blocked {
			c.Verdict = result.NotObserved
		}
		mark := func(f result.Frame) bool { return strings.HasPrefix(f.Text, "! probe ") }
		c.Frames = slices.DeleteFunc(c.Frames, mark)
		for j := range c.More {
			c.More[j].Frames = slices.DeleteFunc(c.More[j].Frames, mark)
		}
	}
}

// unbatch gives a recording of a revision that has batches with each member of
// one as a line of its own, without what the carrier said; nil where there is no
// batch.
func unbatch(rec *transcript.Recording) *transcript.Recording {
	if rules, ok := revision.For(rec.Get(transcript.FieldRevision)); !ok || !rules.Batch {
		return nil
	}
	out := &transcript.Recording{Fields: rec.Fields}
	found := false
	for i := range rec.Events {
		e := rec.Events[i]
		if e.Carrier {
			continue
		}
		e.Exchange = 0
		data := bytes.TrimSpace(e.Data)
		if !e.Message() || len(data) == 0 || data[0] != '[' {
			out.Events = append(out.Events, e)
			continue
		}
		v, err := wire.ParseRaw(data)
		if err != nil {
			out.Events = append(out.Events, e)
			continue
		}
		for m := range v.Elems() {
			e.Data, found = m, true
			out.Events = append(out.Events, e)
		}
	}
	if !found {
		return nil
	}
	return out
}

// mark names the steps of a recording that no probe made, check.StepRecorded but
// for the lists, whose steps have their names: so that checks judge
// what they find in it. What was cut out of the middle ends it: nobody knows
// what is missing.
func mark(rec *transcript.Recording) *transcript.Recording {
	out := &transcript.Recording{Fields: slices.Clone(rec.Fields), Events: make([]transcript.Event, 0, len(rec.Events)+2*len(check.Lists)+2)}
	out.Set(fieldProfile, check.StepRecorded)
	step := ""
	enter := func(name string) {
		if step != name {
			step = name
			out.Events = append(out.Events, transcript.Event{Dir: transcript.Note, Kind: transcript.KindProbe, Data: []byte(name)})
		}
	}
	lists := listings(rec)
	enter(check.StepRecorded)
	for i := range rec.Events {
		e := &rec.Events[i]
		if e.Kind == transcript.KindDropped {
			break
		}
		if e.Kind == transcript.KindProbe {
			continue
		}
		if e.Dir == transcript.ToServer && e.Message() {
			name := check.StepRecorded
			if method := lists[i]; method != "" {
				name = method
			}
			enter(name)
		}
		out.Events = append(out.Events, *e)
	}
	return out
}

var (
	wordCursor = []byte(`"nextCursor"`)
	wordList   = []byte(`/list"`)
)

// listings are the requests of the first listing of each kind that was made in
// the right way, and in one go: its pages one after the other, with nothing else
// of the client between them. By their events, their methods.
func listings(rec *transcript.Recording) map[int]string {
	modern := check.Modern(rec.Get(transcript.FieldRevision))
	out := map[int]string{}
	begun := map[string]bool{}
	going := "" // the method whose pages are being read
	cursors := map[string]bool{}
	for i := range rec.Events {
		e := &rec.Events[i]
		switch {
		case !e.Message():
		case e.Dir == transcript.ToClient && going != "" && bytes.Contains(e.Data, wordCursor):
			if v, ok := object(e.Data); ok {
				if next, ok := v.Get("result").Get("nextCursor").Str(); ok {
					cursors[next] = true
				}
			}
		case e.Dir == transcript.ToServer:
			method, cursor, paged := listed(e.Data, modern)
			switch {
			case method != "" && !paged && !begun[method]:
				begun[method], going = true, method
				clear(cursors)
			case method != "" && method == going && paged && cursors[cursor]:
			default:
				going = ""
				continue
			}
			out[i] = method
		}
	}
	return out
}

// listed is the method of a request that asks for a list or its next page in
// the right way, else "".
func listed(data []byte, modern bool) (method, cursor string, paged bool) {
	if !bytes.Contains(data, wordList) {
		return "", "", false
	}
	v, ok := object(data)
	if !ok || v.Get("id") == nil {
		return "", "", false
	}
	method, _ = v.Get("method").Str()
	params := v.Get("params")
	cursor, paged = params.Get("cursor").Str()
	meta := params.Get("_meta")
	version, _ := meta.Get(metaVersion).Str()
	switch {
	case !isList(method), params.Get("cursor") != nil && !paged, modern && (!check.Modern(version) || meta.Get(metaCaps) == nil):
		return "", "", false
	}
	return method, cursor, paged
}

func isList(method string) bool {
	for _, l := range check.Lists {
		if l.Method == method {
			return true
		}
	}
	return false
}
