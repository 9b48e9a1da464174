//lint:file-ignore SA1019 what is deprecated is converted all the same

package bridge

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
)

// TestLossesOfAnswersAreLogged holds that what is lost of a client's answer to a
// question of the server is logged as well, once.
func TestLossesOfAnswersAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		d, _ := between(t, oldServer(), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		server, err := v20251125.Connect(t.Context(), d, v20251125.Client{Info: v20251125.Implementation{Name: "c", Version: "1"},
			CreateMessage: func(context.Context, *v20251125.CreateMessageParams) (*v20251125.CreateMessageResult, error) {
				text := &v20251125.TextContent{Text: "yes", Annotations: &v20251125.Annotations{LastModified: new("2025-01-01T00:00:00Z")}}
				return &v20251125.CreateMessageResult{Model: "m", Role: "assistant", Content: v20251125.SamplingContent{Items: []v20251125.SamplingMessageContentBlock{text}}}, nil
			}})
		require.NoError(t, err)
		for range 2 {
			_, err = server.CallTool(t.Context(), &v20251125.CallToolParams{Name: "ask"})
			require.NoError(t, err)
		}
		require.NoError(t, server.Close())
		require.Equal(t, 1, strings.Count(log.String(), "content.annotations.lastModified"), "%s", log.String())
	})
}
