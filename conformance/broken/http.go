package broken

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
)

// HTTPFault is a server over HTTP that breaks one rule.
type HTTPFault struct {
	Name string // unique
	// Check is the id of the check that has to name it.
	Check string
	// Also are ids of checks that may name it too.
	Also []string
	// Revision is where it shows; "" is the newest that the check applies to.
	Revision string
	// Tolerated says that it is told as a warning whatever the rule weighs.
	Tolerated bool
	// Over is the transport; "" is catalogue.HTTP.
	Over catalogue.Transport
	// Host is that of its URL; "" is this machine.
	Host string
	// Token is the bearer token that the checker is given; "" is none.
	Token string
	// New makes the server.
	New func() *checktest.HTTP
}

// Endpoint is where a server that runs is reached by the checker.
func (f *HTTPFault) Endpoint(r *checktest.Running) *check.Endpoint {
	e := &check.Endpoint{Over: f.Over, Dial: r.Dial, URL: "http://127.0.0.1:4000" + checktest.PathMCP}
	if f.Host != "" {
		e.URL = "http://" + f.Host + checktest.PathMCP
	}
	if f.Over == catalogue.SSE {
		e.URL = strings.TrimSuffix(e.URL, checktest.PathMCP) + checktest.PathSSE
	}
	if f.Token != "" {
		e.Header = http.Header{"Authorization": {"Bearer " + f.Token}}
	}
	return e
}

// httpMutant is a fault of the small server over HTTP; see HTTPFault.
type httpMutant struct {
	rev, over, host, token string
	warn                   bool
	also                   string // ids of checks
	make                   func(h *checktest.HTTP)
	wire                   func() edits
}

// HTTPServers are all servers over HTTP with a named fault, in order of their
// names.
func HTTPServers() []HTTPFault {
	var out []HTTPFault
	for _, name := range slices.Sorted(maps.Keys(httpMutants)) {
		m := httpMutants[name]
		id, _, _ := strings.Cut(name, "/")
		out = append(out, HTTPFault{
			Name: name, Check: id, Also: strings.Fields(m.also), Revision: m.rev, Tolerated: m.warn,
			Over: catalogue.Transport(m.over), Host: m.host, Token: m.token,
			New: func() *checktest.HTTP {
				h := &checktest.HTTP{}
				if m.token != "" {
					h.Tokens = map[string]string{"secret-token": "read " + checktest.ScopeCall, "narrow-token": "read"}
				}
				if m.make != nil {
					m.make(h)
				}
				if m.wire != nil {
					h.Wrap = m.wire().wrap
				}
				return h
			},
		})
	}
	return out
}

// edits alter what passes between the network and a server; nil alters nothing.
type edits struct {
	// ask may alter a request before the server sees it.
	ask func(r *http.Request, body string) string
	// instead answers in place of the server where it reports true.
	instead func(w http.ResponseWriter, r *http.Request, body string) bool
	// head may alter the status and the headers of a response.
	head func(r *http.Request, body string, status int, h http.Header) int
	// data may alter what is written of a body: all of it, or one event.
	data func(r *http.Request, body, text string) string
	// after is called when the server is done with a request.
	after func(w http.ResponseWriter, r *http.Request, body string, status int)
}

func (e edits) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		body := string(b)
		if e.ask != nil {
			body = e.ask(r, body)
		}
		r.Body = io.NopCloser(bytes.NewReader([]byte(body)))
		if e.instead != nil && e.instead(w, r, body) {
			return
		}
		out := &edited{ResponseWriter: w, edits: e, r: r, body: body}
		next.ServeHTTP(out, r)
		if e.after != nil {
			e.after(w, r, body, out.status)
		}
	})
}

type edited struct {
	http.ResponseWriter
	edits  edits
	r      *http.Request
	body   string
	status int
}

// Unwrap lets a http.ResponseController through.
func (w *edited) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *edited) WriteHeader(status int) {
	if w.edits.head != nil {
		status = w.edits.head(w.r, w.body, status, w.Header())
	}
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *edited) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.edits.data != nil {
		if _, err := io.WriteString(w.ResponseWriter, w.edits.data(w.r, w.body, string(b))); err != nil {
			return 0, err
		}
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}
