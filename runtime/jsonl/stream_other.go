//go:build !unix

package jsonl

import (
	"io"
	"os"
)

// ownStdout is stdout itself: there are no signals for broken pipes here.
func ownStdout() (*os.File, error) { return os.Stdout, nil }

// tryWriterOf finds only the stream's own way to write without waiting.
func tryWriterOf(w io.Writer) tryWriter {
	t, _ := w.(tryWriter)
	return t
}
