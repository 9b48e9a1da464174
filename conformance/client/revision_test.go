package client_test

import (
	"bufio"
	"context"
	"io"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/runtime/wire"
)

// offersJune is a client that offers 2025-06-18. It goes on with a server that
// answers one of the versions in knows, or any at all where there are none.
func offersJune(knows ...string) client.Target {
	return raw(func(_ context.Context, s *client.Process, _ io.Writer) int {
		_, _ = io.WriteString(s.In, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"june","version":"1"}}}`+"\n")
		r := bufio.NewReader(s.Out)
		line, err := r.ReadBytes('\n')
		version, _ := wire.Raw(line).Get("result").Get("protocolVersion").Str()
		if err != nil || version == "" || knows != nil && !slices.Contains(knows, version) {
			return 1
		}
		_, _ = io.WriteString(s.In, ready+`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`+"\n")
		_, _ = r.ReadString('\n')
		return 0
	})
}

// judgedJune plays the good server and one of a version that nobody speaks.
func judgedJune(t *testing.T, target client.Target, revisions ...string) (rep *result.Report, err error) {
	t.Helper()
	scripts := slices.DeleteFunc(client.Scripts(), func(s client.Script) bool { return s.Name != client.Good && s.Name != "unknown-version" })
	require.Len(t, scripts, 2)
	synctest.Test(t, func(t *testing.T) {
		rep, err = client.Run(t.Context(), target, client.Options{
			Revisions: revisions,
			Selects:   func(k *check.Check, _ string, _ catalogue.Transport) bool { return k.Layer == check.Protocol },
		}.WithScripts(scripts...))
	})
	return rep, err
}

// TestClientIsJudgedByWhatItSpeaks holds that a client which goes on whatever
// version it is told is judged by the one that it offers, and one that reads
// the version by the newest that it accepts.
func TestClientIsJudgedByWhatItSpeaks(t *testing.T) {
	tests := []struct {
		name   string
		target client.Target
		judged []string
		found  []string
	}{
		{"reads no version", offersJune(), []string{"2025-06-18"}, []string{"client-unknown-version"}},
		{"knows what it offers", offersJune("2025-06-18"), []string{"2025-06-18"}, nil},
		{"knows a newer one", offersJune("2025-06-18", "2025-11-25"), []string{"2025-11-25"}, []string{"client-offers-latest"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rep, err := judgedJune(t, tt.target)
			require.NoError(t, err)
			require.Equal(t, tt.judged, rep.Revisions)
			var found []string
			for _, v := range rep.Results {
				if v.Verdict == result.Fail || v.Verdict == result.Warn {
					found = append(found, v.ID)
				}
			}
			for _, id := range tt.found {
				require.Contains(t, found, id)
			}
			for _, id := range []string{"client-unknown-version", "client-offers-latest"} {
				if !slices.Contains(tt.found, id) {
					require.NotContains(t, found, id)
				}
			}
		})
	}
}

// TestClientOfAnotherRevision holds that a client which does not speak what it
// was to be judged by is told of with what it offers.
func TestClientOfAnotherRevision(t *testing.T) {
	for name, target := range map[string]client.Target{"leaves": offersJune("2025-06-18"), "reads no version": offersJune()} {
		t.Run(name, func(t *testing.T) {
			_, err := judgedJune(t, target, "2025-11-25", "2026-07-28")
			var none *client.RevisionError
			require.ErrorAs(t, err, &none)
			require.Equal(t, []string{"2025-06-18"}, none.Offers)
			require.EqualError(t, err, "the client does not speak 2025-11-25, 2026-07-28; it offers 2025-06-18")
		})
	}
	_, err := judgedJune(t, offersJune("none"), "2025-06-18")
	require.ErrorContains(t, err, "comes to terms with no server of ours")
}
