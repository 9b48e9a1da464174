package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEmptyRawIsNoHole holds that a raw value without bytes never leaves a
// hole in the message around it.
func TestEmptyRawIsNoHole(t *testing.T) {
	require.Equal(t, "null", string(AppendRaw(nil, Raw{})))
	require.Equal(t, "{}", string(AppendRawObject(nil, Raw{})))
}

// TestNamesAreComparedAsTheyAreWritten holds that names which become one name
// on the wire are written once.
func TestNamesAreComparedAsTheyAreWritten(t *testing.T) {
	m := Members{{"a\xff", Raw("1")}, {"a\xfe", Raw("2")}, {"b", Raw("3")}}
	got := AppendMembers(nil, m, nil)
	raw, err := ParseRaw(append(append([]byte(`{"z":0`), got...), '}'))
	require.NoError(t, err)
	seen := map[string]int{}
	for name := range raw.Members() {
		seen[name]++
	}
	require.Equal(t, map[string]int{"z": 1, "a\ufffd": 1, "b": 1}, seen)
	require.Equal(t, "a\xff", m[0].Name, "the caller's members stay as they are")
}
