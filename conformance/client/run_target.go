package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// Target is the client to judge.
type Target struct {
	// Command is the program and its arguments. In them {url} stands for the
	// address of our server, and {command} for a command line that starts one
	// over stdio: an argument that is {command} alone becomes the arguments of
	// that line, and inside another argument it is the line as a shell reads it.
	// {config} is a file with an mcpServers map that has our server as its only
	// entry, over HTTP where {url} stands beside it or nothing else. Where none
	// of them stands the address is appended as the last argument, as the
	// official suite does.
	Command []string
	Dir     string   // its working directory, "" for the current one
	Env     []string // added to the environment, as "NAME=value"
	Inherit []string // see check.Command
	// Between is the command line that reaches a play over stdio, without the
	// address that Connect is given: it is appended.
	Between []string
	// Listen is an address, as in 127.0.0.1:8080, at which a client that
	// somebody else starts is waited for; there is no Command then.
	Listen string
	// Drive is a command line for a shell that is run in each play once the
	// client has sent something, to make it do more.
	Drive string
	// Launch starts a client that lives in this process; nil starts Command.
	Launch func(r Reach) check.Launcher
	// Over are the transports of Launch.
	Over []catalogue.Transport
}

// Reach is how a client gets to the server of a play.
type Reach struct {
	Script    string
	Revision  string
	Transport catalogue.Transport
	URL       string   // "" over stdio
	Address   string   // what Connect takes, over stdio, of a client that is a command
	Env       []string // what the client is told, as "NAME=value"

	// Start starts a server over stdio for a client in this process.
	Start func() *Process
}

const (
	placeURL     = "{url}"
	placeCommand = "{command}"
	placeConfig  = "{config}"
)

func (t *Target) has(place string) bool {
	return slices.ContainsFunc(t.Command, func(arg string) bool { return strings.Contains(arg, place) })
}

// transports are those over which the target can be led to a server of a
// revision.
func (t *Target) transports(rev string) []catalogue.Transport {
	over := t.Over
	if t.Launch == nil {
		over = nil
		if t.Listen == "" && t.has(placeCommand) || t.has(placeConfig) && !t.has(placeURL) {
			over = append(over, catalogue.Stdio)
		}
		if t.Listen != "" || t.has(placeURL) || !t.has(placeCommand) && !t.has(placeConfig) {
			over = append(over, catalogue.HTTP, catalogue.SSE)
		}
	}
	return slices.DeleteFunc(slices.Clone(over), func(t catalogue.Transport) bool {
		return t == catalogue.HTTP && !check.AtLeast(rev, "2025-03-26") || t == catalogue.SSE && check.AtLeast(rev, "2025-03-26")
	})
}

// play plays a script to the client and returns the recording. The error says
// that the client could not be started, or what Save returned.
func (r *runner) play(s *Script, at setting) (*check.Trace, error) {
	l := r.o.Limits
	l = l.withDefaults()
	if g := r.good[at]; g == nil && r.desk == nil {
		l.Idle = l.Idle * 5 / 2 // it has not shown yet how it goes about things
	} else if g != nil && r.desk == nil {
		gap := 3 * longestGap(g)
		l.Idle, l.Ask = max(l.Idle, gap), max(l.Ask, gap)
	}
	if g := r.good[at]; g != nil {
		// It has shown how long it takes: a client that sends nothing now is not
		// waited for as long.
		l.Start = min(l.Start, max(10*time.Second, 10*firstHeard(g)))
	}
	began := time.Now()
	defer func() {
		r.mu.Lock()
		r.rep.Spent(result.Setting{Revision: at.rev, Transport: string(at.t)}, time.Since(began))
		r.mu.Unlock()
	}()
	ctx := r.drive
	p := newPlay(ctx, s, at.rev, at.t, l)
	if err := p.begin(r); err != nil {
		p.close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &StartError{err}
	}
	p.close()
	rec := p.rec.Recording()
	r.mu.Lock()
	switch p.why {
	case OverFlood:
		r.floods++
	case OverSilent:
		if g := r.good[at]; g != nil && Heard(g) {
			r.mutes++
		}
	}
	r.saved++
	n := r.saved
	r.mu.Unlock()
	if r.o.Save != nil {
		name := fmt.Sprintf("%03d-%s-%s-%s", n, at.rev, at.t, strings.ReplaceAll(s.Name, "/", "-"))
		rec := r.o.Redact.Recording(rec)
		r.saving.Lock()
		err := r.o.Save(name, rec)
		r.saving.Unlock()
		if err != nil {
			return nil, err
		}
	}
	return check.NewTrace(rec), nil
}

