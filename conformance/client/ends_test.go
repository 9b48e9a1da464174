package client_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// ended runs what has to end, which a test sees only by the clock: a mutex that
// is waited for is none that a bubble knows.
func ended(t *testing.T, what func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		what()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

// played runs a client to its end and gives the recordings.
func played(t *testing.T, target client.Target, o client.Options, scripts ...client.Script) (recs []*transcript.Recording) {
	t.Helper()
	o.Revisions = []string{newest}
	o.Selects = func(*check.Check, string, catalogue.Transport) bool { return false }
	o.Save = func(_ string, rec *transcript.Recording) error {
		recs = append(recs, rec)
		return nil
	}
	ended(t, func() {
		_, err := client.Run(t.Context(), target, o.WithScripts(scripts...))
		require.NoError(t, err)
	})
	return recs
}

// long is more than any buffer between a server and its client takes.
var long = `{"jsonrpc":"2.0","method":"notifications/x","params":{"x":"` + strings.Repeat("x", 32<<20) + `"}}`

// talkative is a server that writes without end to its client once it is ready,
// and looks meanwhile whether it can. It tells of the first.
func talkative(tell func()) client.Script {
	return client.Script{Name: client.Good, Serve: func(p *client.Play) {
		p.Ready = func() {
			p.Until(time.Minute, p.CanSend)
			tell()
			for p.Send(long) {
			}
		}
		p.On["ping"] = func(*client.Call) {
			for p.CanSend() && p.Wait(time.Millisecond) {
			}
		}
	}}
}

const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n"

// TestClientThatDoesNotReadIsEnded holds that a client which reads nothing of
// what its server writes costs no more than its time, over any transport.
func TestClientThatDoesNotReadIsEnded(t *testing.T) {
	limits := client.Limits{Play: slow * time.Second}
	for name, target := range map[string]client.Target{
		"stdio": raw(func(ctx context.Context, s *client.Process, _ io.Writer) int {
			_ = open(s)
			_, _ = io.WriteString(s.In, ping)
			<-ctx.Done()
			return 0
		}),
		"http": overHTTP(func(ctx context.Context, r client.Reach) {
			c := dialPlay(t, r.URL)
			defer c.close()
			c.openSession(r.Revision)
			c.listens()
			c.sends("POST", ping)
			<-ctx.Done()
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, rec := range played(t, target, client.Options{Limits: limits}, talkative(func() {})) {
				require.Equal(t, client.OverTime, client.Over(check.NewTrace(rec)))
			}
		})
	}
}

// TestClientThatLeavesWhatItWasSent holds that a client in this process which
// returns is done with, though it read nothing and did not end its server.
func TestClientThatLeavesWhatItWasSent(t *testing.T) {
	t.Parallel()
	leaves := client.Target{Over: []catalogue.Transport{catalogue.Stdio}, Launch: func(r client.Reach) check.Launcher {
		return check.Pipe{Serve: func(context.Context, io.Reader, io.Writer, io.Writer) check.Exit {
			s := r.Start()
			_ = open(s)
			_, _ = io.WriteString(s.In, ping+strings.Replace(ping, "2", "3", 1))
			return check.Exit{}
		}}
	}}
	played(t, leaves, client.Options{}, client.Script{Name: client.Good})
}

// TestListenEndsThoughNobodyReads holds the same where the client is not ours
// to end.
func TestListenEndsThoughNobodyReads(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	var clients sync.WaitGroup
	defer clients.Wait()
	var once sync.Once
	left := make(chan struct{})
	defer close(left)
	o := client.Options{Stop: stop, Progress: func(p client.Progress) {
		if p.Waiting == nil || p.Waiting.Script != "" {
			return
		}
		clients.Go(func() {
			c := dialPlay(t, p.Waiting.URL)
			defer c.close()
			c.openSession(newest)
			c.listens()
			<-left
		})
	}}
	played(t, client.Target{Listen: "127.0.0.1:0"}, o, talkative(func() { once.Do(func() { close(stop) }) }))
}

// TestExchangesAreRecordedToTheirEnd holds that a recording is whole whatever
// the client leaves behind: no exchange is without an end in it.
func TestExchangesAreRecordedToTheirEnd(t *testing.T) {
	t.Parallel()
	posts := overHTTP(func(_ context.Context, r client.Reach) {
		c := dialPlay(t, r.URL)
		c.openSession(r.Revision)
		for range 4 {
			c.sends("POST", ping)
		}
		c.close()
	})
	scripts := []client.Script{{Name: client.Good}}
	for i := range 40 {
		scripts = append(scripts, client.Script{Name: fmt.Sprintf("good-%d", i), Serve: func(p *client.Play) {
			p.On["ping"] = func(c *client.Call) { c.Progress("1") }
		}})
	}
	for _, rec := range played(t, posts, client.Options{Parallel: 4}, scripts...) {
		open := map[int]bool{}
		for _, e := range rec.Events {
			switch e.Kind {
			case transcript.KindRequest:
				open[e.Exchange] = true
			case transcript.KindEnd, transcript.KindError:
				delete(open, e.Exchange)
			}
		}
		require.Empty(t, open, "%s", rec)
	}
}

// overHTTP is a client over HTTP that does what a func does.
func overHTTP(f func(ctx context.Context, r client.Reach)) client.Target {
	return client.Target{Over: []catalogue.Transport{catalogue.HTTP}, Launch: func(r client.Reach) check.Launcher {
		return check.Pipe{Serve: func(ctx context.Context, _ io.Reader, _, _ io.Writer) check.Exit {
			f(ctx, r)
			return check.Exit{}
		}}
	}}
}

// connections are those of a client over HTTP, a new one for each request, which
// reads what it wants to.
type connections struct {
	t       *testing.T
	url     *url.URL
	session string
	open    []net.Conn
}

func dialPlay(t *testing.T, at string) *connections {
	u, err := url.Parse(at)
	if err != nil {
		t.Error(err)
		u = &url.URL{}
	}
	return &connections{t: t, url: u}
}

// sends sends a request, and reads nothing.
func (c *connections) sends(method, body string) net.Conn {
	conn, err := net.Dial("tcp", c.url.Host)
	if err != nil {
		c.t.Error(err)
		return nil
	}
	c.open = append(c.open, conn)
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", method, c.url.Path, c.url.Host, len(body))
	if c.session != "" {
		head += "Mcp-Session-Id: " + c.session + "\r\n"
	}
	_, _ = io.WriteString(conn, head+"\r\n"+body)
	return conn
}

// reads reads the head of the answer.
func (c *connections) reads(conn net.Conn) {
	if conn == nil {
		return
	}
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadString('\n')
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if strings.EqualFold(name, "mcp-session-id") {
			c.session = value
		}
		if err != nil || name == "" {
			return
		}
	}
}

func (c *connections) openSession(rev string) {
	c.reads(c.sends("POST", strings.Replace(hello, newest, rev, 1)))
	c.reads(c.sends("POST", ready))
}

// listens opens the stream beside the answers, and reads its head.
func (c *connections) listens() { c.reads(c.sends("GET", "")) }

func (c *connections) close() {
	for _, conn := range c.open {
		_ = conn.Close()
	}
}
