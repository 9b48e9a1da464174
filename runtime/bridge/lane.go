package bridge

import (
	"context"
	"slices"
	"sync"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// lane passes requests in one direction, and remembers for each what it is
// called on either side.
type lane struct {
	lines bool // it leads to a carrier of lines

	mu    sync.Mutex
	out   map[jsonrpc.ID]*passing // by the id at whoever answers
	in    map[origin]*passing     // by the id at whoever asked
	order []*passing              // oldest first
	// lasting are the progress tokens of requests that are answered and still go
	// on, as tasks do, by the token at whoever answers.
	lasting map[jsonrpc.ID]lastingToken
	oldest  []jsonrpc.ID // of them
}

// origin names a request at whoever asked.
type origin struct {
	conn *jsonrpc.Conn
	id   jsonrpc.ID
}

type lastingToken struct {
	conn  *jsonrpc.Conn
	token jsonrpc.ID
}

const maxLasting = 1024

// passing is one request on its way.
type passing struct {
	ctx    context.Context // of its handler
	origin origin
	method string
	token  jsonrpc.ID // at whoever asked, zero for none
	logs   bool       // it asks for log messages
	out    jsonrpc.ID // at whoever answers

	mu     sync.Mutex
	left   bool   // the carrier has it
	told   bool   // it was cancelled, in the words of whoever asked
	cancel func() // sends that, once it has left
}

func newLane(lines bool) *lane {
	return &lane{lines: lines, out: map[jsonrpc.ID]*passing{}, in: map[origin]*passing{}}
}

// request is what a lane passes on.
type request struct {
	ctx    context.Context // of the handler
	conn   *jsonrpc.Conn   // that it came on
	id     jsonrpc.ID
	method string
	msg    []byte
	detach func() // lets what follows be read; may be nil
}

// handled is the request whose handler ctx belongs to.
func handled(ctx context.Context) request {
	p := jsonrpc.PeerOf(ctx)
	return request{ctx: ctx, conn: p.Conn(), id: p.ID(), method: p.Method(), msg: p.Message(), detach: p.Detach}
}

// pass passes a request on to a connection and returns the answer, as who asked
// has to see it. ctx is that of the call.
func (l *lane) pass(ctx context.Context, to *jsonrpc.Conn, r request) (jsonrpc.Answer, error) {
	m, err := mark(r.msg, r.method, false)
	if err != nil {
		return jsonrpc.Answer{}, err
	}
	x := &passing{ctx: r.ctx, origin: origin{r.conn, r.id}, method: r.method, token: m.id(memberToken), logs: asksForLogs(r.msg)}
	defer l.remove(x)
	a, err := jsonrpc.CallMessage(ctx, to, &jsonrpc.MessageCall{
		Method: r.method,
		Append: func(b []byte, id jsonrpc.ID) []byte {
			x.out = id
			l.add(x)
			n := len(b)
			b = m.rewrite(b, func(what member) jsonrpc.ID {
				if what == memberID || what == memberToken && !x.token.IsZero() {
					return id
				}
				return jsonrpc.ID{}
			})
			if l.lines {
				oneLine(b[n:])
			}
			return b
		},
		Taken: func() {
			x.taken()
			if r.detach != nil { // not before: what follows must not overtake it
				r.detach()
			}
		},
		Cancelled: x.wasTold,
	})
	if err != nil {
		return a, err
	}
	if !x.token.IsZero() && lasts(r.msg) {
		l.keep(x)
	}
	return answerTo(a, r.method, r.id)
}

// answerTo gives an answer the id of another request.
func answerTo(a jsonrpc.Answer, method string, id jsonrpc.ID) (jsonrpc.Answer, error) {
	m, err := mark(a.Data, method, true)
	if err != nil {
		return a, err
	}
	a.Data = m.rewrite(make([]byte, 0, len(a.Data)+32), func(member) jsonrpc.ID { return id })
	return a, nil
}

func (l *lane) add(x *passing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out[x.out] = x
	l.in[x.origin] = x
	l.order = append(l.order, x)
}

func (l *lane) remove(x *passing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out[x.out] == x {
		delete(l.out, x.out)
	}
	if l.in[x.origin] == x {
		delete(l.in, x.origin)
	}
	if i := slices.Index(l.order, x); i >= 0 {
		l.order = slices.Delete(l.order, i, i+1)
	}
}

// keep remembers the progress token of a request beyond its answer.
func (l *lane) keep(x *passing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lasting == nil {
		l.lasting = map[jsonrpc.ID]lastingToken{}
	}
	if len(l.oldest) >= maxLasting {
		delete(l.lasting, l.oldest[0])
		l.oldest = slices.Delete(l.oldest, 0, 1)
	}
	l.lasting[x.out] = lastingToken{x.origin.conn, x.token}
	l.oldest = append(l.oldest, x.out)
}

// at finds a request by its id at whoever answers.
func (l *lane) at(out jsonrpc.ID) *passing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out[out]
}

// newest is the newest request under way that ok is true of, and whether it is
// the only one.
func (l *lane) newest(ok func(*passing) bool) (x *passing, only bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.order) - 1; i >= 0; i-- {
		switch y := l.order[i]; {
		case !ok(y):
		case x != nil:
			return x, false
		default:
			x = y
		}
	}
	return x, x != nil
}

// token finds whose progress a token at whoever answers stands for: a request
// under way, or one that is answered and goes on.
func (l *lane) token(out jsonrpc.ID) (x *passing, last lastingToken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out[out], l.lasting[out]
}

// cancelled passes a cancellation on, in the words of whoever asked: to is where
// the request went. It does nothing for a request that is not under way.
func (l *lane) cancelled(ctx context.Context, to *jsonrpc.Conn, conn *jsonrpc.Conn, msg []byte) error {
	m, err := mark(msg, methodCancelled, false)
	if err != nil {
		return err
	}
	l.mu.Lock()
	x := l.in[origin{conn, m.id(memberRequest)}]
	l.mu.Unlock()
	if x == nil || x.method == methodInitialize { // which must not be cancelled
		return nil
	}
	b := l.notice(m, func(what member) jsonrpc.ID {
		if what == memberRequest {
			return x.out
		}
		return jsonrpc.ID{}
	})
	send := func() { _ = jsonrpc.SendMessage(ctx, to, b) }
	x.mu.Lock()
	x.told = true
	if !x.left {
		x.cancel = func() { _ = jsonrpc.SendMessage(context.WithoutCancel(ctx), to, b) }
		send = nil
	}
	x.mu.Unlock()
	if send != nil {
		send()
	}
	return nil
}

// notice rewrites a notification for the lane's carrier.
func (l *lane) notice(m *marks, with func(member) jsonrpc.ID) []byte {
	b := m.rewrite(make([]byte, 0, len(m.data)+32), with)
	if l.lines {
		oneLine(b)
	}
	return b
}

// taken is called when the carrier has the request.
func (x *passing) taken() {
	x.mu.Lock()
	x.left = true
	cancel := x.cancel
	x.cancel = nil
	x.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

func (x *passing) wasTold() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.told
}
