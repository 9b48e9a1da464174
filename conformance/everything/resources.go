package everything

import (
	"strings"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// contents are those of the listed resources, in the order of the list.
var contents = []mcp.ResourceContents{
	&mcp.TextResourceContents{URI: "note:///hello", MIMEType: new("text/plain"), Text: "Hello, world!"},
	&mcp.BlobResourceContents{URI: "note:///bytes", MIMEType: new("application/octet-stream"), Blob: "AAECAw=="},
	&mcp.TextResourceContents{URI: "test://static-text", MIMEType: new("text/plain"), Text: "This text never changes."},
	&mcp.BlobResourceContents{URI: "test://static-binary", MIMEType: new("image/png"), Blob: pixel},
	&mcp.TextResourceContents{URI: "test://watched-resource", MIMEType: new("text/plain"), Text: "Subscribe to this one; the tool touch announces an update."},
}

var resourceList = []mcp.Resource{
	{URI: "note:///hello", Name: "hello", Title: new("Hello"), MIMEType: new("text/plain")},
	{URI: "note:///bytes", Name: "bytes", Title: new("Bytes"), MIMEType: new("application/octet-stream")},
	{URI: "test://static-text", Name: "static-text", Title: new("Static text"), MIMEType: new("text/plain")},
	{URI: "test://static-binary", Name: "static-binary", Title: new("Static picture"), MIMEType: new("image/png")},
	{URI: "test://watched-resource", Name: "watched-resource", Title: new("Watched resource"), MIMEType: new("text/plain")},
}

const (
	noteTemplate = "note:///{name}"
	dataTemplate = "test://template/{id}/data"
)

var templateList = []mcp.ResourceTemplate{
	{URITemplate: noteTemplate, Name: "note", Title: new("Note"), MIMEType: new("text/plain")},
	{URITemplate: dataTemplate, Name: "data", Title: new("Data of an id"), MIMEType: new("application/json")},
}

// read finds a resource, listed or by a template; nil for a URI that names none.
func read(uri string) mcp.ResourceContents {
	for i, r := range resourceList {
		if r.URI == uri {
			return contents[i]
		}
	}
	if name, ok := variable(uri, noteTemplate); ok {
		return &mcp.TextResourceContents{URI: uri, MIMEType: new("text/plain"), Text: "A note about " + name + "."}
	}
	if id, ok := variable(uri, dataTemplate); ok {
		return &mcp.TextResourceContents{URI: uri, MIMEType: new("application/json"), Text: `{"id":` + string(wire.Quote(id)) + `}`}
	}
	return nil
}

// variable is what a URI has in the place of a template's one variable.
func variable(uri, template string) (string, bool) {
	before, rest, _ := strings.Cut(template, "{")
	_, after, _ := strings.Cut(rest, "}")
	v, ok := strings.CutPrefix(uri, before)
	if ok {
		v, ok = strings.CutSuffix(v, after)
	}
	return v, ok && v != "" && !strings.ContainsAny(v, "/?#")
}

// noResource is the error for a URI that names nothing. data.uri tells which
// (server/resources, error handling).
func noResource(uri string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "resource not found", Data: wire.Raw(`{"uri":` + string(wire.Quote(uri)) + `}`)}
}
