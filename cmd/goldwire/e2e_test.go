//go:build e2e

package main

import (
	"bytes"
	"flag"
	"net"
	neturl "net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/report"
	"github.com/goldwire/goldwire/conformance/result"
)

var update = flag.Bool("update", false, "write what is found into the expectations; the reasons of known findings stay")

// TestE2EForeignServers judges servers that nobody here wrote, in the newest
// revision of each era that they speak, and compares with what was confirmed
// by reading.
func TestE2EForeignServers(t *testing.T) {
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			command := append([]string(nil), p.command...)
			for i, arg := range command {
				if path := filepath.Join("../..", arg); exists(path) {
					command[i] = path
				}
			}
			args := append([]string{"check", "--format", "json", "--"}, command...)
			if p.url != "" {
				args = []string{"check", "--format", "json", startPeer(t, command, p.env, p.url)}
			}
			var stdout, stderr bytes.Buffer
			start := time.Now()
			code := run(args, nil, &stdout, &stderr)
			took := time.Since(start)
			t.Logf("%s: exit %d after %s", p.server, code, took.Round(time.Millisecond))
			require.Less(t, took, time.Minute, "nobody waits longer than that for a verdict")
			require.Contains(t, []int{exitOK, exitBroken}, code, "%s", &stderr)
			rep, err := report.ParseJSON(stdout.Bytes())
			require.NoError(t, err)
			t.Logf("revisions %v: %v", rep.Revisions, rep.Summary())

			got := expectation{Server: p.server, Findings: findings(rep)}
			file := filepath.Join(expectedDir, p.name+".json")
			if *update {
				if exists(file) {
					keepReasons(got.Findings, loadExpectation(t, p.name).Findings)
				}
				require.NoError(t, os.WriteFile(file, got.text(t), 0o666))
				return
			}
			want := loadExpectation(t, p.name).without(got)
			// Frames hold times, random ids and texts of the server; what was found is compared.
			for i := range rep.Results {
				require.NotEqual(t, result.Error, rep.Results[i].Verdict, "%s: %s", rep.Results[i].ID, rep.Results[i].Reason)
			}
			ignore := cmpopts.IgnoreFields(finding{}, "Frames", "Why", "Sometimes", "Observed", "Expected")
			require.Empty(t, cmp.Diff(want, got, ignore), "findings changed (-confirmed +found); read the frames, then go test -tags e2e ./cmd/goldwire -run TestE2E -update and say why")
		})
	}
}

// startPeer starts a server that is reached over HTTP and gives its address.
func startPeer(t *testing.T, command, env []string, url string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	with := func(list []string) []string {
		var out []string
		for _, s := range list {
			out = append(out, strings.ReplaceAll(s, "{port}", port))
		}
		return out
	}
	command = with(command)
	address := with([]string{url})[0]
	u, err := neturl.Parse(address)
	require.NoError(t, err)
	busy, err := net.Dial("tcp", u.Host)
	if err == nil {
		_ = busy.Close()
		t.Skipf("something else listens at %s", u.Host)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), with(env)...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", u.Host)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 30*time.Second, 20*time.Millisecond, "%s does not listen", command[0])
	return address
}

// TestE2EOwnServerIsClean holds that the checker finds nothing in the reference
// server, in any revision over any transport.
func TestE2EOwnServerIsClean(t *testing.T) {
	goldwire, err := exec.LookPath("goldwire")
	require.NoError(t, err)
	mcp := startPeer(t, []string{goldwire, "serve", "--sse", "--http", "127.0.0.1:{port}"}, nil, "http://127.0.0.1:{port}/mcp")
	for _, address := range []string{mcp, strings.TrimSuffix(mcp, "mcp") + "sse"} {
		for _, rev := range check.Revisions() {
			t.Run(rev+" at "+address[strings.LastIndexByte(address, '/'):], func(t *testing.T) {
				var stdout, stderr bytes.Buffer
				start := time.Now()
				code := run([]string{"check", "--format", "json", "--revision", rev, address}, nil, &stdout, &stderr)
				took := time.Since(start)
				require.Equal(t, exitOK, code, "%s%s", &stderr, &stdout)
				rep, err := report.ParseJSON(stdout.Bytes())
				require.NoError(t, err)
				t.Logf("%v in %s", rep.Summary(), took.Round(time.Millisecond))
				require.Empty(t, findings(rep))
				require.Zero(t, rep.Summary()[result.Blocked])
			})
		}
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func findings(rep *result.Report) []finding {
	found := []finding{}
	for _, r := range rep.Results {
		if r.Verdict != result.Fail && r.Verdict != result.Warn || r.ID == "http-loopback-only" { // that is up to the machine
			continue
		}
		f := finding{
			Check: r.ID, Revision: r.Revision, Verdict: string(r.Verdict), Requirements: r.Requirements,
			Spec: r.URL, Expected: r.Expected, Observed: r.Observed,
		}
		for _, fr := range r.Frames {
			text := fr.Text
			if len(text) > 600 {
				text = text[:600] + "…"
			}
			f.Frames = append(f.Frames, text)
		}
		found = append(found, f)
	}
	return found
}

func keepReasons(now, before []finding) {
	why, chance := map[[2]string]string{}, map[[2]string]bool{}
	for _, f := range before {
		why[[2]string{f.Check, f.Verdict}] = f.Why
		why[[2]string{f.Check, f.Verdict + f.Revision}] = f.Why
		chance[[2]string{f.Check, f.Revision}] = f.Sometimes
	}
	for i := range now {
		f := &now[i]
		f.Sometimes = chance[[2]string{f.Check, f.Revision}]
		if f.Why = why[[2]string{f.Check, f.Verdict + f.Revision}]; f.Why == "" {
			f.Why = why[[2]string{f.Check, f.Verdict}]
		}
	}
}
