//go:build e2e

//lint:file-ignore SA1019 what is deprecated passes all the same

package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestE2EBridge puts the bridge in front of the reference server of the
// TypeScript SDK, which speaks stdio and 2025-11-25: it serves clients of that
// revision and of 2026-07-28, and leaves no process.
func TestE2EBridge(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "goldwire")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Stderr = os.Stderr
	require.NoError(t, build.Run())
	everything, err := filepath.Abs("../../testdata/peers/node/node_modules/@modelcontextprotocol/server-everything/dist/index.js")
	require.NoError(t, err)
	require.FileExists(t, everything, "testdata/peers/install.sh installs it")

	cmd := exec.Command(program, "bridge", "--listen", "127.0.0.1:0", "--", "node", everything, "stdio")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	url := regexp.MustCompile(`http://\S+/mcp`).FindString(line)
	require.NotEmpty(t, url, line)
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			t.Log(line)
		}
	}()
	defer func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		<-logged // its stderr is also that of the processes
		require.NoError(t, cmd.Wait())
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	long := wire.Raw(`{"duration":1,"steps":4}`)
	const longRunning = "trigger-long-running-operation"

	t.Run(v20251125.Revision, func(t *testing.T) {
		server, err := v20251125.Connect(ctx, streamhttp.URL(url), v20251125.Client{Info: v20251125.Implementation{Name: "e2e", Version: "1"},
			CreateMessage: func(context.Context, *v20251125.CreateMessageParams) (*v20251125.CreateMessageResult, error) {
				return &v20251125.CreateMessageResult{Model: "m", Role: v20251125.RoleAssistant, Content: v20251125.SamplingContent{Items: []v20251125.SamplingMessageContentBlock{&v20251125.TextContent{Text: "forty-two"}}}}, nil
			}})
		require.NoError(t, err)
		defer func() { require.NoError(t, server.Close()) }()
		require.Equal(t, "mcp-servers/everything", server.Info.Name)
		tools := map[string]bool{}
		for tool, err := range server.Tools(ctx, nil) {
			require.NoError(t, err)
			tools[tool.Name] = true
		}
		require.Contains(t, tools, "echo")
		require.Contains(t, tools, longRunning)
		steps := 0
		res, err := server.CallTool(jsonrpc.WithCallOptions(ctx, jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) { steps++ }}), &v20251125.CallToolParams{Name: longRunning, Arguments: long})
		require.NoError(t, err)
		require.Contains(t, res.Content[0].(*v20251125.TextContent).Text, "completed")
		require.Equal(t, 4, steps)
		res, err = server.CallTool(ctx, &v20251125.CallToolParams{Name: "trigger-sampling-request", Arguments: wire.Raw(`{"prompt":"?","maxTokens":5}`)})
		require.NoError(t, err)
		require.Contains(t, res.Content[0].(*v20251125.TextContent).Text, "forty-two")
		for r, err := range server.Resources(ctx, nil) {
			require.NoError(t, err)
			read, err := server.ReadResource(ctx, &v20251125.ReadResourceParams{URI: r.URI})
			require.NoError(t, err)
			require.NotEmpty(t, read.Contents)
		}
	})
	t.Run(v20260728.Revision, func(t *testing.T) {
		server, err := v20260728.Connect(ctx, streamhttp.URL(url), v20260728.Client{Info: v20260728.Implementation{Name: "e2e", Version: "1"},
			CreateMessage: func(context.Context, *v20260728.CreateMessageParams) (*v20260728.CreateMessageResult, error) {
				return &v20260728.CreateMessageResult{Model: "m", Role: v20260728.RoleAssistant, Content: v20260728.SamplingContent{Items: []v20260728.SamplingMessageContentBlock{&v20260728.TextContent{Text: "forty-two"}}}}, nil
			}})
		require.NoError(t, err)
		defer func() { require.NoError(t, server.Close()) }()
		tools := map[string]bool{}
		for tool, err := range server.Tools(ctx, nil) {
			require.NoError(t, err)
			tools[tool.Name] = true
		}
		require.Contains(t, tools, "echo")
		steps := 0
		res, err := server.CallTool(jsonrpc.WithCallOptions(ctx, jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) { steps++ }}), &v20260728.CallToolParams{Name: longRunning, Arguments: long})
		require.NoError(t, err)
		require.Contains(t, res.Content[0].(*v20260728.TextContent).Text, "completed")
		require.Equal(t, 4, steps)
		if tools["trigger-sampling-request"] {
			res, err = server.CallTool(ctx, &v20260728.CallToolParams{Name: "trigger-sampling-request", Arguments: wire.Raw(`{"prompt":"?","maxTokens":5}`)})
			require.NoError(t, err)
			require.Contains(t, res.Content[0].(*v20260728.TextContent).Text, "forty-two")
		}
		for r, err := range server.Resources(ctx, nil) {
			require.NoError(t, err)
			read, err := server.ReadResource(ctx, &v20260728.ReadResourceParams{URI: r.URI})
			require.NoError(t, err)
			require.NotEmpty(t, read.Contents)
		}
	})
}
