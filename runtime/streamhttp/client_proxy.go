package streamhttp

import (
	"bytes"
	"errors"
	"io"
	"time"
)

// burstTime is how long what arrives counts as one read: a burst of several
// kilobytes comes in more than one.
const burstTime = 5 * time.Millisecond

// errBuffered is what a suspected proxy is reported with.
var errBuffered = errors.New("comments that a server sends seconds apart arrived together: something on the way holds the stream back (nginx: proxy_buffering off, or X-Accel-Buffering: no)")

// watched reads a stream and notices what a buffering proxy does to it. A
// server writes a comment only when its stream was silent for the keep-alive
// interval. So two of them, or an event, a comment and another event, that come
// at once after a long wait were written at different times and held back. One
// comment at the side of an event proves nothing, and neither does a long wait
// alone: that is a slow server. Nor does anything that lay ready because it
// was not read.
type watched struct {
	r     io.Reader
	l     *Link
	begun time.Time     // of the burst
	wait  time.Duration // for it
	// What the burst has brought.
	events, comments int
	between          bool // a comment behind an event
	word             []byte
}

// watch reads the body of a response to a request that was sent at a time.
func (l *Link) watch(r io.Reader, sent time.Time) *watched {
	now := time.Now()
	return &watched{r: r, l: l, begun: now, wait: now.Sub(sent)}
}

// Read notes how long the read had to wait.
func (b *watched) Read(p []byte) (int, error) {
	before := time.Now()
	n, err := b.r.Read(p)
	after := time.Now()
	if after.Sub(b.begun) > burstTime {
		b.begun, b.wait = after, after.Sub(before)
		b.events, b.comments, b.between = 0, 0, false
	}
	return n, err
}

// comment notes a comment.
func (b *watched) comment(text []byte) {
	word, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte(" "))
	if b.comments == 0 || string(word) != string(b.word) { // an opening has comments of other kinds
		b.comments = 0
		b.word = append(b.word[:0], word...)
	}
	b.comments++
	b.between = b.between || b.events > 0
	b.judge(b.comments >= 2)
}

// event notes an event.
func (b *watched) event() {
	b.events++
	b.judge(b.between)
}

func (b *watched) judge(apart bool) {
	if apart && b.wait >= b.l.keepAlive*2/3 && b.l.keepAlive > 0 && !b.l.buffered.Swap(true) {
		b.l.log.Warn("a buffering proxy is suspected", "url", publicURL(b.l.url), "waited", b.wait)
		b.l.notice(Notice{Kind: ProxySuspected, Err: errBuffered})
	}
}
