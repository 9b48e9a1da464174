package delta

import "github.com/goldwire/goldwire/gen/ir"

// GoField is the Go type of a member's field, as the comparison knows it.
func GoField(p *ir.Package, f *ir.Field) string { return goField(index(p), f) }
