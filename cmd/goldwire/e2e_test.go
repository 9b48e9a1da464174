//go:build e2e

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

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
			var stdout, stderr bytes.Buffer
			start := time.Now()
			code := run(append([]string{"check", "--format", "json", "--"}, command...), nil, &stdout, &stderr)
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
				b, err := json.MarshalIndent(got, "", "\t")
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(file, append(b, '\n'), 0o666))
				return
			}
			want := loadExpectation(t, p.name)
			// Frames hold times, random ids and texts of the server; what was found is compared.
			ignore := cmpopts.IgnoreFields(finding{}, "Frames", "Why", "Observed", "Expected")
			require.Empty(t, cmp.Diff(want, got, ignore), "findings changed (-confirmed +found); read the frames, then go test -tags e2e ./cmd/goldwire -run TestE2E -update and say why")
		})
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func findings(rep *result.Report) []finding {
	found := []finding{}
	for _, r := range rep.Results {
		if r.Verdict != result.Fail && r.Verdict != result.Warn {
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
	why := map[[2]string]string{}
	for _, f := range before {
		why[[2]string{f.Check, f.Verdict}] = f.Why
		why[[2]string{f.Check, f.Verdict + f.Revision}] = f.Why
	}
	for i := range now {
		f := &now[i]
		if f.Why = why[[2]string{f.Check, f.Verdict + f.Revision}]; f.Why == "" {
			f.Why = why[[2]string{f.Check, f.Verdict}]
		}
	}
}
