package jsonrpc

import (
	"slices"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Side is one end of a connection.
type Side uint8

// The sides.
const (
	ServerSide Side = iota
	ClientSide
)

// String is "server" or "client".
func (s Side) String() string {
	if s == ClientSide {
		return "client"
	}
	return "server"
}

// Method is one row of a revision's method table, which is generated.
type Method struct {
	Name         string // "tools/call"
	Definition   string // name in the schema, "CallToolRequest"
	Notification bool   // otherwise a request
	FromClient   bool   // the client may send it
	FromServer   bool   // the server may send it
	// Capabilities are paths that the answering side of a request, or the
	// sending side of a notification, has to advertise: "tools",
	// "resources.subscribe". "client:roots" and "server:tools" name a side. What
	// follows "extensions." is the identifier of an extension.
	Capabilities   []string
	ParamsRequired bool // a message without params is invalid
	Paginated      bool // the result has a nextCursor
	InputRequired  bool // the result may ask for input (2026-07-28)
	// Embedded requests travel inside other messages (inputRequests of
	// 2026-07-28): they are never sent or answered on their own.
	Embedded bool
	// Gates are capabilities of the client that an embedded request needs for
	// some params only.
	Gates []Gate
}

// Gate is a capability that a request needs when its params have one of some
// members.
type Gate struct {
	Capability string   // its path, "elicitation.url"
	Members    []string // of the params; any of them asks for it
	Values     []string // not empty: only when the member is one of these strings
	Absent     bool     // with Values: also when the member is missing
	OrEmpty    bool     // a parent without members stands for it too, as elicitation {} does for elicitation.form
}

// asked reports whether params ask for the capability.
func (g *Gate) asked(params wire.Raw) bool {
	for _, name := range g.Members {
		v := params.Get(name)
		if len(g.Values) == 0 {
			if v != nil {
				return true
			}
			continue
		}
		s, ok := v.Str()
		if v == nil && g.Absent || ok && slices.Contains(g.Values, s) {
			return true
		}
	}
	return false
}

// Metadata is what the _meta of params says to the runtime. A zero member is
// absent.
type Metadata struct {
	ProgressToken      ID            // progressToken
	ProtocolVersion    string        // io.modelcontextprotocol/protocolVersion
	LogLevel           string        // io.modelcontextprotocol/logLevel
	ClientInfo         wire.Appender // the generated type's pointer, or nil
	ClientCapabilities wire.Appender // the generated type's pointer, or nil
	SubscriptionID     ID            // io.modelcontextprotocol/subscriptionId
	// PassedOn is told to SetMetadata alone: the params are those of another
	// client's request, which may declare less. Extensions, whose results would
	// reach that client, are then not declared for it.
	PassedOn bool
}

// Params is what generated params types implement.
type Params[P any] interface {
	*P
	wire.Appender
	// Metadata returns what the params' _meta says, cheaply.
	Metadata() Metadata
	// SetMetadata writes the non-zero members of m into the params' _meta.
	// It is called on a shallow copy, so it must not write through pointers,
	// maps or slices that it did not make. Types whose revision has no
	// member for something ignore it.
	SetMetadata(m Metadata)
}
