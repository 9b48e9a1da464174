package bridge

import (
	"context"
	"log/slog"
	"sync"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// losses logs what conversions lose, each loss once.
type losses struct {
	log  *slog.Logger
	mu   sync.Mutex
	seen map[wire.Loss]bool
}

const maxLosses = 1000 // that are told apart; further ones are not logged

// add logs a loss unless it was logged before. Where lists are lost in, their
// places make no difference.
func (l *losses) add(loss wire.Loss) {
	loss.Path = placeless(loss.Path)
	l.mu.Lock()
	if l.seen[loss] || len(l.seen) >= maxLosses {
		l.mu.Unlock()
		return
	}
	if l.seen == nil {
		l.seen = map[wire.Loss]bool{}
	}
	l.seen[loss] = true
	n := len(l.seen)
	l.mu.Unlock()
	l.log.Warn("lost in conversion", "what", loss.Path, "why", loss.Why)
	if n == maxLosses {
		l.log.Warn("further losses are not logged")
	}
}

// placeless is a path without the numbers of list elements.
func placeless(path string) string {
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		out = append(out, path[i])
		if path[i] == '[' {
			j := i + 1
			for j < len(path) && path[j] >= '0' && path[j] <= '9' {
				j++
			}
			if j > i+1 && j < len(path) && path[j] == ']' {
				i = j - 1
			}
		}
	}
	return string(out)
}

// converter is a server that speaks another revision than its clients, served in
// all of them.
type converter struct {
	b    *Bridge
	up   *jsonrpc.Conn
	root *jsonrpc.Conn // others are forks of it
	// one is whether the server is one session's.
	one bool

	mu     sync.Mutex
	inners map[*jsonrpc.Conn]*inner
}

func (c *converter) upstream() *jsonrpc.Conn { return c.up }

// inner is the connection on which a client's messages are handled.
type inner struct {
	conn *jsonrpc.Conn
	down *jsonrpc.Conn
	lane *lane // of requests to the client
	done chan struct{}
	once sync.Once
}

func (b *Bridge) openConverter(ctx context.Context) (route, jsonrpc.Answer, error) {
	return nil, jsonrpc.Answer{}, jsonrpc.NewError(jsonrpc.CodeInternalError, "not converted")
}

func (b *Bridge) startConverter(ctx context.Context) (route, error) {
	return nil, jsonrpc.NewError(jsonrpc.CodeInternalError, "not converted")
}
