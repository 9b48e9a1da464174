package broken_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/broken"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/result"
)

// TestOneCauseIsToldOnce holds that the check of a schema does not tell again of
// what a check that looks more closely finds in the same message, and that it
// does where that one is not asked for or there is another fault.
func TestOneCauseIsToldOnce(t *testing.T) {
	replacing := func(pairs ...string) *broken.Fault {
		r := strings.NewReplacer(pairs...)
		return &broken.Fault{Server: &checktest.Server{Output: func(_ *checktest.Conn, req *checktest.Request, a string) string {
			if req == nil || req.Method != "tools/list" {
				return a
			}
			return r.Replace(a)
		}}}
	}
	const (
		schema, noSchema = `"description":"Says hello","inputSchema":{"type":"object"}`, `"description":"Says hello","inputSchema":{"type":"array"}`
	)
	for _, tt := range []struct {
		name  string
		fault *broken.Fault
		only  []string
		want  []string
	}{
		{"one fault", replacing(schema, noSchema), nil, []string{"tool-input-schema"}},
		{"a member that is missing", replacing(schema, `"description":"Says hello"`), nil, []string{"tool-input-schema"}},
		{"by itself", replacing(schema, noSchema), []string{"tools-list-shape"}, []string{"tools-list-shape"}},
		{"the other by itself", replacing(schema, noSchema), []string{"tool-input-schema"}, []string{"tool-input-schema"}},
		{"another fault in the list", replacing(schema, noSchema, `"title":"Hello"`, `"title":5`, `"name":"hello"`, `"name":"hello","title":5`), nil, []string{"tool-input-schema", "tools-list-shape"}},
		{"none", replacing("x", "x"), nil, nil},
	} {
		for _, rev := range []string{"2025-11-25", modernRevision} {
			t.Run(tt.name+" "+rev, func(t *testing.T) {
				var got []string
				synctest.Test(t, func(t *testing.T) {
					rep, err := conformance.Run(t.Context(), conformance.Target{Launcher: tt.fault.Launcher()}, conformance.Options{Revisions: []string{rev}, Checks: tt.only})
					require.NoError(t, err)
					told := map[string]bool{}
					for _, c := range rep.Results {
						if c.Verdict == result.Fail || c.Verdict == result.Warn || c.Verdict == result.Error {
							told[c.ID] = true
						}
					}
					got = slices.Sorted(maps.Keys(told))
				})
				require.Equal(t, tt.want, got)
			})
		}
	}
}
