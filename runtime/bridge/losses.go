package bridge

import (
	"context"
	"log/slog"
	"strings"
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

// add logs a loss unless it was logged before. Which element of a list it is in
// makes no difference. What messages of the stateless revision say of their client,
// their server and their round is none: sessions say it with initialize, or by other
// requests.
func (l *losses) add(loss wire.Loss) {
	if strings.Contains(loss.Path, ` params._meta["`+metaPrefix) || strings.Contains(loss.Path, ` result._meta["`+metaPrefix) || strings.HasSuffix(loss.Path, " params.inputResponses") || strings.HasSuffix(loss.Path, " params.requestState") {
		return
	}
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

// heard lets the conversions of what a server asks tell of what they lose.
func (l *losses) heard(ctx context.Context, _ jsonrpc.Op, next func(context.Context) error) error {
	e := wire.EnvOf(ctx)
	e.OnLoss = l.add
	return next(wire.WithEnv(ctx, &e))
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
