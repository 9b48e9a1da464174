// Package dial makes a Dialer of a server as configuration files describe it.
package dial

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// Server is one entry of a configuration: a command that speaks over stdio, or
// a URL. Its JSON form is the usual one of mcpServers.
type Server struct {
	// Type is "stdio", "http" or "sse"; "" is "http" for an entry with a URL
	// and no command, else "stdio". "http" is Streamable HTTP, which falls back
	// on HTTP+SSE by itself; "sse" is that alone.
	Type string `json:"type,omitempty"`

	Command string   `json:"command,omitempty"` // stdio: the program, looked up in PATH
	Args    []string `json:"args,omitempty"`    // its arguments
	// Env holds the child's variables, literally: nothing in them is
	// expanded.
	Env map[string]string `json:"env,omitempty"`
	// Inherit names the variables of this process that the child gets too;
	// nil are those of jsonl.DefaultInherit, an empty list none.
	Inherit []string `json:"inherit,omitempty"`
	Cwd     string   `json:"cwd,omitempty"` // "" is this process's

	URL     string            `json:"url,omitempty"`     // http, sse: the endpoint
	Headers map[string]string `json:"headers,omitempty"` // go with every request

	// Timeout of a request, nil for the default of 30 s, 0 for none.
	// MaxTimeout is the most that progress can make of it. They take effect
	// through Options.
	Timeout    *Duration `json:"timeout,omitempty"`
	MaxTimeout *Duration `json:"maxTimeout,omitempty"`
}

// ConfigError is an entry that describes no server.
type ConfigError struct {
	Problems []string // one sentence each, never a secret
}

// Error joins the problems.
func (e *ConfigError) Error() string { return strings.Join(e.Problems, "; ") }

// Dialer makes the dialer: a *jsonl.Process or a *streamhttp.Endpoint. An entry
// that is not complete, or says two things at once, is a *ConfigError with all
// that is wrong.
func (s *Server) Dialer() (jsonrpc.Dialer, error) {
	var problems []string
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if s.Command != "" && s.URL != "" {
		wrong(`both "command" and "url" are set`)
	}
	for _, t := range []*Duration{s.Timeout, s.MaxTimeout} {
		if t != nil && *t < 0 {
			wrong("a timeout is negative")
		}
	}
	var d jsonrpc.Dialer
	kind := s.Type
	if kind == "" && s.Command == "" && s.URL != "" {
		kind = "http"
	}
	switch kind {
	case "", "stdio":
		if s.Command == "" {
			wrong(`stdio server requires "command" field`)
		}
		if len(s.Headers) > 0 {
			wrong(`a stdio server has no "headers"`)
		}
		for name, value := range s.Env {
			if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
				wrong("env: %q is no variable", name)
			}
		}
		if slices.ContainsFunc(append([]string{s.Command, s.Cwd}, s.Args...), func(v string) bool { return strings.Contains(v, "\x00") }) {
			wrong("command, args or cwd: a text holds a NUL")
		}
		d = &jsonl.Process{Path: s.Command, Args: slices.Clone(s.Args), Dir: s.Cwd, Env: s.Env, Inherit: s.Inherit}
	case "http", "sse":
		if s.URL == "" {
			wrong(`%s server requires "url" field`, kind)
		} else if _, err := streamhttp.ParseURL(s.URL); err != nil {
			wrong("%v", err)
		}
		if len(s.Args) > 0 || len(s.Env) > 0 || len(s.Inherit) > 0 || s.Cwd != "" {
			wrong(`"args", "env", "inherit" and "cwd" are those of a stdio server`)
		}
		e := &streamhttp.Endpoint{URL: s.URL, Header: http.Header{}}
		if kind == "sse" {
			e.Kind = streamhttp.TwoEndpoints
		}
		for name, value := range s.Headers {
			if !validHeader(name, value) {
				wrong("headers: %q cannot be sent", name)
			}
			if len(e.Header.Values(name)) > 0 {
				wrong("headers: %q is set twice", http.CanonicalHeaderKey(name))
			}
			e.Header.Add(name, value)
		}
		d = e
	default:
		wrong("Unknown server type: %s", s.Type)
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return nil, &ConfigError{Problems: problems}
	}
	return d, nil
}

// validHeader reports whether a header can be sent (RFC 9110, 5.1 and 5.5).
func validHeader(name, value string) bool {
	for _, c := range []byte(name) {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return name != "" && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// Options are those of the client's connection that the entry sets.
func (s *Server) Options() jsonrpc.Options {
	var o jsonrpc.Options
	if s.Timeout != nil {
		o.Timeout = new(time.Duration(*s.Timeout))
	}
	if s.MaxTimeout != nil {
		o.MaxTimeout = new(time.Duration(*s.MaxTimeout))
	}
	return o
}

// Duration is a time in a configuration: a number of milliseconds, or a text
// with a unit, as "30s". A number from 1 to 999 is refused, since whoever writes
// 30 means seconds.
type Duration time.Duration

// UnmarshalJSON reads either form.
func (d *Duration) UnmarshalJSON(b []byte) error {
	text := string(b)
	if s, err := strconv.Unquote(text); err == nil && text[0] == '"' {
		t, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("a time such as \"30s\" or a number of milliseconds, not %s", text)
		}
		*d = Duration(t)
		return nil
	}
	ms, err := strconv.ParseFloat(text, 64)
	const most = float64(1<<63-1) / float64(time.Millisecond)
	switch {
	case err != nil || ms >= most || ms <= -most:
		return fmt.Errorf("a time such as \"30s\" or a number of milliseconds, not %s", text)
	case ms > 0 && ms < 1000:
		return fmt.Errorf("%s milliseconds is hardly meant: write \"%ss\", or \"%sms\"", text, text, text)
	}
	*d = Duration(ms * float64(time.Millisecond))
	return nil
}

// MarshalJSON writes the text form.
func (d Duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, time.Duration(d).String()), nil
}
