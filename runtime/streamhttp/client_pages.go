package streamhttp

import (
	"hash/maphash"
	"slices"
	"sync"
)

// firstSession is the epoch of the first session of a link. It has no other's
// cursors.
const firstSession = 1

// maxCursors is how many cursors of a session are remembered, the newest.
const maxCursors = 1 << 10

// pageTable is which cursors the present session has given, where there was one
// before it: a cursor of that one must not be used any more (2025-11-25,
// server/utilities/pagination).
type pageTable struct {
	mu    sync.Mutex
	seed  maphash.Seed
	epoch int      // of the session
	given []uint64 // hashes, overwritten from the oldest on
	next  int
}

// give notes a cursor that came in a session. One of an ended session is not
// noted.
func (t *pageTable) give(epoch int, cursor string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case epoch < t.epoch:
		return
	case epoch > t.epoch:
		t.epoch, t.given, t.next = epoch, t.given[:0], 0
		t.seed = maphash.MakeSeed()
	}
	h := maphash.String(t.seed, cursor)
	if len(t.given) < maxCursors {
		t.given = append(t.given, h)
		return
	}
	t.given[t.next] = h
	t.next = (t.next + 1) % maxCursors
}

// gave reports whether a cursor may be sent in a session.
func (t *pageTable) gave(epoch int, cursor string) bool {
	if epoch <= firstSession {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.epoch == epoch && slices.Contains(t.given, maphash.String(t.seed, cursor))
}

// isList reports whether a method gives a list page by page.
func isList(method string) bool {
	switch method {
	case methodToolsList, "prompts/list", "resources/list", "resources/templates/list", "tasks/list":
		return true
	}
	return false
}
