package dial

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRefusedEntries: an entry that could be read in two ways, or that nothing
// could be started with, is refused when it is read.
func TestRefusedEntries(t *testing.T) {
	for entry, want := range map[string]string{
		`{"type":"http","url":"http://x/","headers":{"Authorization":"a","authorization":"b"}}`: `headers: "Authorization" is set twice`,
		`{"command":"a\u0000b"}`:              "holds a NUL",
		`{"command":"x","args":["a\u0000b"]}`: "holds a NUL",
		`{"command":"x","cwd":"a\u0000b"}`:    "holds a NUL",
	} {
		var s Server
		require.NoError(t, json.Unmarshal([]byte(entry), &s), entry)
		_, err := s.Dialer()
		require.ErrorContains(t, err, want, entry)
	}
	for _, timeout := range []string{"9223372036854.775807", "-9223372036854.775807", "1e300"} {
		var d Duration
		require.Error(t, json.Unmarshal([]byte(timeout), &d), timeout)
	}
}
