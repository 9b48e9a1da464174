package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goldwire/goldwire/conformance/match"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// CodeUnrecorded is the code of the error by which a Mock and Options.Client
// answer a request that the recording does not have.
const CodeUnrecorded = 1

// Mock is the server of a recording, for any client: it answers each request as
// the recording does, in whatever order the requests come.
//
// A request is the same as a recorded one when its method and params are, but
// for what says who speaks and what it is capable of, and for ids and tokens,
// which are those of the client in what it is sent. The handshake is always the
// same. Of several
// recorded requests that are the same the first answers first, and the last one
// again when there are no more. A request that is sent again with the answers
// to an input_required belongs to the one before it, whatever the answers are.
//
// It belongs to any number of goroutines.
type Mock struct {
	rules   revision.Rules
	literal bool
	entries []*entry

	mu      sync.Mutex
	bound   match.Bindings
	live    map[*entry]*call // the last request that each answered
	replies map[string]chan struct{}
	usedIDs map[string]bool
	fresh   int
	misses  []string
	missed  int
	asked   int
}

// entry is a request or notification of the recorded client.
type entry struct {
	msg    message
	params wire.Raw
	core   *match.Pattern // what makes a request the same
	line   string
	lines  []mockLine // what the server says when it has come
	before *entry     // the request whose input_required this one answers
	state  string     // the requestState by which it says so
	used   int
}

// mockLine is a line of the recorded server.
type mockLine struct {
	owner   *entry // whose id, token or stream it is on; nil for none
	msg     message
	pattern *match.Pattern
	text    []byte // where it is no JSON
	last    bool   // the answer
}

// call is a request that came.
type call struct {
	id, token wire.Raw
	sink      func(line []byte, last bool)
}

// maxMisses bounds how many misses are told in full.
const maxMisses = 100

// NewMock reads the recording of one session. With redacted false a recording
// in which secrets were replaced is ErrRedacted.
func NewMock(rec *transcript.Recording, redacted bool) (*Mock, error) {
	if rec.Redacted() && !redacted {
		return nil, ErrRedacted
	}
	m := &Mock{rules: rulesOf(rec.Get(transcript.FieldRevision)), literal: rec.Get(transcript.FieldRecorded) != "",
		bound: match.Bindings{}, live: map[*entry]*call{}, replies: map[string]chan struct{}{}, usedIDs: map[string]bool{}}
	var open []*entry // requests without an answer
	var last *entry   // the client's last message
	states := map[string]*entry{}
	find := func(id string) *entry {
		for _, e := range open {
			if e.msg.id == id {
				return e
			}
		}
		return nil
	}
	carriers := ofCarrier(rec)
	for i := range rec.Events {
		e := &rec.Events[i]
		if !e.Message() || len(e.Data) == 0 || carriers[i] {
			continue
		}
		v, err := wire.ParseRaw(e.Data)
		if err != nil {
			if e.Dir == transcript.ToClient && last != nil {
				last.lines = append(last.lines, mockLine{text: e.Data})
			}
			continue
		}
		for _, v := range parts(v) {
			pat, err := pattern(v, m.literal)
			if err != nil {
				return nil, fmt.Errorf("event %d, %s: %w", i, short(e.Line()), err)
			}
			msg := look(v, !m.literal)
			if e.Dir == transcript.ToServer {
				if msg.class != request && msg.class != notification {
					continue
				}
				core, err := pattern(meaning(v, pathCaps), m.literal)
				if err != nil {
					return nil, fmt.Errorf("event %d, %s: %w", i, short(e.Line()), err)
				}
				en := &entry{msg: msg, params: v.Get("params"), core: core, line: e.Line()}
				if state, ok := en.params.Get("requestState").Str(); ok {
					en.state, en.before = state, states[state]
				}
				m.entries = append(m.entries, en)
				last = en
				if msg.class == request {
					open = append(open, en)
				}
				continue
			}
			l := mockLine{msg: msg, pattern: pat, owner: last}
			trigger := last
			switch {
			case msg.class == response:
				l.owner = find(msg.id)
				if l.owner == nil && msg.wild && len(open) > 0 {
					l.owner = open[0]
				}
				if trigger = l.owner; l.owner != nil {
					l.last = true
					open = slices.DeleteFunc(open, func(e *entry) bool { return e == l.owner })
					if state, ok := v.Get("result").Get("requestState").Str(); ok {
						states[state] = l.owner
					}
				}
			case msg.sub != "":
				l.owner = find(msg.sub)
			case msg.token != "" && msg.class == notification:
				for _, e := range open {
					if e.msg.token == msg.token {
						l.owner, trigger = e, e
					}
				}
			case len(open) > 0:
				l.owner = open[len(open)-1]
				trigger = l.owner
			}
			if trigger != nil {
				trigger.lines = append(trigger.lines, l)
			}
		}
	}
	if len(m.entries) == 0 {
		return nil, errors.New("the recording has no message of a client")
	}
	return m, nil
}

