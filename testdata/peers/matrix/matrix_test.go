//go:build e2e

package matrix

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/testdata/peers/matrix/script"
)

var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// peer is a toolkit.
type peer struct {
	name    string
	command []string // a Go program below this folder, or what to run
	modern  bool     // speaks 2026-07-28
	sse     string   // what of it speaks the HTTP+SSE of 2024-11-05: both, client, or nothing
	newest  bool     // its client offers its newest revision, whatever is asked for
	narrow  bool     // its server can be told to speak one revision only
}

var carriers = []string{"stdio", "http", "sse", "fallback"}

var peers = []peer{
	{name: "goldwire", command: []string{"goldwire"}, modern: true, sse: "both", narrow: true},
	{name: "go-sdk", command: []string{"gosdk"}, modern: true, sse: "both", narrow: true},
	{name: "mcp-go", command: []string{"mcpgo"}, modern: true, sse: "both"},
	{name: "typescript v1", command: []string{"node", "../node/typescript1.mjs"}, sse: "both", newest: true},
	{name: "typescript v2", command: []string{"node", "../node/typescript2.mjs"}, modern: true, sse: "client"},
}

// cell is one pairing in one revision over one carrier.
type cell struct {
	client, server    peer
	carrier, revision string
	detect            bool // the client finds out what the server speaks
	steps             []script.Step
	err               error // the client said nothing of use
}

func cells() (l []*cell) {
	for _, p := range peers {
		for _, pair := range [][2]peer{{peers[0], p}, {p, peers[0]}} {
			for _, carrier := range carriers {
				for _, detect := range []bool{false, true} {
					for _, revision := range revisions {
						c := &cell{client: pair[0], server: pair[1], carrier: carrier, revision: revision, detect: detect}
						if c.shared() && !slices.ContainsFunc(l, func(o *cell) bool { return o.row() == c.row() && o.revision == c.revision }) {
							l = append(l, c)
						}
					}
				}
			}
		}
	}
	return l
}

// shared reports whether both sides have the carrier and the revision.
func (c *cell) shared() bool {
	first := revisions[0]
	newest := revisions[4]
	if !c.server.modern {
		newest = revisions[3]
	}
	switch {
	case c.detect && (c.client.newest || c.carrier == "sse" || c.carrier == "fallback" || !c.server.narrow && c.revision != newest):
		return false
	case c.revision == "2026-07-28" && !(c.client.modern && c.server.modern):
		return false
	case c.carrier == "fallback" && c.client.name != peers[0].name:
		return false
	case c.carrier == "sse" || c.carrier == "fallback":
		return c.revision == first && c.server.sse == "both" && c.client.sse != ""
	case c.carrier == "http":
		return c.revision != first
	}
	return true
}

func (c *cell) row() string {
	row := fmt.Sprintf("%s → %s, %s", c.client.name, c.server.name, c.carrier)
	if c.detect {
		row += ", detected"
	}
	return row
}

// failed are the steps that failed. Those after open need each other not.
func (c *cell) failed() (l []script.Step) {
	if c.err != nil {
		return []script.Step{{Name: "all", Err: c.err.Error()}}
	}
	for _, s := range c.steps {
		if s.Err != "" {
			l = append(l, s)
		}
	}
	if len(l) == 0 && len(c.steps) < len(script.Steps) {
		l = append(l, script.Step{Name: script.Steps[len(c.steps)], Err: "nothing was said of it"})
	}
	return l
}

// unexplained are the failures that no fact says.
func (c *cell) unexplained() (l []script.Step) {
	for _, s := range c.failed() {
		if !slices.ContainsFunc(facts, func(f fact) bool { return f.fits(c, s) }) {
			l = append(l, s)
		}
	}
	return l
}

