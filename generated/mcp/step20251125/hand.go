package step20251125

import (
	older "github.com/goldwire/goldwire/generated/mcp/v20250618"
	newer "github.com/goldwire/goldwire/generated/mcp/v20251125"
	"github.com/goldwire/goldwire/runtime/wire"
)

// downgradeCancelledParamsRequestID refuses a cancellation without an id: in
// 2025-11-25 it is about a task, which 2025-06-18 does not have.
func downgradeCancelledParamsRequestID(in *newer.CancelledParams, out *older.CancelledParams, e *wire.Env) error {
	if in.RequestID.IsZero() {
		return e.Cannot("requestId", "missing: 2025-06-18 cancels requests only")
	}
	out.RequestID = in.RequestID
	return nil
}

// downgradeClientCapabilitiesElicitation drops elicitation by URL alone: in
// 2025-06-18 elicitation is by form, whatever its members are.
func downgradeClientCapabilitiesElicitation(in *newer.ClientCapabilities, out *older.ClientCapabilities, e *wire.Env) error {
	switch c := in.Elicitation; {
	case c == nil:
	case c.URL != nil && c.Form == nil:
		e.Lose("elicitation", "2025-06-18 elicits by form only")
	default:
		out.Elicitation = c.AppendJSON(nil)
	}
	return nil
}

// downgradeClient is the same for a whole client.
func downgradeClient(in *newer.Client, out *older.Client) {
	if in.ElicitationURL && !in.ElicitationForm {
		out.Elicit = nil
	}
}

// downgradeElicitParamsElicitURLParams refuses a page for the user to visit.
func downgradeElicitParamsElicitURLParams(in *newer.ElicitURLParams, e *wire.Env) (older.ElicitParams, error) {
	return nil, e.Cannot("mode", "2025-06-18 elicits by form only")
}

// downgradePrimitiveSchemaDefinitionTitledSingleSelectEnumSchema writes titles
// as 2025-06-18 has them, in a list of their own.
func downgradePrimitiveSchemaDefinitionTitledSingleSelectEnumSchema(in *newer.TitledSingleSelectEnumSchema, e *wire.Env) (older.PrimitiveSchemaDefinition, error) {
	out := &older.LegacyTitledEnumSchema{
		Enum: make([]string, len(in.OneOf)), EnumNames: make([]string, len(in.OneOf)),
		Title: in.Title, Description: in.Description, Extra: in.Extra,
	}
	for i, o := range in.OneOf {
		out.Enum[i], out.EnumNames[i] = o.Const, o.Title
		for _, x := range o.Extra {
			m := e.Mark()
			e.Lose("", x.Name+": "+goneDown)
			_ = e.At(m, "oneOf", e.AtIndex(m, i, nil))
		}
	}
	if in.Default != nil {
		e.Member(&out.Extra, "default", goneDown, in)
	}
	return out, nil
}

// downgradePrimitiveSchemaDefinitionUntitledSingleSelectEnumSchema is the same
// without titles.
func downgradePrimitiveSchemaDefinitionUntitledSingleSelectEnumSchema(in *newer.UntitledSingleSelectEnumSchema, e *wire.Env) (older.PrimitiveSchemaDefinition, error) {
	out := &older.LegacyTitledEnumSchema{Enum: in.Enum, Title: in.Title, Description: in.Description, Extra: in.Extra}
	if in.Default != nil {
		e.Member(&out.Extra, "default", goneDown, in)
	}
	return out, nil
}

func downgradePrimitiveSchemaDefinitionTitledMultiSelectEnumSchema(*newer.TitledMultiSelectEnumSchema, *wire.Env) (older.PrimitiveSchemaDefinition, error) {
	return nil, errMultiSelect
}

func downgradePrimitiveSchemaDefinitionUntitledMultiSelectEnumSchema(*newer.UntitledMultiSelectEnumSchema, *wire.Env) (older.PrimitiveSchemaDefinition, error) {
	return nil, errMultiSelect
}

// errMultiSelect is the error for a choice of several, whatever the policy: a
// form without the field would be another question.
var errMultiSelect = &wire.ConvertError{Why: "2025-06-18 has no choice of several values"}

// upgradePrimitiveSchemaDefinitionLegacyTitledEnumSchema tells the two apart
// that are one type in 2025-06-18.
func upgradePrimitiveSchemaDefinitionLegacyTitledEnumSchema(in *older.LegacyTitledEnumSchema, e *wire.Env) (newer.PrimitiveSchemaDefinition, error) {
	if in.EnumNames != nil {
		out := new(newer.LegacyTitledEnumSchema)
		return out, upLegacyTitledEnumSchema(out, in, e)
	}
	out := &newer.UntitledSingleSelectEnumSchema{Enum: in.Enum, Title: in.Title, Description: in.Description, Extra: in.Extra}
	if len(in.Extra) > 0 {
		t, err := wire.Take[newer.UntitledSingleSelectEnumSchema](e, &out.Extra, "default")
		if err != nil {
			return nil, err
		}
		if t != nil {
			out.Default = t.Default
		}
	}
	return out, nil
}

func downgradeSamplingMessageContentBlockToolUseContent(_ *newer.ToolUseContent, e *wire.Env) (older.SamplingMessageContentBlock, error) {
	return nil, e.Cannot("", "2025-06-18 has no use of tools in sampling")
}

func downgradeSamplingMessageContentBlockToolResultContent(_ *newer.ToolResultContent, e *wire.Env) (older.SamplingMessageContentBlock, error) {
	return nil, e.Cannot("", "2025-06-18 has no use of tools in sampling")
}

// downgradeToolExecution hides a tool that can only run as a task.
func downgradeToolExecution(in *newer.Tool, out *older.Tool, e *wire.Env) error {
	switch x := in.Execution; {
	case x == nil:
	case x.TaskSupport != nil && *x.TaskSupport == newer.TaskSupportRequired:
		return &wire.ConvertError{Why: "the tool runs as a task only, and 2025-06-18 has no tasks", Omit: true}
	default:
		e.Member(&out.Extra, "execution", goneDown, in)
	}
	return nil
}
