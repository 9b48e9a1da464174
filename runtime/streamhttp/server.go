package streamhttp

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// The bounds of the servers that NewServer makes.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	writeTimeout  = time.Minute // of answers that are no streams
	maxHeader     = 64 << 10
	maxConns      = 16 << 10
	drainTimeout  = 10 * time.Second
)

// NewServer makes an HTTP server with bounds against slow and endless
// senders and readers: 10 s for a request's header, 64 KiB of it, two minutes
// between requests, a minute for an answer; HTTP/1.1 and unencrypted HTTP/2. A
// Handler has bounds of its own for bodies and for streams, which last longer.
// A body that whatever handles the request leaves unread has two seconds to
// come; then the connection ends.
func NewServer(h http.Handler) *http.Server {
	if _, ours := h.(*Handler); !ours {
		h = lingering{h}
	}
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler: h, Protocols: &p,
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, WriteTimeout: writeTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
}

// lingering bounds the time that the HTTP server waits for the body of a request
// that was answered without it.
type lingering struct{ http.Handler }

func (l lingering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.Handler.ServeHTTP(w, r)
	unread(w, r)
}

// Listen listens on a TCP address. Without a host it is that of this machine,
// 127.0.0.1; to be reachable from elsewhere it has to be named ("0.0.0.0:80").
// At most 16,384 connections are open at once; further ones wait.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	return &boundListener{Listener: l, taken: make(chan struct{}, maxConns), shut: make(chan struct{})}, nil
}

// boundListener bounds the connections that are open at once.
type boundListener struct {
	net.Listener
	taken chan struct{} // holds one value for each open connection
	once  sync.Once
	shut  chan struct{}
}

func (l *boundListener) Accept() (net.Conn, error) {
	select {
	case l.taken <- struct{}{}:
	case <-l.shut:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.taken
		return nil, err
	}
	return &boundConn{Conn: c, l: l}, nil
}

func (l *boundListener) Close() error {
	l.once.Do(func() { close(l.shut) })
	return l.Listener.Close()
}

type boundConn struct {
	net.Conn
	l    *boundListener
	once sync.Once
}

func (c *boundConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.l.taken })
	return err
}

// ListenAndServe serves a handler at an address (see Listen) until ctx ends,
// and then lets the requests in progress end, within ten seconds. mount, if
// not nil, wraps the handler in the user's middleware or mux.
func ListenAndServe(ctx context.Context, addr string, h *Handler, mount func(http.Handler) http.Handler) error {
	l, err := Listen(ctx, addr)
	if err != nil {
		return err
	}
	return Serve(ctx, l, h, mount)
}

// Serve is ListenAndServe on a listener, which it closes. It returns nil after
// an orderly end, and what is left when the time is over as an error.
func Serve(ctx context.Context, l net.Listener, h *Handler, mount func(http.Handler) http.Handler) error {
	if h.err != nil {
		_ = l.Close()
		return h.err
	}
	var root http.Handler = h
	if mount != nil {
		root = mount(h)
	}
	srv := NewServer(root)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	select {
	case err := <-served:
		h.Close()
		return err
	case <-ctx.Done():
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := h.Shutdown(wait)
	if serr := srv.Shutdown(wait); err == nil {
		err = serr
	}
	if err != nil {
		_ = srv.Close()
	}
	if serr := <-served; err == nil && !errors.Is(serr, http.ErrServerClosed) {
		err = serr
	}
	return err
}
