package broken

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/validate"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Op is what is done to a member of a message.
type Op string

// The ops.
const (
	Drop   Op = "drop"   // the member is left out
	Retype Op = "retype" // its value has another JSON type
	Rename Op = "rename" // it has another name
	Repeat Op = "repeat" // it is said twice
)

// Ops are all of them.
var Ops = []Op{Drop, Retype, Rename, Repeat}

// Slip is a fault that is made by program: an op on one member of every
// message of one kind.
type Slip struct {
	Base     string // whose traffic is changed: "reference" or "small"
	Revision string
	// Role is the kind of message: "result tools/list", "error -32602",
	// "request roots/list", "notification notifications/progress".
	Role string
	Path []string // to the member; * stands for each element, or for each member of a map
	Op   Op
}

// Name is unique among all slips.
func (s Slip) Name() string {
	return fmt.Sprintf("%s %s, %s, /%s, %s", s.Base, s.Revision, s.Role, strings.Join(s.Path, "/"), s.Op)
}

// Area is what the score of the slip is counted under: the method of its
// message, or error.
func (s Slip) Area() string {
	kind, method, _ := strings.Cut(s.Role, " ")
	if kind == "error" {
		return kind
	}
	return method
}

// bases are the servers whose traffic is changed.
var bases = map[string]serveFunc{
	"reference": reference,
	"small": func(ctx context.Context, in io.Reader, out, errs io.Writer) int {
		return (&checktest.Server{}).Serve(ctx, in, out, errs)
	},
}

// Launcher starts the server with the slip in this process. touched, which may
// be called by several goroutines, is told each line that was changed.
func (s Slip) Launcher(touched func(line string)) check.Launcher {
	f := &Wire{Output: func(w *Link, _ Message, line string) string {
		return eachMessage(line, func(m wire.Raw) wire.Raw {
			if role(w, m) != s.Role {
				return m
			}
			out, ok := slip(m, s.Path, s.Op)
			if ok {
				touched(string(out))
			}
			return out
		})
	}}
	return f.launcher(bases[s.Base])
}

func (f *Wire) launcher(server serveFunc) check.Launcher {
	return check.Pipe{Serve: func(ctx context.Context, in io.Reader, out, errs io.Writer) check.Exit {
		return check.Exit{Code: f.serve(ctx, server, in, out, errs)}
	}}
}

