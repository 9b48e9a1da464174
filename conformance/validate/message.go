// Package validate compares JSON values with schemas: messages with the
// definitions of a protocol revision, and arguments and structured content
// with the schemas that a peer publishes.
//
// Both kinds of schema are compiled without ever reading a file or the
// network, and what a peer sends can neither take the process down nor hold it
// for long.
package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/goldwire/goldwire/runtime/wire"
	"github.com/goldwire/goldwire/spec"
)

const (
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
	selfURL   = "goldwire:///schema.json"
)

var errNoLoad = errors.New("references to other documents are not followed")

func refuse(string) (io.ReadCloser, error) { return nil, errNoLoad }

// Protocol validates the messages of one revision. It may be used by several
// goroutines.
type Protocol struct {
	revision string
	defs     string // name of the member that holds the definitions
	results  map[string]string
	messages map[string]string // method of a request or notification -> definition
	known    map[string]bool
	compiler *jsonschema.Compiler

	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema
}

var protocols = struct {
	sync.Mutex
	by map[string]*Protocol
}{by: map[string]*Protocol{}}

// For gives the validator of a revision; it is made once.
func For(revision string) (*Protocol, error) {
	protocols.Lock()
	defer protocols.Unlock()
	if p := protocols.by[revision]; p != nil {
		return p, nil
	}
	text, err := spec.Patched(revision)
	if err != nil {
		return nil, err
	}
	p, err := newProtocol(revision, text)
	if err != nil {
		return nil, err
	}
	protocols.by[revision] = p
	return p, nil
}

func newProtocol(revision string, text []byte) (*Protocol, error) {
	var doc map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", revision, err)
	}
	p := &Protocol{revision: revision, defs: "$defs", results: map[string]string{}, messages: map[string]string{}, known: map[string]bool{}, compiled: map[string]*jsonschema.Schema{}}
	if doc["$defs"] == nil {
		p.defs = "definitions"
	}
	defs, ok := doc[p.defs].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("schema of %s: no definitions", revision)
	}
	for name := range defs {
		p.known[name] = true
	}
	for name, def := range defs {
		base, request := strings.CutSuffix(name, "Request")
		_, notification := strings.CutSuffix(name, "Notification")
		method := constOf(def, "method")
		if method == "" || !request && !notification || name == "ClientNotification" {
			continue
		}
		p.messages[method] = name
		if request {
			p.results[method] = "EmptyResult"
			if p.known[base+"Result"] {
				p.results[method] = base + "Result"
			}
		}
	}
	// Formats are asserted by the older drafts and are not by the newest one:
	// one rule for all revisions, and checks look at formats themselves.
	doc["$schema"] = draft2020
	patched, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	p.compiler = jsonschema.NewCompiler()
	p.compiler.LoadURL = refuse
	if err := p.compiler.AddResource(selfURL, bytes.NewReader(patched)); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", revision, err)
	}
	return p, nil
}

func constOf(def any, member string) string {
	m, _ := def.(map[string]any)
	props, _ := m["properties"].(map[string]any)
	prop, _ := props[member].(map[string]any)
	s, _ := prop["const"].(string)
	return s
}

// Has reports whether the revision has a definition of that name.
func (p *Protocol) Has(definition string) bool { return p.known[definition] }

// Knows reports whether a method is a request or notification of the revision.
func (p *Protocol) Knows(method string) bool { return p.messages[method] != "" }

// Result validates the result of a request by the definition that belongs to
// its method, and to what the result says of itself: a union would accept
// nearly anything. A method that the revision does not know is accepted.
func (p *Protocol) Result(method string, result wire.Raw) error {
	name := p.results[method]
	kind, _ := result.Get("resultType").Str()
	switch {
	case name == "":
		return nil
	case kind == "input_required" && p.known["InputRequiredResult"]:
		name = "InputRequiredResult"
	case kind == "task" && method == "tools/call" && p.known["DetailedTask"]: // the tasks extension
		return p.Definition("CreateTaskResult", result)
	case method == "tools/call" && result.Get("task").Kind() == wire.KindObject && result.Get("content") == nil && p.known["CreateTaskResult"] && !p.known["DetailedTask"]:
		name = "CreateTaskResult"
	}
	if kind != "" && kind != "complete" && kind != "input_required" {
		return nil // of another extension: its definition is not here
	}
	return p.Definition(name, result)
}

// Message validates a request or notification by the definition that belongs
// to its method; one that the revision does not know is accepted.
func (p *Protocol) Message(method string, message wire.Raw) error {
	name := p.messages[method]
	if name == "" {
		return nil
	}
	return p.Definition(name, message)
}

// Definition validates a value by a definition. The error is a *Violation, or
// ErrLimit when the value could not be compared.
func (p *Protocol) Definition(name string, value wire.Raw) error {
	s, err := p.schema(name)
	if err != nil {
		return err
	}
	return validate(s, value)
}

func (p *Protocol) schema(name string) (*jsonschema.Schema, error) {
	if !p.known[name] {
		return nil, fmt.Errorf("revision %s has no definition %s", p.revision, name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.compiled[name]; s != nil {
		return s, nil
	}
	s, err := p.compiler.Compile(selfURL + "#/" + p.defs + "/" + name)
	if err != nil {
		return nil, fmt.Errorf("definition %s of %s: %w", name, p.revision, err)
	}
	p.compiled[name] = s
	return s, nil
}

func validate(s *jsonschema.Schema, value wire.Raw) (err error) {
	v, err := tree(value, 0)
	if err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: the validator gave up: %v", ErrLimit, r)
		}
	}()
	err = s.Validate(v)
	var ve *jsonschema.ValidationError
	if errors.As(err, &ve) {
		return pick(ve)
	}
	return err
}