// same compares a request with a recorded one.
func (m *Mock) same(e *entry, v wire.Raw) error {
	if e.msg.method == "initialize" || e.msg.method == "server/discover" {
		return nil
	}
	return e.core.Match(meaning(v, pathCaps), match.Options{Bindings: m.bound})
}

// choose finds the entry for a message, or says why there is none.
func (m *Mock) choose(msg *message, v wire.Raw) (*entry, error) {
	var fit, best *entry
	var bestErr error
	state, retry := v.Get("params").Get("requestState").Str()
	methods := []string{}
	for _, strict := range []bool{true, false} {
		for _, e := range m.entries {
			if e.msg.class != msg.class {
				continue
			}
			if e.msg.method != msg.method {
				if !slices.Contains(methods, e.msg.method) && e.msg.class == request {
					methods = append(methods, e.msg.method)
				}
				continue
			}
			if strict {
				if err := m.same(e, v); err != nil {
					if best == nil || count(err) < count(bestErr) {
						best, bestErr = e, err
					}
					continue
				}
			} else if !retry || e.state != state {
				continue
			}
			if e.used == 0 && (e.before == nil || e.before.used > 0) {
				return e, nil
			}
			fit = e
		}
		if fit != nil {
			return fit, nil
		}
	}
	if best == nil {
		return nil, fmt.Errorf("the recording has no %s; it has %s", msg.method, strings.Join(methods, ", "))
	}
	return nil, fmt.Errorf("no recorded %s is like it; of the nearest one\n  recorded %s\n  came     %s\n  differs  %w", msg.method, short(best.line), short(v.String()), bestErr)
}

