package dial_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// httpChild is a server over HTTP in another process.
type httpChild struct {
	url string
	cmd *exec.Cmd
}

// startHTTP starts the test binary as a server over HTTP, until the test ends.
func startHTTP(t testing.TB) httpChild {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = os.Environ()
	for name, value := range childEnv("http") {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return httpChild{strings.TrimSpace(line), cmd}
}
