package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
	"unsafe"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Streamer is an Exchange whose reply can be written piece by piece.
type Streamer interface {
	Exchange
	// ReplyStream is Reply for a frame that write writes, as one line without
	// its end. Nothing else of the peer's carrier may come between. An error is
	// the carrier's, or of waiting for its turn as long as ctx.
	ReplyStream(ctx context.Context, write func(io.Writer) error) error
}

// TextStream is the result of a tool whose one text comes from a reader. A
// handler of tools/call returns it as its error:
//
//	return nil, &jsonrpc.TextStream{Reader: file}
//
// It is written as it is read, in pieces, over stdio, Streamable HTTP and
// HTTP+SSE. In a batch, for a client of HTTP/1.0, and for one that is away to poll
// for the answer, it is read as a whole first. Over HTTP a reader may take its
// time: signs of life are sent while it does. Over stdio and HTTP+SSE nothing else
// leaves until the text has ended, so there it should not. It is read once, after
// the handler has returned, and closed if it can be, whatever becomes of the
// answer. Bytes that are not UTF-8 become U+FFFD. When it fails in the middle the
// result gets isError and a second text that says so; the reader's error is logged
// and told to the listeners (FailedRequest), not to the peer.
type TextStream struct {
	Reader io.Reader
}

// Error says what it is: it stands for a result.
func (s *TextStream) Error() string { return "a result that is streamed" }

// IsResult marks it as a result.
func (s *TextStream) IsResult() {}

// AppendJSON reads all of the text and appends the result.
func (s *TextStream) AppendJSON(b []byte) []byte {
	w := appender{b}
	_, _ = s.write(context.Background(), &w, "")
	_ = s.close()
	return w.b
}

type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// streamPiece is how much of a text is read at once.
const streamPiece = 32 << 10

// close closes the reader, if that can be done. The error is its panic.
func (s *TextStream) close() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("reader panicked when it was closed: %v", v)
		}
	}()
	if c, ok := s.Reader.(io.Closer); ok {
		_ = c.Close()
	}
	return nil
}

// write writes the result. first holds members that come before the others.
// broken is what the reader failed with; err is w's.
func (s *TextStream) write(ctx context.Context, w io.Writer, first string) (broken, err error) {
	if _, err := io.WriteString(w, "{"+first+`"content":[{"type":"text","text":"`); err != nil {
		return nil, err
	}
	in := make([]byte, streamPiece)
	var out []byte
	for held := 0; ; { // bytes of a rune that is not all there
		n, rerr := s.read(ctx, in[held:])
		n += held
		whole := n
		if rerr == nil {
			whole = wholeRunes(in[:n])
		}
		if whole > 0 {
			out = wire.AppendString(out[:0], unsafe.String(&in[0], whole)) // nobody keeps it
			if _, err := w.Write(out[1 : len(out)-1]); err != nil {
				return nil, err
			}
		}
		held = copy(in, in[whole:n])
		if rerr != nil {
			if rerr != io.EOF {
				broken = rerr
			}
			break
		}
	}
	end := `"}]}`
	if broken != nil {
		end = `"},{"type":"text","text":"The rest of this text could not be read."}],"isError":true}`
	}
	_, err = io.WriteString(w, end)
	return broken, err
}

// read reads once, whatever the reader does.
func (s *TextStream) read(ctx context.Context, p []byte) (n int, err error) {
	defer func() {
		if v := recover(); v != nil {
			n, err = 0, fmt.Errorf("reader panicked: %v", v)
		}
	}()
	if s == nil || s.Reader == nil {
		return 0, errNoReader
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	for range 100 {
		if n, err = s.Reader.Read(p); n != 0 || err != nil {
			if n < 0 || n > len(p) {
				return 0, io.ErrNoProgress
			}
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

var errNoReader = errors.New("a TextStream without a reader")

// wholeRunes is the length of b without the start of a rune at its end.
func wholeRunes(b []byte) int {
	for i := 1; i <= min(len(b), utf8.UTFMax-1); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}

// stream answers a request with a stream; prefix is the answer up to its result.
func (c *Conn) stream(ctx context.Context, ex Streamer, in *inbound, s *TextStream, prefix []byte) error {
	var broken error
	closed := false
	end := func() {
		if !closed {
			closed = true
			c.closeStream(in, s)
		}
	}
	defer end() // where it did not come to reading
	err := ex.ReplyStream(ctx, func(w io.Writer) (err error) {
		defer end()
		if _, err = w.Write(prefix); err != nil {
			return err
		}
		if broken, err = s.write(c.ctx, w, in.svc.before()); err != nil {
			return err
		}
		_, err = io.WriteString(w, "}")
		return err
	})
	if broken != nil {
		c.hidden(in, broken)
	}
	return err
}

// closeStream ends the use of a stream.
func (c *Conn) closeStream(in *inbound, s *TextStream) {
	if err := s.close(); err != nil {
		c.hidden(in, err)
	}
}