// TestE2EMatrix pairs Goldwire's client with foreign servers and foreign
// clients with Goldwire's server: each revision, over each carrier. What a
// peer does wrong stands in facts; a fact that is none is an error as well.
func TestE2EMatrix(t *testing.T) {
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./...")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	all := cells()
	began := time.Now()
	todo := make(chan *cell)
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			for c := range todo {
				c.steps, c.err = c.run(t.Context(), dir)
			}
		})
	}
	for _, c := range all {
		todo <- c
	}
	close(todo)
	group.Wait()

	// On a busy machine a program may be stopped for longer than a tool takes
	// pauses for. What goes wrong again goes wrong.
	for _, c := range all {
		if l := c.unexplained(); l != nil {
			t.Logf("%s %s: again, as %s failed: %.300s", c.row(), c.revision, l[0].Name, l[0].Err)
			c.steps, c.err = c.run(t.Context(), dir)
		}
	}

	known := make([]bool, len(facts))
	var notes []string
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "client → server, carrier\t%s\n", strings.Join(revisions, "\t"))
	for _, first := range all {
		if first != all[slices.IndexFunc(all, func(c *cell) bool { return c.row() == first.row() })] {
			continue
		}
		fmt.Fprint(w, first.row())
		for _, revision := range revisions {
			text := "–"
			for _, c := range all {
				if c.row() != first.row() || c.revision != revision {
					continue
				}
				text = "ok"
				var names []string
				for _, s := range c.failed() {
					why, _, _ := strings.Cut(s.Err, "\n")
					i := slices.IndexFunc(facts, func(f fact) bool { return f.fits(c, s) })
					if i < 0 {
						names = append(names, s.Name+"!")
						notes = append(notes, fmt.Sprintf("%s %s: %s: %.300s", c.row(), revision, s.Name, why))
						continue
					}
					known[i] = true
					names = append(names, fmt.Sprintf("%s[%d]", s.Name, i+1))
				}
				if names != nil {
					text = strings.Join(names, " ")
				}
			}
			fmt.Fprint(w, "\t", text)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
	t.Logf("%d pairings in %s\n\n%s", len(all), time.Since(began).Round(time.Second), &table)
	for i, f := range facts {
		t.Logf("[%d] %s", i+1, f.why)
		if !known[i] && !f.sometimes {
			t.Errorf("fact %d was not seen: strike it out", i+1)
		}
	}
	for _, n := range notes {
		t.Error(n)
	}
}

// program is the command of a peer.
func (p peer) program(dir string, args ...string) *exec.Cmd {
	command := slices.Concat(p.command, args)
	if len(p.command) == 1 {
		command[0] = filepath.Join(dir, command[0])
	}
	return exec.Command(command[0], command[1:]...)
}

func (c *cell) run(ctx context.Context, dir string) ([]script.Step, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	serve := []string{"-serve", strings.Replace(c.carrier, "fallback", "sse", 1)}
	if c.server.narrow && (c.client.newest || c.detect) {
		serve = append(serve, "-revision", c.revision)
	}
	server := c.server.program(dir, serve...)
	call := []string{"-call", c.carrier, "-revision", c.revision}
	if c.detect {
		call = append(call, "-detect", "yes")
	}
	call = append(call, "--")
	if c.carrier == "stdio" {
		call = append(call, server.Args...)
	} else {
		url, stop, err := listening(ctx, server)
		if err != nil {
			return nil, err
		}
		defer stop()
		call = append(call, url)
	}
	client := c.client.program(dir, call...)
	var stdout, stderr bytes.Buffer
	client.Stdout, client.Stderr = &stdout, &stderr
	client.WaitDelay = time.Second
	if err := client.Start(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = client.Process.Kill() })
	err := client.Wait()
	stop()
	var steps []script.Step
	for d := json.NewDecoder(&stdout); d.More(); {
		var s script.Step
		if err := d.Decode(&s); err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	if len(steps) == 0 || err != nil {
		return nil, fmt.Errorf("the client ended: %v %.300s", err, &stderr)
	}
	return steps, nil
}

// listening starts a server that listens and returns its URL, and what ends
// it.
func listening(ctx context.Context, server *exec.Cmd) (url string, stop func(), err error) {
	stderr, err := server.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := server.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}
	kill := context.AfterFunc(ctx, func() { _ = server.Process.Kill() })
	defer kill()
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "LISTEN "); ok {
			go func() {
				for lines.Scan() { // so that it never waits for us
				}
			}()
			return url, stop, nil
		}
		err = fmt.Errorf("the server says %s", lines.Text())
	}
	stop()
	if err == nil {
		err = os.ErrClosed
	}
	return "", nil, err
}
