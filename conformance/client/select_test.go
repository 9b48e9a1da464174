package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// TestFewChecksPlayFewScripts holds that what no selected check looks at is not
// played, and that the verdicts are those of a run of all.
func TestFewChecksPlayFewScripts(t *testing.T) {
	verdict := func(id string) (v result.Verdict, plays int) {
		rep, err := client.Run(t.Context(), ours, client.Options{
			Revisions: []string{"2025-11-25"}, Transports: []catalogue.Transport{catalogue.HTTP}, Parallel: 8,
			Selects: func(k *check.Check, _ string, _ catalogue.Transport) bool { return k.ID == id },
			Save:    func(string, *transcript.Recording) error { plays++; return nil },
		})
		require.NoError(t, err)
		require.Len(t, rep.Results, 1)
		return rep.Results[0].Verdict, plays
	}
	for id, want := range map[string]int{"client-http-both-answers": 3, "client-get-closed": 2} {
		v, plays := verdict(id)
		require.Equal(t, result.Pass, v, id)
		require.Equal(t, want, plays, id)
	}
}
