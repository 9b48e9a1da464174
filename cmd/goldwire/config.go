package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/runtime/dial"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// maxConfig bounds a configuration file.
const maxConfig = 4 << 20

// fromConfig reads the entry of that name of a file as clients have it; "" is
// the only one.
func fromConfig(file, name string) (conformance.Target, error) {
	fail := func(format string, args ...any) (conformance.Target, error) {
		return conformance.Target{}, fmt.Errorf("--config %s: "+format, append([]any{file}, args...)...)
	}
	f, err := os.Open(file)
	if err != nil {
		return conformance.Target{}, fmt.Errorf("--config: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	switch {
	case err != nil:
		return conformance.Target{}, fmt.Errorf("--config: %w", err)
	case len(text) > maxConfig:
		return fail("it is longer than %d bytes", maxConfig)
	}
	var config struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		var at *json.SyntaxError
		if errors.As(err, &at) {
			return fail("line %d: %v", 1+strings.Count(string(text[:min(int(at.Offset), len(text))]), "\n"), err)
		}
		return fail("%v", err)
	}
	var names []string
	for n := range config.Servers {
		names = append(names, n)
	}
	slices.Sort(names)
	switch {
	case len(names) == 0:
		return fail("it has no mcpServers")
	case name == "" && len(names) > 1:
		return fail("it has several servers, so --server has to name one: %s", strings.Join(names, ", "))
	case name == "":
		name = names[0]
	case !slices.Contains(names, name):
		return fail("it has no server %s; it has %s", name, strings.Join(names, ", "))
	}
	var s dial.Server
	if err := json.Unmarshal(config.Servers[name], &s); err != nil {
		return fail("mcpServers.%s: %v", name, err)
	}
	// Many files leave the type of a URL out, or give it its long name.
	switch s.Type {
	case "":
		if s.URL != "" && s.Command == "" {
			s.Type = "http"
		}
	case "streamable-http", "streamableHttp":
		s.Type = "http"
	}
	d, err := s.Dialer()
	if err != nil {
		return fail("mcpServers.%s: %v", name, err)
	}
	if e, ok := d.(*streamhttp.Endpoint); ok {
		t := conformance.Target{Endpoint: &check.Endpoint{URL: e.URL, Header: e.Header}}
		if s.Type == "sse" {
			t.Endpoint.Over = catalogue.SSE
		}
		return t, nil
	}
	p, ok := d.(*jsonl.Process)
	if !ok {
		return fail("mcpServers.%s is no command", name)
	}
	t := conformance.Target{Command: append([]string{p.Path}, p.Args...), Dir: p.Dir, Inherit: p.Inherit}
	if t.Inherit == nil {
		t.Inherit = jsonl.DefaultInherit()
	}
	for n, v := range p.Env {
		t.Env = append(t.Env, n+"="+v)
	}
	slices.Sort(t.Env)
	return t, nil
}