// firstHeard is when the client sent something first.
func firstHeard(t *check.Trace) time.Duration {
	for i := range t.Recording.Events {
		if e := &t.Recording.Events[i]; e.Dir == transcript.ToServer {
			return e.At
		}
	}
	return 0
}

// longestGap is the longest time between two things that the client sent before
// the play was over.
func longestGap(t *check.Trace) time.Duration {
	var last, gap time.Duration
	for i := range t.Recording.Events {
		e := &t.Recording.Events[i]
		switch {
		case e.Dir == transcript.Note && strings.HasPrefix(string(e.Data), NoteOver):
			return gap
		case e.Dir != transcript.ToServer:
		default:
			if last > 0 {
				gap = max(gap, e.At-last)
			}
			last = e.At
		}
	}
	return gap
}

// begin starts what belongs to a play, and returns when all of it has ended.
func (p *Play) begin(r *runner) error {
	switch {
	case r.desk != nil:
		p.origins[""] = &origin{url: r.desk.base}
	case p.Transport != catalogue.Stdio:
		if _, err := p.open(""); err != nil {
			return err
		}
	}
	if p.Script.Serve != nil {
		p.Script.Serve(p)
	}
	reach := Reach{Script: p.Script.Name, Revision: p.Revision, Transport: p.Transport, URL: p.URL(), Start: p.startProcess}
	reach.Env = p.environment(reach.URL)
	if p.Transport == catalogue.Stdio && r.t.Launch == nil {
		l, err := p.listenStdio()
		if err != nil {
			return err
		}
		defer l.Close()
		reach.Address = l.address()
	}
	r.tell(Progress{Revision: p.Revision, Transport: p.Transport, Script: p.Script.Name})
	if r.t.Drive != "" {
		var driver sync.WaitGroup
		driver.Go(func() { p.driveOn(r.t, reach.Env) })
		defer func() { p.over(OverStop); driver.Wait() }()
	}
	if r.desk != nil {
		if r.desk.await(p) {
			r.tell(r.waiting(p, false))
			p.awaitByHand(r)
		}
		return nil
	}
	for i := range max(1, p.Script.Starts) {
		if err := p.runClient(r, reach, i+1 == max(1, p.Script.Starts)); err != nil {
			return err
		}
		if p.Over() {
			break
		}
	}
	return nil
}

// runClient runs the client once, to its end; the last time the play ends with
// it.
func (p *Play) runClient(r *runner, reach Reach, last bool) error {
	launcher, cleanup, err := r.t.launcher(reach)
	if err != nil {
		return err
	}
	defer cleanup()
	p.mu.Lock()
	p.run++
	p.begun = time.Now()
	p.mu.Unlock()
	p.rec.Note(0, transcript.KindStart, strings.Join(r.o.Redact.Args(r.t.Command), " "))
	c, err := launcher.Launch(p.ctx)
	if err != nil {
		return err
	}
	var readers sync.WaitGroup
	kept := &freeText{p: p}
	readers.Go(func() { kept.read("[stdout] ", c.Output()) })
	if e := c.Errors(); e != nil {
		readers.Go(func() { kept.read("", e) })
	}
	exited := make(chan struct{})
	go func() {
		<-c.Done()
		switch e := c.Exit(); {
		case e.Signal != "":
			p.rec.Note(0, transcript.KindSignal, e.Signal)
		default:
			p.rec.Note(0, transcript.KindExit, strconv.Itoa(e.Code))
		}
		close(exited)
	}()
	p.await(exited, last)
	leave := func(d time.Duration) bool {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-exited:
			return true
		case <-t.C:
			return false
		}
	}
	if !leave(0) {
		_ = c.CloseInput()
		if !leave(p.limits.Exit) {
			p.rec.Note(0, transcript.KindSent, "SIGTERM")
			c.Terminate()
			if !leave(time.Second) {
				p.rec.Note(0, transcript.KindSent, "SIGKILL")
			}
		}
	}
	// What it said last is read, and what it started goes too.
	quiet := make(chan struct{})
	go func() { readers.Wait(); close(quiet) }()
	select {
	case <-quiet:
	case <-time.After(100 * time.Millisecond):
	}
	c.Kill()
	<-exited
	<-quiet
	return nil
}

// freeText keeps the start of what a client writes for people.
type freeText struct {
	p  *Play
	mu sync.Mutex
	n  int
}

