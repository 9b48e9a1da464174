// Package client judges Model Context Protocol clients.
//
// A client is started anew for each script and led to a server of ours, which
// does what the script says and records every byte; checks of package check
// whose Side is catalogue.Client then judge the recordings. Nothing is assumed
// of the client but that it connects: what it does not do is not observed.
//
// The server is no product of the runtime: it writes lines, heads and events as
// a script wants them, also such as no library would.
package client

import (
	"slices"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
)

// Script is one way in which our server treats a client. The zero value is the
// good server: it answers all that a client may ask, as the revision has it.
type Script struct {
	// Name is that of the recordings too (check.Trace.Profile): kebab case,
	// unique.
	Name  string
	About string // what the server does, in a few words
	// Since and Until are the revisions that are judged by it; "" is no bound.
	Since, Until string
	// Transports are those it is played over; nil for all.
	Transports []catalogue.Transport
	// Speaks is the revision that the server speaks where it is not the judged
	// one: a client that knows both eras meets a server of the other.
	Speaks string
	// Serve changes the good server before the client is started; nil changes
	// nothing.
	Serve func(p *Play)
	// Idle is how long the client may be silent before the play is over, where
	// that is longer than Limits.Idle, which is longer for clients that take
	// their time.
	Idle time.Duration
	// Time is how long the play may last after the first thing that the client
	// sent; 0 is Limits.Play.
	Time time.Duration
	// Starts is how often the client is started, one after the other, in the
	// same play; 0 is 1.
	Starts int
	// Scenario is the scenario of the official suite that a client of its
	// contract is asked to play; "" is tools_call. See Context.
	Scenario string
	// Context gives what the scenario wants to know, a JSON object; nil is none.
	Context func(p *Play) string
}

// plays reports whether a script is played.
func (s *Script) plays(rev string, t catalogue.Transport) bool {
	if s.Since != "" && !check.AtLeast(rev, s.Since) || s.Until != "" && !check.AtLeast(s.Until, rev) {
		return false
	}
	return len(s.Transports) == 0 || slices.Contains(s.Transports, t)
}

// Good is the name of the script that changes nothing. It is played first, and
// tells whether the client speaks a revision at all.
const Good = "good"

// Scripts lists all, in the order in which they are played.
func Scripts() []Script {
	return slices.Concat([]Script{{Name: Good, About: "a server that does all as it should"}}, scripts())
}

// All lists the checks of clients.
func All() []check.Check { return checks() }

// Marks that a play leaves in its recording, as notes.
const (
	// NoteConnection, with the number of the connection, stands before what was
	// said on it: over stdio one for each server that the client started.
	NoteConnection = "connection "
	// NoteClosed, with a number, says that the other end of that connection is
	// gone: the client killed its server, or the process that held it ended.
	NoteClosed = "connection closed "
	// NoteSignal, with the name of a signal, is one that the client sent to its
	// server.
	NoteSignal = "the client sent "
	// NoteOver, with one of the reasons, is the end of a play; what comes after
	// it is how the client ended.
	NoteOver = "over: "
)

// Reasons why a play is over.
const (
	OverExit   = "the client ended"
	OverIdle   = "the client was silent"
	OverTime   = "the time was over"
	OverScript = "enough was seen" // the script said so, see Play.End
	OverFlood  = "the client sent more than is recorded"
	OverStop   = "the run was ended"
	OverNext   = "the client began anew" // one that somebody else starts; nobody knows how it ended
	OverSilent = "the client sent nothing"
)

// Over is why the play of a trace was over, "" where it does not say.
func Over(t *check.Trace) string {
	for i := range t.Recording.Events {
		if why, ok := strings.CutPrefix(string(t.Recording.Events[i].Data), NoteOver); ok && t.Recording.Events[i].Dir == '!' {
			return why
		}
	}
	return ""
}

// Limits bound what one client may cost. The zero value stands for the
// defaults.
type Limits struct {
	Start  time.Duration // until the client has sent something; 0 = 30 s
	Idle   time.Duration // how long it may be silent then, while nothing waits for it; 0 = 2 s
	Ask    time.Duration // until it has answered a question of the server; 0 = 3 s
	Play   time.Duration // until a play is over, whatever the client does; 0 = 20 s
	Exit   time.Duration // until it has ended once its input ended, before it is made to; 0 = 300 ms
	Line   int           // bytes of a line or body that is read; 0 = 16 MiB
	Bytes  int           // bytes that a play records; 0 = 64 MiB
	Events int           // lines and heads that a play records; 0 = 100,000
	Stderr int           // bytes of free text that are kept; 0 = 256 KiB
}

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		p *time.Duration
		v time.Duration
	}{{&l.Start, 30 * time.Second}, {&l.Idle, 2 * time.Second}, {&l.Ask, 3 * time.Second}, {&l.Play, 20 * time.Second}, {&l.Exit, 300 * time.Millisecond}} {
		if *d.p <= 0 {
			*d.p = d.v
		}
	}
	for _, n := range []struct {
		p *int
		v int
	}{{&l.Line, 16 << 20}, {&l.Bytes, 64 << 20}, {&l.Events, 100_000}, {&l.Stderr, 256 << 10}} {
		if *n.p <= 0 {
			*n.p = n.v
		}
	}
	return l
}
