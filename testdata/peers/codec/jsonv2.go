//go:build goexperiment.jsonv2

package main

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
)

// In a build with GOEXPERIMENT=jsonv2 this is all that is measured: there
// encoding/json stands on json/v2 too, and whoever uses it would be another.
func impls() []impl {
	var buf bytes.Buffer
	enc := jsontext.NewEncoder(&buf)
	return []impl{plain("json/v2",
		func(b []byte, v any) error { return json.Unmarshal(b, v) },
		func(v any) ([]byte, error) {
			buf.Reset()
			enc.Reset(&buf)
			err := json.MarshalEncode(enc, v)
			return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
		})}
}
