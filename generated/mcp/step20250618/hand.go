package step20250618

import (
	older "github.com/goldwire/goldwire/generated/mcp/v20250326"
	newer "github.com/goldwire/goldwire/generated/mcp/v20250618"
	"github.com/goldwire/goldwire/runtime/wire"
)

// downgradeContentBlockResourceLink makes a text of a link, which content of
// 2025-03-26 cannot be: "name: uri".
func downgradeContentBlockResourceLink(in *newer.ResourceLink, e *wire.Env) (older.ContentBlock, error) {
	if err := e.Instead("", "2025-03-26 has no resource links"); err != nil {
		return nil, err
	}
	out := &older.TextContent{Text: in.Name + ": " + in.URI}
	if in.Annotations != nil {
		out.Annotations = new(older.Annotations)
		m := e.Mark()
		if err := e.At(m, "annotations", downAnnotations(out.Annotations, in.Annotations, e)); err != nil {
			return nil, err
		}
	}
	return out, nil
}
