package everything

import (
	"github.com/goldwire/goldwire/conformance/everything/old"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// Server is the reference server in every revision, for one connection or many.
func Server() jsonrpc.Binder { return compat.Revisions(old.Legacy(), New()) }