// eachMessage rewrites the messages of a line, which may be a batch.
func eachMessage(line string, fn func(m wire.Raw) wire.Raw) string {
	v, err := wire.ParseRaw([]byte(line))
	if err != nil {
		return line
	}
	if v.Kind() != wire.KindArray {
		return string(fn(v))
	}
	var all []string
	for m := range v.Elems() {
		all = append(all, string(fn(m)))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// role is what kind of message a server has sent.
func role(w *Link, m wire.Raw) string {
	if method, ok := m.Get("method").Str(); ok {
		if m.Get("id") != nil {
			return "request " + method
		}
		return "notification " + method
	}
	if e := m.Get("error"); e != nil {
		return "error " + string(e.Get("code"))
	}
	return "result " + w.asked[string(m.Get("id"))].Method
}

// Traffic gathers what a server says, to make slips of it. It may be used by
// several goroutines.
type Traffic struct {
	Base, Revision string

	mu    sync.Mutex
	roles []string
	said  map[string][]wire.Raw // by role
	// legible are the roles of errors that answer requests in which nothing is
	// wrong with the envelope.
	legible map[string]bool
}

// most is how many messages of one kind are looked at.
const most = 400

// Launcher starts the server whose traffic is gathered.
func (t *Traffic) Launcher() check.Launcher {
	f := &Wire{Output: func(w *Link, _ Message, line string) string {
		return eachMessage(line, func(m wire.Raw) wire.Raw {
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.said == nil {
				t.said, t.legible = map[string][]wire.Raw{}, map[string]bool{}
			}
			r := role(w, m)
			asked := w.asked[string(m.Get("id"))]
			if version, _ := asked.Text.Get("jsonrpc").Str(); version == "2.0" && (asked.Params == nil || asked.Params.Kind() == wire.KindObject) {
				t.legible[r] = true
			}
			if t.said[r] == nil {
				t.roles = append(t.roles, r)
			}
			if len(t.said[r]) < most {
				t.said[r] = append(t.said[r], m.Clone())
			}
			return m
		})
	}}
	return f.launcher(bases[t.Base])
}

// Slips are the faults that can be made of the traffic, without those at paths
// in except, and how many of them break no rule:
//
//   - A member that is said twice: RFC 8259 only says that names should be
//     unique, and the value is the same.
//   - Another type of the id of a request of the server: strings and integers
//     will both do.
//   - An id that is null, or not there, in an error that answers what could not
//     be read: the specification is at odds with itself on which it should be,
//     and an envelope in which something is wrong need not be read any further.
//   - What leaves each message valid by the schema of the revision, as when a
//     member that may be missing is left out, or one is changed for whose value
//     any type will do. What rules beside the schema it may break, faults with
//     names are for.
//
// The members of the envelope itself, and those of an error but its data, are
// not in doubt: each of them is needed as it is.
func (t *Traffic) Slips(except map[string]bool) (out []Slip, harmless int, err error) {
	schema, err := validate.For(t.Revision)
	if err != nil {
		return nil, 0, err
	}
	slices.Sort(t.roles)
	for _, r := range t.roles {
		// The checker looks for servers of every era: what it hears of another
		// one than it judges is not looked at.
		if kind, method, _ := strings.Cut(r, " "); kind != "error" && !schema.Knows(method) {
			continue
		}
		var paths [][]string
		seen := map[string]bool{}
		for _, m := range t.said[r] {
			walk(m, nil, func(path []string) {
				if key := r + " " + strings.Join(path, "/"); !seen[key] {
					seen[key] = true
					paths = append(paths, slices.Clone(path))
				}
			})
		}
		for _, path := range paths {
			if except[r+" /"+strings.Join(path, "/")] {
				continue
			}
			except[r+" /"+strings.Join(path, "/")] = true
			for _, op := range Ops {
				if path[len(path)-1] == "*" && op != Retype {
					continue // an element has no name
				}
				s := Slip{t.Base, t.Revision, r, path, op}
				if op == Repeat || !t.breaks(schema, s) {
					harmless++
					continue
				}
				out = append(out, s)
			}
		}
	}
	return out, harmless, nil
}

// breaks reports whether a slip makes one of the messages invalid.
func (t *Traffic) breaks(schema *validate.Protocol, s Slip) bool {
	if len(s.Path) == 1 && s.Path[0] == "id" {
		if strings.HasPrefix(s.Role, "request ") {
			return s.Op != Retype
		}
		if strings.HasPrefix(s.Role, "error ") && s.Op != Retype && !t.legible[s.Role] {
			return false
		}
		return slices.ContainsFunc(t.said[s.Role], func(m wire.Raw) bool { return m.Get("id") != nil && m.Get("id").Kind() != wire.KindNull })
	}
	if len(s.Path) == 1 && s.Path[0] != "params" || s.Path[0] == "error" && (len(s.Path) == 1 || s.Path[1] != "data") {
		return true
	}
	for _, m := range t.said[s.Role] {
		changed, ok := slip(m, s.Path, s.Op)
		if !ok {
			continue
		}
		kind, method, _ := strings.Cut(s.Role, " ")
		switch kind {
		case "result":
			err := schema.Result(method, changed.Get("result"))
			if err != nil && schema.Result(method, m.Get("result")) == nil {
				return true
			}
		case "error":
			name := map[string]string{"-32021": "MissingRequiredClientCapabilityError", "-32022": "UnsupportedProtocolVersionError", "-32042": "URLElicitationRequiredError"}[method]
			if schema.Has(name) && schema.Definition(name, changed) != nil && schema.Definition(name, m) == nil {
				return true
			}
		default:
			if schema.Message(method, changed) != nil && schema.Message(method, m) == nil {
				return true
			}
		}
	}
	return false
}

// mapped are members whose own members are named by whoever sends them.
var mapped = []string{"properties", "inputRequests", "extensions", "experimental", "requiredCapabilities"}

// walk calls fn with the path of each member and element.
func walk(v wire.Raw, path []string, fn func(path []string)) {
	const deepest = 12
	if len(path) == deepest {
		return
	}
	switch v.Kind() {
	case wire.KindObject:
		free := len(path) > 0 && slices.Contains(mapped, path[len(path)-1])
		for k, e := range v.Members() {
			if free {
				k = "*"
			}
			p := append(slices.Clip(path), k)
			fn(p)
			walk(e, p, fn)
		}
	case wire.KindArray:
		for e := range v.Elems() {
			p := append(slices.Clip(path), "*")
			fn(p)
			walk(e, p, fn)
		}
	}
}

// slip does an op wherever a path leads to; changed says whether it led
// anywhere.
func slip(v wire.Raw, path []string, op Op) (out wire.Raw, changed bool) {
	return change(v, path, func(put func(string, wire.Raw), name string, e wire.Raw) {
		switch op {
		case Retype:
			put(name, otherType(e))
		case Rename:
			put(name+"X", e)
		case Repeat:
			put(name, e)
			put(name, e)
		}
	})
}

// otherType is a value of another JSON type that resembles it.
func otherType(v wire.Raw) wire.Raw {
	switch v.Kind() {
	case wire.KindString:
		return wire.Raw("7")
	case wire.KindNumber:
		return wire.Quote(string(v))
	case wire.KindBool:
		return wire.Quote(string(v))
	case wire.KindObject:
		return wire.Raw("[" + string(v) + "]")
	case wire.KindArray:
		return wire.Raw(`{"0":` + strconv.Quote("list") + `}`)
	}
	return wire.Raw("7")
}
