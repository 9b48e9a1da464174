package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/runtime/dial"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// maxConfig bounds a configuration file.
const maxConfig = 4 << 20

// fromConfig reads the entry of that name of a file as clients have it; "" is
// the only one. secrets are variables that stand in it and tell of one by their
// names, as NAME=value.
func fromConfig(file, name string) (t conformance.Target, secrets []string, err error) {
	fail := func(format string, args ...any) (conformance.Target, []string, error) {
		return conformance.Target{}, nil, fmt.Errorf("--config %s: "+format, append([]any{file}, args...)...)
	}
	f, err := os.Open(file)
	if err != nil {
		return t, nil, fmt.Errorf("--config: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	switch {
	case err != nil:
		return t, nil, fmt.Errorf("--config: %w", err)
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
	if secrets, err = expand(&s); err != nil {
		return fail("mcpServers.%s: %v", name, err)
	}
	d, err := s.Dialer()
	if err != nil {
		return fail("mcpServers.%s: %v", name, err)
	}
	if e, ok := d.(*streamhttp.Endpoint); ok {
		t.Endpoint = &check.Endpoint{URL: e.URL, Header: e.Header}
		if s.Type == "sse" {
			t.Endpoint.Over = catalogue.SSE
		}
		return t, secrets, nil
	}
	p, ok := d.(*jsonl.Process)
	if !ok {
		return fail("mcpServers.%s is no command", name)
	}
	t = conformance.Target{Command: append([]string{p.Path}, p.Args...), Dir: p.Dir, Inherit: p.Inherit}
	if t.Inherit == nil {
		t.Inherit = jsonl.DefaultInherit()
	}
	for n, v := range p.Env {
		t.Env = append(t.Env, n+"="+v)
	}
	slices.Sort(t.Env)
	return t, secrets, nil
}

// placeholder of a variable of the environment, as clients have them in their
// configurations: ${NAME}, ${env:NAME}, and ${NAME:-text} with what stands for one
// that is not set.
var placeholder = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}`)

// expand puts the values of variables in the place of their placeholders.
// secrets are those whose names tell of one.
func expand(s *dial.Server) (secrets []string, err error) {
	put := func(text *string) {
		*text = placeholder.ReplaceAllStringFunc(*text, func(p string) string {
			parts := placeholder.FindStringSubmatch(p)
			value, set := os.LookupEnv(parts[1])
			switch {
			case set:
			case strings.Contains(p, ":-"):
				value = parts[2]
			case err == nil:
				err = fmt.Errorf("the variable %s is not set", p)
			}
			if result.SecretName(parts[1]) {
				secrets = append(secrets, parts[1]+"="+value)
			}
			return value
		})
	}
	put(&s.Command)
	put(&s.Cwd)
	put(&s.URL)
	for i := range s.Args {
		put(&s.Args[i])
	}
	for _, m := range []map[string]string{s.Env, s.Headers} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			v := m[name]
			put(&v)
			m[name] = v
		}
	}
	return secrets, err
}
