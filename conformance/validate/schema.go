package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Bounds of a schema that a peer publishes. A small one can be made to cost
// seconds, so the cost is estimated before it is compiled.
const (
	maxSchemaBytes = 64 << 10
	maxSchemaDepth = 64
	maxSubschemas  = 2_000
	maxPaths       = 10_000 // with references followed
)

// Schema is a compiled schema of a peer.
type Schema struct {
	schema *jsonschema.Schema
	// Partial says that patterns which this package cannot evaluate were left
	// out: a value that passes might still break one of them.
	Partial bool
}

// InvalidError says that a schema is not valid in its own dialect.
type InvalidError struct{ Err error }

func (e *InvalidError) Error() string { return "not a valid schema: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *InvalidError) Unwrap() error { return e.Err }

// UnsupportedError says that a schema may be valid but cannot be evaluated
// here: too costly, an unknown dialect, a reference to another document.
type UnsupportedError struct{ Why string }

func (e *UnsupportedError) Error() string { return "the schema cannot be evaluated: " + e.Why }

func unsupported(format string, a ...any) error {
	return &UnsupportedError{Why: fmt.Sprintf(format, a...)}
}

// Compile compiles a schema of a peer; the dialect is 2020-12 where it names
// none. Formats are not asserted and nothing is ever loaded. The error is an
// *InvalidError or an *UnsupportedError.
func Compile(schema wire.Raw) (s *Schema, err error) {
	if len(schema) > maxSchemaBytes {
		return nil, unsupported("it has %d bytes", len(schema))
	}
	v, err := tree(schema, 0)
	if err != nil {
		return nil, unsupported("%v", err)
	}
	if d := depthOf(v); d > maxSchemaDepth {
		return nil, unsupported("it is nested %d levels deep", d)
	}
	root, ok := v.(map[string]any)
	if !ok {
		if _, ok := v.(bool); !ok {
			return nil, &InvalidError{Err: errors.New("a schema is an object")}
		}
	}
	s = &Schema{Partial: simplify(v, "")}
	if root != nil {
		if root["$schema"] == nil {
			root["$schema"] = draft2020
		}
		if err := cost(root); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, unsupported("%v", err)
	}
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, unsupported("the compiler gave up: %v", r)
		}
	}()
	c := jsonschema.NewCompiler()
	c.LoadURL = refuse
	if err := c.AddResource(selfURL, bytes.NewReader(text)); err != nil {
		return nil, unsupported("%v", err)
	}
	if s.schema, err = c.Compile(selfURL); err != nil {
		var ve *jsonschema.ValidationError
		if errors.As(err, &ve) {
			return nil, &InvalidError{Err: pick(ve)}
		}
		return nil, unsupported("%s", strings.TrimPrefix(err.Error(), "jsonschema "+selfURL+" compilation failed: "))
	}
	return s, nil
}

// Validate compares a value with the schema. The error is a *Violation, or
// ErrLimit when the value could not be compared.
func (s *Schema) Validate(value wire.Raw) error { return validate(s.schema, value) }

// Dialect is what a schema names as its dialect, "" where it names none.
func Dialect(schema wire.Raw) string {
	d, _ := schema.Get("$schema").Str()
	return d
}

// simplify leaves out what would be judged wrongly: formats, which are
// annotations, and patterns that RE2 cannot express. It reports whether a
// pattern was left out. under is the name of the member that holds v.
func simplify(v any, under string) (partial bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			partial = simplify(e, "") || partial
		}
	case map[string]any:
		names := under == "properties" || under == "$defs" || under == "definitions" || under == "dependentSchemas"
		for k, e := range v {
			if names { // members are names, their values are schemas
				partial = simplify(e, "") || partial
				continue
			}
			switch k {
			case "const", "enum", "default", "examples", "required":
				continue
			case "format":
				if _, ok := e.(string); ok {
					delete(v, k)
				}
				continue
			case "pattern":
				if p, ok := e.(string); ok && !compiles(p) {
					delete(v, k)
					partial = true
				}
				continue
			case "patternProperties":
				m, _ := e.(map[string]any)
				for p, sub := range m {
					if !compiles(p) {
						delete(m, p)
						// What the pattern allowed would now be refused.
						delete(v, "additionalProperties")
						delete(v, "unevaluatedProperties")
						partial = true
						continue
					}
					partial = simplify(sub, "") || partial
				}
				continue
			}
			partial = simplify(e, k) || partial
		}
	}
	return partial
}

func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}

func depthOf(v any) int {
	deepest := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			deepest = max(deepest, depthOf(e))
		}
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, depthOf(e))
		}
	default:
		return 0
	}
	return deepest + 1
}

// cost refuses schemas that would be expensive to compile or to evaluate.
func cost(root map[string]any) error {
	e := estimate{root: root, anchors: map[string]map[string]any{}, memo: map[string]int{}}
	e.index(root)
	if e.schemas > maxSubschemas {
		return unsupported("it has more than %d subschemas", maxSubschemas)
	}
	if n := e.walk(root, map[string]bool{}); n > maxPaths {
		return unsupported("its references lead through more than %d subschemas", maxPaths)
	}
	return nil
}

type estimate struct {
	root    map[string]any
	anchors map[string]map[string]any
	schemas int
	memo    map[string]int
}

func (e *estimate) index(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			e.index(x)
		}
	case map[string]any:
		e.schemas++
		for _, k := range []string{"$anchor", "$dynamicAnchor"} {
			if s, ok := v[k].(string); ok {
				e.anchors["#"+s] = v
			}
		}
		for _, k := range []string{"$id", "id"} {
			if s, ok := v[k].(string); ok {
				e.anchors[strings.TrimSuffix(s, "#")] = v
			}
		}
		for _, x := range v {
			e.index(x)
		}
	}
}

// walk counts the objects that evaluation may pass through, references
// followed, as far as the bound. A reference back to what is being walked
// counts once: how often it is taken depends on the value.
func (e *estimate) walk(v any, open map[string]bool) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			if n += e.walk(x, open); n > maxPaths {
				return n
			}
		}
	case map[string]any:
		n = 1
		for k, x := range v {
			if n > maxPaths {
				return n
			}
			ref, ok := x.(string)
			if !ok || k != "$ref" && k != "$dynamicRef" && k != "$recursiveRef" {
				n += e.walk(x, open)
				continue
			}
			if open[ref] {
				n++
				continue
			}
			if m, done := e.memo[ref]; done {
				n += m
				continue
			}
			if target, ok := e.resolve(ref); ok {
				open[ref] = true
				m := e.walk(target, open)
				delete(open, ref)
				e.memo[ref] = m
				n += m
			}
		}
	}
	return n
}

func (e *estimate) resolve(ref string) (any, bool) {
	if t, ok := e.anchors[ref]; ok {
		return t, true
	}
	ptr, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	var v any = e.root
	if ptr == "" {
		return v, true
	}
	for tok := range strings.SplitSeq(strings.TrimPrefix(ptr, "/"), "/") {
		tok = strings.NewReplacer("~1", "/", "~0", "~").Replace(tok)
		switch x := v.(type) {
		case map[string]any:
			if v, ok = x[tok]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(tok)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}
