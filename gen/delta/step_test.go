package delta_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/delta"
	"github.com/goldwire/goldwire/gen/ir"
)

// byHand are the functions that persons wrote, by step.
var byHand = map[string]string{
	"step20250326": "downgradeContentBlockAudioContent downgradeSamplingMessageContentBlockAudioContent",
	"step20250618": "downgradeContentBlockResourceLink",
	"step20251125": "downgradeCancelledParamsRequestID downgradeClient downgradeClientCapabilitiesElicitation downgradeElicitParamsElicitURLParams " +
		"downgradePrimitiveSchemaDefinitionTitledMultiSelectEnumSchema downgradePrimitiveSchemaDefinitionTitledSingleSelectEnumSchema " +
		"downgradePrimitiveSchemaDefinitionUntitledMultiSelectEnumSchema downgradePrimitiveSchemaDefinitionUntitledSingleSelectEnumSchema " +
		"downgradeSamplingMessageContentBlockToolResultContent downgradeSamplingMessageContentBlockToolUseContent downgradeToolExecution " +
		"upgradePrimitiveSchemaDefinitionLegacyTitledEnumSchema",
	"step20260728": "DowngradeError UpgradeError downgradeElicitURLParamsElicitationID downgradeRequestMetaClientCapabilities downgradeRequestMetaClientInfo " +
		"downgradeRequestMetaLogLevel downgradeRequestMetaProtocolVersion downgradeResultMeta downgradeToolOutputSchema upgradeCancelledParamsRequestID " +
		"upgradeRequestMetaClientCapabilities upgradeRequestMetaClientInfo upgradeRequestMetaLogLevel upgradeRequestMetaProtocolVersion upgradeToolExecution",
}

func TestStepsAskForWhatNoRuleSettles(t *testing.T) {
	pkgs := all(t)
	for i := 1; i < len(pkgs); i++ {
		s, err := delta.Step(pkgs[i-1], pkgs[i])
		require.NoError(t, err)
		var names []string
		for _, h := range s.Hand {
			names = append(names, h.Func)
			require.NotEmpty(t, h.Why, h.Func)
		}
		require.Equal(t, byHand[s.Name], strings.Join(names, " "), s.Name)
	}
}

// TestStepOfNothing holds that a revision which changed nothing needs no person
// and loses nothing.
func TestStepOfNothing(t *testing.T) {
	pkgs := all(t)
	p := pkgs[len(pkgs)-1]
	next := *p
	next.Revision = "2027-01-15"
	s, err := delta.Step(p, &next)
	require.NoError(t, err)
	require.Equal(t, "step20270115", s.Name)
	require.Equal(t, "mcp/step20270115", s.Dir)
	require.Empty(t, s.Hand)
	for _, w := range append(s.Up, s.Down...) {
		require.Empty(t, w.Takes)
		for _, m := range w.Moves {
			require.Equal(t, ir.Convert, m.Kind, "%s", w.From.Name)
		}
	}
}

// TestStepsAgreeWithTheClasses holds that what the comparison calls lossless is
// converted without loss, and what it calls lossy or impossible is not.
func TestStepsAgreeWithTheClasses(t *testing.T) {
	pkgs := all(t)
	for i := 1; i < len(pkgs); i++ {
		d, err := delta.Compare(pkgs[i-1], pkgs[i])
		require.NoError(t, err)
		s, err := delta.Step(pkgs[i-1], pkgs[i])
		require.NoError(t, err)
		classes := map[string]*delta.Conversion{}
		for _, c := range d.Conversions {
			classes[c.Type] = c
		}
		for _, w := range slices.Concat(s.Up, s.Down) {
			name, class := w.To.Name, delta.Lossless
			if !w.Up {
				name = w.From.Name
			}
			if c := classes[name]; c != nil {
				class = c.Down
				if w.Up {
					class = c.Up
				}
			}
			// A raw object loses nothing of what the class of its type is about, and of a
			// new name only a rule knows.
			raw := slices.ContainsFunc(w.Moves, func(m *ir.Move) bool {
				return m.Kind == ir.Convert && (m.Conv.Kind == ir.ToRaw || m.From.JSON != m.To.JSON)
			})
			if strings.ContainsAny(string(class), "LX") {
				if raw {
					continue
				}
				require.False(t, w.Sure, "%s %s is %s", s.Name, name, class)
				continue
			}
			for _, m := range w.Moves {
				require.NotEqual(t, ir.DropMember, m.Kind, "%s %s.%s is %s", s.Name, name, m.From, class)
			}
			for _, a := range w.ArmMoves {
				require.True(t, a.Way != nil || w.Up, "%s %s.%s is %s", s.Name, name, a.From, class)
			}
		}
	}
}

func TestRuleThatSettlesNothingIsRefused(t *testing.T) {
	pkgs := all(t)
	require.ErrorContains(t, delta.UnusedRule(pkgs[2], pkgs[3]), "the rule for converting Tool.wings between 2025-11-25 and the revision before it settles nothing")
}

func TestRuleForANameThatChanged(t *testing.T) {
	pkgs := all(t)
	s, err := delta.Renamed(pkgs[2], pkgs[3], "Implementation", "websiteUrl", "title") // as if it had been that
	require.NoError(t, err)
	for _, w := range slices.Concat(s.Up, s.Down) {
		if w.From.Name != "Implementation" {
			continue
		}
		from, to := "title", "websiteUrl"
		if !w.Up {
			from, to = to, from
		}
		require.True(t, slices.ContainsFunc(w.Moves, func(m *ir.Move) bool {
			return m.Kind == ir.Convert && m.From.JSON == from && m.To.JSON == to
		}))
		require.False(t, slices.ContainsFunc(w.Moves, func(m *ir.Move) bool { return m.Kind == ir.DropMember && m.From.JSON == from }))
	}
}
