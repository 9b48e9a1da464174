package check

import (
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/goldwire/goldwire/conformance/transcript"
)

// Who can reach the server: from where, and without saying who they are.

// noteReached + address: the server took a request at an address other than
// the loopback one; noteUnreached + address: nobody did there.
const (
	noteReached   = "reached at "
	noteUnreached = "not reached at "
)

// others are how many other addresses are tried, and otherWait how long each.
const (
	others    = 4
	otherWait = 500 * time.Millisecond
)

func exposureProbes() []Probe {
	return []Probe{{
		Name: "other addresses", Transports: anyHTTP, Profile: Main,
		Run: func(d *Driver) {
			if !isLoopback(d.http.base.Hostname()) {
				return
			}
			d.Step("exposure/addresses")
			for _, host := range otherHosts() {
				if d.Lost() == "" {
					d.tryHost(host)
				}
			}
		},
	}, {
		Name: "no credentials", Transports: anyHTTP, Profile: Bare,
		Run: func(d *Driver) {
			d.Step("exposure/anonymous")
			body := d.cheapBody()
			if !Modern(d.rev) {
				body = d.request("initialize", d.Hello(d.rev))
			}
			if d.http.over == oldHTTP[0] {
				d.peek(HTTPRequest{Method: http.MethodGet, Without: d.http.credentials()}, 0)
				return
			}
			d.exchange(HTTPRequest{Body: body, Without: append(d.http.credentials(), headSession)})
		},
	}}
}

// credentials names the headers by which the user lets the checker in.
func (l *httpLink) credentials() []string {
	return slices.AppendSeq([]string{headAuth}, maps.Keys(l.e.Header))
}

// localAddrs are the addresses of this machine; tests have others.
var localAddrs = net.InterfaceAddrs

// otherHosts are addresses of this machine that are not the loopback one.
func otherHosts() []string {
	addrs, err := localAddrs()
	if err != nil {
		return nil
	}
	var out []string
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err != nil || p.Addr().IsLoopback() || p.Addr().IsLinkLocalUnicast() || len(out) == others {
			continue
		}
		out = append(out, p.Addr().String())
	}
	return out
}

// tryHost asks for the server at another address of this machine.
func (d *Driver) tryHost(host string) {
	to := *d.http.base
	port := to.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[to.Scheme]
	}
	to.Host = net.JoinHostPort(host, port)
	var body string
	method := http.MethodPost
	if d.http.over == oldHTTP[0] {
		method = http.MethodGet
	} else {
		body = d.cheapBody()
	}
	x := d.http.apart(method, &to, body, otherWait)
	switch {
	case x == 0:
		d.Note(noteUnreached + host)
	case x < 500:
		d.Note(noteReached + host + ": status " + strconv.Itoa(x))
	}
}

func exposureChecks() []Check {
	return []Check{
		{
			ID: "http-loopback-only", Title: "a server of this machine listens on the loopback address only", Layer: Bytes, Transports: anyHTTP,
			Requirements: []string{"legacy/http-bind-localhost", "legacy/sse-bind-localhost", "modern/http-bind-loopback"},
			Judge: func(c *Case) {
				if !c.local() {
					c.NotApplicable("the server is not on this machine")
					return
				}
				for _, s := range c.StepsOf("exposure/addresses") {
					for _, e := range s.remarks(noteReached) {
						c.Broken(e, "no server at the other addresses of this machine", string(s.Trace.Recording.Events[e.Index].Data))
					}
					for range s.remarks(noteUnreached) {
						c.Saw()
					}
				}
				c.NotObserved("the machine has no other address")
			},
		},
		{
			ID: "http-authenticated", Title: "those who connect have to say who they are", Layer: Bytes, Transports: anyHTTP,
			Requirements: []string{"legacy/http-authenticated", "legacy/sse-authenticated", "modern/http-authenticate-connections"},
			Judge: func(c *Case) {
				if c.local() {
					c.NotApplicable("the server is on this machine")
					return
				}
				for _, x := range c.stepExchanges("exposure/anonymous") {
					if c.heard(x) {
						c.right(x, !x.good(), "a refusal of a request without credentials", x.says())
					}
				}
			},
		},
	}
}

// local reports whether the server was reached by the loopback address, as far
// as the recordings tell.
func (c *Case) local() bool {
	for _, t := range c.traces {
		if u, err := url.Parse(endpointOf(t)); err == nil && u.Host != "" {
			return isLoopback(u.Hostname())
		}
	}
	return true
}

// remarks are the notes of a step that start with a text.
func (s *Step) remarks(prefix string) []*Frame {
	var out []*Frame
	events := s.Trace.Recording.Events
	for i := s.from; i < len(events) && s.holds(i); i++ {
		if e := &events[i]; e.Dir == transcript.Note && len(e.Data) >= len(prefix) && string(e.Data[:len(prefix)]) == prefix {
			out = append(out, &Frame{Index: i, Trace: s.Trace})
		}
	}
	return out
}