func (k *freeText) read(mark string, r io.Reader) {
	const maxLine = 4 << 10
	var line []byte
	buf := make([]byte, 16<<10)
	flush := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.n += len(line) + 1; k.n <= k.p.limits.Stderr {
			k.p.rec.Note(0, transcript.KindStderr, mark+string(line))
		}
		line = line[:0]
	}
	for {
		n, err := r.Read(buf)
		for b := buf[:n]; len(b) > 0; {
			part, rest, whole := bytes.Cut(b, []byte{'\n'})
			if room := maxLine - len(line); room > 0 {
				line = append(line, part[:min(room, len(part))]...)
			}
			if b = rest; whole {
				flush()
			}
		}
		if err != nil {
			if len(line) > 0 {
				flush()
			}
			return
		}
	}
}

// launcher starts the client so that it finds the play; the func removes what
// was made for it.
func (t *Target) launcher(reach Reach) (check.Launcher, func(), error) {
	none := func() {}
	if t.Launch != nil {
		return t.Launch(reach), none, nil
	}
	if len(t.Command) == 0 {
		return nil, none, errors.New("no command given")
	}
	between := append(slices.Clone(t.Between), reach.Address)
	cleanup := none
	config := ""
	if t.has(placeConfig) {
		file, err := os.CreateTemp("", "goldwire-*.json")
		if err != nil {
			return nil, none, err
		}
		cleanup = func() { _ = os.Remove(file.Name()) }
		config = file.Name()
		entry := map[string]any{"url": reach.URL}
		if reach.Transport == catalogue.Stdio {
			entry = map[string]any{"command": between[0], "args": between[1:]}
		}
		err = json.NewEncoder(file).Encode(map[string]any{"mcpServers": map[string]any{"goldwire": entry}})
		if err = errors.Join(err, file.Close()); err != nil {
			cleanup()
			return nil, none, err
		}
	}
	var args []string
	placed := t.has(placeURL) || t.has(placeCommand) || t.has(placeConfig)
	for _, arg := range t.Command {
		switch {
		case arg == placeCommand:
			args = append(args, between...)
			continue
		case strings.Contains(arg, placeCommand):
			arg = strings.ReplaceAll(arg, placeCommand, shellLine(between))
		}
		arg = strings.ReplaceAll(arg, placeURL, reach.URL)
		args = append(args, strings.ReplaceAll(arg, placeConfig, config))
	}
	if !placed {
		args = append(args, reach.URL)
	}
	return check.Command{Args: args, Dir: t.Dir, Env: append(slices.Clone(t.Env), reach.Env...), Inherit: t.Inherit}, cleanup, nil
}

// shellLine is a command line as a shell reads it.
func shellLine(args []string) string {
	var b strings.Builder
	for i, arg := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch {
		case arg != "" && !strings.ContainsFunc(arg, func(c rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./:,@%", c) && !(c == '\\' && runtime.GOOS == "windows")
		}):
			b.WriteString(arg)
		case runtime.GOOS == "windows":
			b.WriteString(`"` + arg + `"`)
		default:
			b.WriteString("'" + strings.ReplaceAll(arg, "'", `'\''`) + "'")
		}
	}
	return b.String()
}

// driveOn runs the command that makes the client do more, once the client has
// sent something. When the play is over it has a second left: a client that is
// quick would otherwise decide whether it runs at all.
func (p *Play) driveOn(t Target, env []string) {
	if !p.Until(time.Hour, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.heard }) {
		return
	}
	args := []string{"sh", "-c", t.Drive}
	if runtime.GOOS == "windows" {
		args = []string{"cmd", "/c", t.Drive}
	}
	free := p.occupied()
	defer free()
	c, err := check.Command{Args: args, Dir: t.Dir, Env: append(slices.Clone(t.Env), env...), Inherit: t.Inherit}.Launch(context.WithoutCancel(p.ctx))
	if err != nil {
		p.Note("the driver could not be started: " + err.Error())
		return
	}
	_ = c.CloseInput()
	kept := &freeText{p: p}
	var readers sync.WaitGroup
	readers.Go(func() { kept.read("[driver] ", c.Output()) })
	readers.Go(func() { kept.read("[driver] ", c.Errors()) })
	select {
	case <-c.Done():
	case <-p.ctx.Done():
	}
	select {
	case <-c.Done():
	case <-time.After(time.Second):
	}
	c.Kill()
	readers.Wait()
	<-c.Done()
}
