// Package broken holds peers that each break one rule of the protocol, each
// switched on by its name: the proof that the checks see what they are for.
//
// A fault is put into a peer that is right in everything else. Most sit in the
// small server of package checktest, the others on the wire of the reference
// server, where a filter sees all that passes and changes what it is told to.
// Faults of a third kind are made by program: each member of each message that
// the reference server sends is left out, given another type, named otherwise,
// or said twice.
package broken

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
)

// Fault is a server that breaks one rule.
type Fault struct {
	Name string // unique
	// Check is the id of the check that has to name it; "" is any that covers
	// one of the Requirements.
	Check string
	// Also are ids of checks that may name it too, as what the server does
	// breaks their rules as well.
	Also []string
	// Requirements are the ids in the catalogue of the rules that it breaks;
	// none for those of the check.
	Requirements []string
	// Revision is where it shows; "" is the newest that the check applies to.
	Revision string
	// Tolerated says that it is told as a warning whatever the rule weighs.
	Tolerated bool
	// Server has the fault; nil where Wire has it.
	Server *checktest.Server
	// Wire changes what the reference server says; nil where Server has the
	// fault.
	Wire *Wire
}

// Launcher starts the broken server in this process.
func (f *Fault) Launcher() check.Launcher {
	serve := func(ctx context.Context, in io.Reader, out, errs io.Writer) check.Exit {
		if f.Wire != nil {
			return check.Exit{Code: f.Wire.serve(ctx, reference, in, out, errs)}
		}
		return check.Exit{Code: f.Server.Serve(ctx, in, out, errs)}
	}
	return check.Pipe{Serve: serve}
}

// mutant is a fault of the small server. Tables hold them by the id of the
// check that has to see it; a check may have more of them, as "id/what".
type mutant struct {
	rev    string
	server checktest.Server
	warn   bool // see Fault.Tolerated
}

// Servers are all servers with a named fault, in order of their names.
func Servers() []Fault {
	tables := map[string]mutant{}
	for _, table := range []map[string]mutant{sharedMutants, legacyMutants, modernMutants} {
		maps.Copy(tables, table)
	}
	var out []Fault
	out = append(out, referenceFaults(modernFaults, "modern/", "2026-07-28", "")...)
	for rev, table := range legacyReference {
		out = append(out, referenceFaults(table, "legacy/", rev, " ("+rev+")")...)
	}
	for name, m := range tables {
		id, _, _ := strings.Cut(name, "/")
		out = append(out, Fault{Name: name, Check: id, Also: strings.Fields(also[name]), Revision: m.rev, Tolerated: m.warn, Server: &m.server})
	}
	slices.SortFunc(out, func(a, b Fault) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// referenceFaults are faults of the reference server, named by the requirement
// that they break and, behind a comma, what they do.
func referenceFaults(table map[string]*Wire, era, rev, tail string) (out []Fault) {
	for name, w := range table {
		id, _, _ := strings.Cut(name, ",")
		out = append(out, Fault{Name: era + name + tail, Requirements: []string{era + id}, Also: strings.Fields(alsoReference[era+name+tail]), Revision: rev, Wire: w})
	}
	return out
}

// AlsoNames are the names of faults for which checks are listed that may name
// them too: each has to be one.
func AlsoNames() []string {
	return slices.Concat(slices.Collect(maps.Keys(also)), slices.Collect(maps.Keys(alsoReference)))
}

type (
	server  = checktest.Server
	conn    = checktest.Conn
	request = checktest.Request
	output  = func(*conn, *request, string) string
)

var (
	on      = checktest.On
	swap    = checktest.Swap
	swapArg = checktest.SwapArg
	say     = checktest.Say
	give    = checktest.Give
	refuse  = checktest.Refuse
	dieOn   = checktest.DieOn
	reply   = checktest.Reply
	mute    = checktest.Mute
)
