package client_test

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/conformance/result"
)

// launched lets the server checker start our server over stdio.
type launched struct{ p *client.Play }

func (l launched) pipe() check.Pipe {
	return check.Pipe{Serve: func(ctx context.Context, in io.Reader, out, _ io.Writer) check.Exit {
		s := l.p.StartProcess()
		stop := context.AfterFunc(ctx, func() { s.Signal("SIGTERM") })
		defer stop()
		go func() {
			_, _ = io.Copy(s.In, in)
			_ = s.In.Close()
		}()
		_, _ = io.Copy(out, s.Out)
		<-s.Exited()
		return check.Exit{Code: s.Code()}
	}}
}

// TestGoodServerKeepsTheRules holds that the server that clients are judged by
// keeps the rules for servers itself: in the newest revision of each era, each
// over another transport, and where GOLDWIRE_LARGE is set in all.
func TestGoodServerKeepsTheRules(t *testing.T) {
	for _, rev := range check.Revisions() {
		for _, over := range []catalogue.Transport{catalogue.Stdio, catalogue.HTTP, catalogue.SSE} {
			if over == catalogue.HTTP && rev == "2024-11-05" || over == catalogue.SSE && rev != "2024-11-05" {
				continue
			}
			if os.Getenv("GOLDWIRE_LARGE") == "" && !(rev == "2025-11-25" && over == catalogue.HTTP || rev == "2026-07-28" && over == catalogue.Stdio) {
				continue
			}
			t.Run(rev+" "+string(over), func(t *testing.T) {
				t.Parallel()
				p := client.NewServer(t.Context(), &client.Script{}, rev, over)
				defer p.Close()
				target := conformance.Target{Launcher: launched{p}.pipe()}
				if over != catalogue.Stdio {
					target = conformance.Target{Endpoint: &check.Endpoint{URL: p.URL(), Over: over}}
				}
				rep, err := conformance.Run(t.Context(), target, conformance.Options{Revisions: []string{rev}, Limits: check.Limits{Grace: 20 * time.Millisecond}})
				require.NoError(t, err)
				require.Empty(t, findings(rep))
				require.Greater(t, rep.Summary()[result.Pass], 60)
			})
		}
	}
}

// findings are those of a report, a line each.
func findings(rep *result.Report) []string {
	var out []string
	for _, c := range rep.Results {
		switch c.Verdict {
		case result.Fail, result.Warn, result.Error:
			line := string(c.Verdict) + " " + c.Revision + " " + c.Transport + " " + c.ID + ": want " + c.Expected + ", got " + c.Observed + " " + c.Reason
			for _, f := range c.Frames {
				line += "\n  " + f.Text
			}
			out = append(out, line)
		}
	}
	return out
}
