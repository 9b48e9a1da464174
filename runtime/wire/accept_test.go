package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/goccy/go-json/jsontext"
	gojson "github.com/goccy/go-json/v2"

	"github.com/goldwire/goldwire/runtime/wire"
)

type object map[string]json.RawMessage

// pairs are types beside plain ones that say the same to a JSON library.
var pairs = []struct {
	typed func() codec
	plain func() any
}{
	{func() codec { return new(CallToolParams) }, func() any {
		return new(struct {
			Name      string `json:"name"`
			Arguments object `json:"arguments"`
			Meta      object `json:"_meta"`
		})
	}},
	{func() codec { return new(ListToolsResult) }, func() any {
		return new(struct {
			Tools []struct {
				Name         string                `json:"name"`
				InputSchema  object                `json:"inputSchema"`
				Title        *string               `json:"title"`
				Description  *string               `json:"description"`
				OutputSchema object                `json:"outputSchema"`
				Annotations  *plainToolAnnotations `json:"annotations"`
				Meta         object                `json:"_meta"`
			} `json:"tools"`
			NextCursor *string `json:"nextCursor"`
			Meta       object  `json:"_meta"`
		})
	}},
	{func() codec { return new(ProgressParams) }, func() any { return new(plainProgress) }},
	{func() codec { return new(Annotations) }, func() any {
		return new(struct {
			Audience     []string `json:"audience"`
			Priority     *float64 `json:"priority"`
			LastModified *string  `json:"lastModified"`
		})
	}},
}

// meant reports whether an error stands for one of the differences that are meant: a library knows no required members,
// takes null for anything and a token for any JSON value, and has other limits. It was told to allow names that come
// twice and bad UTF-8 everywhere, as it cannot do so in raw values alone.
func meant(err error) bool {
	var e *wire.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case wire.ErrMissing, wire.ErrDuplicate, wire.ErrDepth, wire.ErrLimit, wire.ErrUTF8:
		return true
	case wire.ErrType:
		return strings.HasSuffix(e.Msg, "got null") || e.Path == "progressToken"
	case wire.ErrValue:
		return strings.Contains(e.Msg, "surrogate") || e.Path == "progressToken"
	}
	return e.Path == "progressToken"
}

// FuzzAcceptance: what the strict decoder reads a JSON library reads into a plain struct as well, and but for the
// differences that are meant, what it refuses the library refuses.
func FuzzAcceptance(f *testing.F) {
	seedMessages(f, func(s string) { f.Add([]byte(s)) })
	options := gojson.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, p := range pairs {
			x := p.typed()
			err := wire.Decode(bytes.Clone(b), wire.Options{}, x)
			plain := gojson.Unmarshal(b, p.plain(), options)
			if err == nil && plain != nil {
				t.Fatalf("%T: %q is accepted, the library says: %v", x, b, plain)
			}
			if err != nil && plain == nil && !meant(err) {
				t.Fatalf("%T: %q is refused (%v), the library accepts it", x, b, err)
			}
		}
	})
}