// take answers what a client said; the lines for it go to sink, the answer of a
// request marked as the last one.
func (m *Mock) take(ctx context.Context, v wire.Raw, sink func(line []byte, last bool)) {
	msg := look(v, false)
	switch msg.class {
	case response:
		m.mu.Lock()
		if c := m.replies[msg.id]; c != nil {
			delete(m.replies, msg.id)
			close(c)
		}
		m.mu.Unlock()
		return
	case request, notification:
	default:
		sink([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`), true)
		return
	}
	m.mu.Lock()
	e, err := m.choose(&msg, v)
	c := &call{id: v.Get("id").Clone(), token: v.Get("params").Get("_meta").Get("progressToken").Clone(), sink: sink}
	if msg.class == request {
		m.asked++
	}
	if err != nil && msg.class == request {
		m.missed++
		if len(m.misses) < maxMisses {
			m.misses = append(m.misses, err.Error())
		}
	}
	if e != nil {
		e.used++
		m.live[e] = c
	}
	m.mu.Unlock()
	if e == nil {
		if msg.class == request {
			sink(unrecorded(c.id, err), true)
		}
		return
	}
	for i := range e.lines {
		if !m.say(ctx, e, c, &e.lines[i]) {
			return
		}
	}
}

// unrecorded is the error for a request that the recording does not have.
func unrecorded(id wire.Raw, why error) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, fmt.Sprintf(`,"error":{"code":%d,"message":`, CodeUnrecorded)...)
	return append(wire.AppendString(b, "goldwire replay: "+why.Error()), "}}"...)
}

// say sends one line, and waits for the reply to a request.
func (m *Mock) say(ctx context.Context, e *entry, c *call, l *mockLine) bool {
	if l.pattern == nil {
		c.sink(l.text, false)
		return true
	}
	m.mu.Lock()
	owner := c
	if l.owner != nil && l.owner != e {
		if owner = m.live[l.owner]; owner == nil { // nobody asked for it
			m.mu.Unlock()
			return true
		}
	}
	var fresh wire.Raw
	var wait chan struct{}
	if l.msg.class == request {
		fresh = wire.Raw(nil)
		if m.usedIDs[l.msg.id] {
			m.fresh++
			fresh = wire.Quote("goldwire-" + strconv.Itoa(m.fresh))
		}
		m.usedIDs[l.msg.id] = true
		wait = make(chan struct{})
		k := l.msg.id
		if fresh != nil {
			k = key(fresh)
		}
		m.replies[k] = wait
	}
	line, err := l.pattern.Fill(m.bound, func(path string, v wire.Raw) wire.Raw {
		switch {
		case path == pathID && l.msg.class == response:
			return owner.id
		case path == pathID && l.msg.class == request:
			return fresh
		case path == pathToken && l.msg.class == notification && l.msg.token != "":
			return owner.token
		case path == pathSubParams || path == pathSubResult:
			return owner.id
		}
		return nil
	})
	m.mu.Unlock()
	if err != nil { // a placeholder that has no value yet
		line = append(append([]byte(`{"jsonrpc":"2.0","id":`), owner.id...), `,"error":{"code":-32603,"message":`...)
		line = append(append(line, wire.Quote("goldwire replay: "+err.Error())...), "}}"...)
	}
	owner.sink(line, l.last)
	if wait == nil {
		return true
	}
	select {
	case <-wait:
		return true
	case <-ctx.Done():
		return false
	}
}

// Tally is what a mock has done.
type Tally struct {
	Asked  int      // requests that came
	Missed int      // of them, those that no recorded one is like
	Misses []string // what was wrong with them, the first 100
	Unused []string // recorded requests that nobody made
}

// Tally counts so far.
func (m *Mock) Tally() Tally {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := Tally{Asked: m.asked, Missed: m.missed, Misses: slices.Clone(m.misses)}
	for _, e := range m.entries {
		if e.used == 0 && e.msg.class == request {
			t.Unused = append(t.Unused, e.line)
		}
	}
	return t
}

// maxLine bounds a line or body of a client.
const maxLine = 64 << 20

// readLine reads one line, with its newline where it has one.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("the client sends a line of more than %d MiB", maxLine>>20)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// Serve answers one client on a stream of lines, until the stream or the
// context ends.
func (m *Mock) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	var mu sync.Mutex
	var failed error
	sink := func(line []byte, _ bool) {
		mu.Lock()
		defer mu.Unlock()
		if _, err := out.Write(append(bytes.Clone(line), '\n')); err != nil && failed == nil {
			failed = err
		}
	}
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			m.line(ctx, line, sink, &asking)
		}
		mu.Lock()
		werr := failed
		mu.Unlock()
		switch {
		case werr != nil:
			return werr
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

const parseError = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`

// line takes a line or body. Where the mock asks something itself it goes on
// beside, as the reply has to be read.
func (m *Mock) line(ctx context.Context, line []byte, sink func([]byte, bool), asking *sync.WaitGroup) {
	v, err := wire.ParseRaw(line)
	if err != nil {
		sink([]byte(parseError), true)
		return
	}
	v = v.Clone()
	if v.Kind() == wire.KindArray {
		m.batch(ctx, parts(v), sink, asking)
		return
	}
	if m.asks(v) {
		asking.Go(func() { m.take(ctx, v, sink) })
	} else {
		m.take(ctx, v, sink)
	}
}

// batch takes the members of a batch; their answers go back in one.
func (m *Mock) batch(ctx context.Context, vs []wire.Raw, sink func([]byte, bool), asking *sync.WaitGroup) {
	var mu sync.Mutex
	var answers []byte
	collect := func(line []byte, last bool) {
		if !last {
			sink(line, false)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		answers = append(append(answers, ','), line...)
	}
	run := func() {
		var members sync.WaitGroup
		for _, v := range vs {
			if m.asks(v) {
				members.Go(func() { m.take(ctx, v, collect) })
			} else {
				m.take(ctx, v, collect)
			}
		}
		members.Wait()
		if answers != nil {
			answers[0] = '['
			sink(append(answers, ']'), true)
		}
	}
	if slices.ContainsFunc(vs, m.asks) {
		asking.Go(run)
	} else {
		run()
	}
}

func (m *Mock) asks(v wire.Raw) bool {
	msg := look(v, false)
	m.mu.Lock()
	defer m.mu.Unlock()
	if msg.class != request && msg.class != notification {
		return false
	}
	e, _ := m.choose(&msg, v)
	return e != nil && slices.ContainsFunc(e.lines, func(l mockLine) bool { return l.msg.class == request })
}
