//go:build unix

package jsonl

import (
	"io"
	"os"
	"syscall"
	"time"
)

// ownStdout is a file of our own on stdout: the runtime ends a process that
// writes to a broken pipe on descriptor 1, and lets other descriptors fail
// with EPIPE.
func ownStdout() (*os.File, error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Dup(int(os.Stdout.Fd()))
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	return os.NewFile(uintptr(fd), "stdout"), nil
}

// tryWriterOf finds a way to write without waiting: the stream's own, or that
// of a descriptor in non-blocking mode.
func tryWriterOf(w io.Writer) tryWriter {
	if t, ok := w.(tryWriter); ok {
		return t
	}
	f, ok := w.(interface {
		syscall.Conn
		SetWriteDeadline(time.Time) error
	})
	if !ok || f.SetWriteDeadline(time.Time{}) != nil {
		return nil
	}
	rc, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	t := &rawWriter{rc: rc}
	t.f = t.write
	return t
}

// rawWriter is used by one goroutine at a time.
type rawWriter struct {
	rc  syscall.RawConn
	f   func(fd uintptr) bool
	b   []byte
	n   int
	err error
}

func (t *rawWriter) tryWrite(b []byte) (int, error) {
	t.b, t.n, t.err = b, 0, nil
	err := t.rc.Write(t.f)
	t.b = nil
	if t.err != nil {
		err = os.NewSyscallError("write", t.err)
	}
	return t.n, err
}

func (t *rawWriter) write(fd uintptr) bool {
	for t.n < len(t.b) {
		n, err := syscall.Write(int(fd), t.b[t.n:])
		switch {
		case n > 0:
			t.n += n
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return true
		default:
			t.err = err
			if err == nil {
				t.err = io.ErrShortWrite
			}
			return true
		}
	}
	return true
}
