//go:build e2e

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/report"
)

// TestE2EClients judges clients, ours and such that nobody here wrote, and
// compares with what was confirmed by reading.
func TestE2EClients(t *testing.T) {
	self := filepath.Join(t.TempDir(), "goldwire")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", self, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, p := range judgedClients {
		t.Run(p.name, func(t *testing.T) {
			command := append([]string(nil), p.command...)
			for i, arg := range command {
				if path, err := filepath.Abs(filepath.Join("../..", arg)); arg == "GOLDWIRE" {
					command[i] = self
				} else if err == nil && strings.Contains(arg, "/") && exists(path) {
					command[i] = path
				}
			}
			args := append([]string{"check", "--client", "--format", "json", "--env", "MCP_REMOTE_CONFIG_DIR=" + t.TempDir()}, p.flags...)
			cmd := exec.CommandContext(t.Context(), self, append(append(args, "--"), command...)...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			start := time.Now()
			_ = cmd.Run()
			took := time.Since(start)
			t.Logf("%s: exit %d after %s", p.client, cmd.ProcessState.ExitCode(), took.Round(time.Millisecond))
			require.Contains(t, []int{exitOK, exitBroken}, cmd.ProcessState.ExitCode(), "%s", &stderr)
			rep, err := report.ParseJSON(stdout.Bytes())
			require.NoError(t, err)
			t.Logf("revisions %v: %v", rep.Revisions, rep.Summary())

			got := expectation{Server: p.client, Findings: findings(rep)}
			if p.clean {
				require.Empty(t, got.Findings)
				return
			}
			file := filepath.Join(expectedClientsDir, p.name+".json")
			if *update {
				if exists(file) {
					keepReasons(got.Findings, loadExpectation(t, "clients/"+p.name).Findings)
				}
				require.NoError(t, os.MkdirAll(expectedClientsDir, 0o777))
				require.NoError(t, os.WriteFile(file, got.text(t), 0o666))
				return
			}
			want := loadExpectation(t, "clients/"+p.name)
			ignore := cmpopts.IgnoreFields(finding{}, "Frames", "Why", "Observed", "Expected")
			require.Empty(t, cmp.Diff(want, got, ignore), "findings changed (-confirmed +found); read the frames, then go test -tags e2e ./cmd/goldwire -run TestE2EClients -update and say why")
		})
	}
}
