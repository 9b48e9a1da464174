package spectest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/spec"
	"github.com/goldwire/goldwire/spec/spectest"
)

// TestFiles holds that the data is whole, and that of the revisions it names.
func TestFiles(t *testing.T) {
	set, err := spec.Open(spectest.Files())
	require.NoError(t, err)
	require.Equal(t, spectest.Revisions(), set.Revisions())
	require.Equal(t, spectest.Newest, set.Revisions()[len(set.Revisions())-1])
	for _, r := range spectest.Revisions() {
		_, err := build.Build(spectest.Files(), r)
		require.NoError(t, err)
	}
}
