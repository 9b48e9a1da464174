package client

import (
	"maps"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/runtime/wire"
)

// round is one request of a stateless revision that was answered by a wish for
// input, with the request that brought it.
type round struct {
	req, answer *check.Frame
	retry       *check.Frame // nil where none came
}

func brings(f *check.Frame) bool {
	return f.Params.Get("inputResponses") != nil || f.Params.Get("requestState") != nil
}

func sameTarget(a, b *check.Frame) bool {
	return a.Method == b.Method && str(a.Params.Get("name")) == str(b.Params.Get("name")) && str(a.Params.Get("uri")) == str(b.Params.Get("uri"))
}

// eachRetry calls fn for every round that went on.
func eachRetry(c *check.Case, fn func(k *talk, r round)) {
	for _, k := range talks(c) {
		for _, r := range k.rounds() {
			if r.retry != nil {
				fn(k, r)
			}
		}
	}
}

// inputChecks are about results that want input, and the requests after them.
func inputChecks() []check.Check {
	return []check.Check{
		{
			ID: "client-input-complete", Title: "a retry brings all that was asked for", Layer: check.Feature,
			Requirements: []string{"modern/mrtr-client-fulfils-inputs"},
			Judge: func(c *check.Case) {
				eachRetry(c, func(_ *talk, r round) {
					for key := range r.answer.Result.Get("inputRequests").Members() {
						want(c, r.retry, r.retry.Params.Get("inputResponses").Get(key) != nil, "a response under the key "+show(wire.Quote(key)), "none")
					}
				})
			},
		},
		{
			ID: "client-input-keys", Title: "responses have the keys of what was asked for", Layer: check.Feature,
			Requirements: []string{"modern/mrtr-client-response-keys"},
			Judge: func(c *check.Case) {
				eachRetry(c, func(_ *talk, r round) {
					for key := range r.retry.Params.Get("inputResponses").Members() {
						want(c, r.retry, r.answer.Result.Get("inputRequests").Get(key) != nil, "keys of the inputRequests", show(wire.Quote(key)))
					}
				})
			},
		},
		{
			ID: "client-input-shape", Title: "each response is the bare result of its kind", Layer: check.Feature,
			Requirements: []string{"modern/mrtr-client-response-shape"},
			Judge: func(c *check.Case) {
				p, err := protocol(c.Revision)
				if err != nil {
					panic(err)
				}
				kinds := map[string]string{"elicitation/create": "ElicitResult", "sampling/createMessage": "CreateMessageResult", "roots/list": "ListRootsResult"}
				for method, name := range kinds {
					answered(c, method, func(a ask) {
						if a.result.Get("jsonrpc") != nil || a.result.Get("result") != nil {
							c.Broken(a.answer, "a bare result", show(a.result))
							return
						}
						fits(c, a.answer, p.Definition(name, a.result))
					})
				}
			},
		},
		{
			ID: "client-input-retries-original", Title: "a retry repeats the method and parameters", Layer: check.Feature,
			Requirements: []string{"modern/mrtr-client-retries-original"},
			Judge: func(c *check.Case) {
				eachRetry(c, func(_ *talk, r round) {
					strip := func(v wire.Raw) map[string]wire.Raw {
						out := maps.Collect(v.Members())
						for _, m := range []string{"_meta", "inputResponses", "requestState"} {
							delete(out, m)
						}
						return out
					}
					was, is := strip(r.req.Params), strip(r.retry.Params)
					for _, name := range slices.Sorted(maps.Keys(was)) {
						if is[name] == nil || !wire.Equal(was[name], is[name]) {
							c.Broken(r.retry, name+" "+show(was[name]), show(is[name]))
							return
						}
					}
					for _, name := range slices.Sorted(maps.Keys(is)) {
						if was[name] == nil {
							c.Broken(r.retry, "the parameters of the first attempt", "the member "+name+" as well")
							return
						}
					}
					c.Saw()
				})
			},
		},
		{
			ID: "client-input-state", Title: "the state comes back as it was given", Layer: check.Feature,
			Requirements: []string{"modern/mrtr-client-echoes-state"},
			Judge: func(c *check.Case) {
				eachRetry(c, func(_ *talk, r round) {
					given, ok := r.answer.Result.Get("requestState").Str()
					if !ok || r.answer.Result.Get("requestState") == nil {
						return
					}
					got, ok := r.retry.Params.Get("requestState").Str()
					want(c, r.retry, ok && r.retry.Params.Get("requestState") != nil && got == given, "requestState "+show(r.answer.Result.Get("requestState")), show(r.retry.Params.Get("requestState")))
				})
			},
		},
		{
			ID: "client-input-no-state", Title: "no state is sent where none was given", Layer: check.Feature,
			Requirements: []string{"modern/mrtr-client-no-invented-state"},
			Judge: func(c *check.Case) {
				eachRetry(c, func(_ *talk, r round) {
					if r.answer.Result.Get("requestState") == nil {
						want(c, r.retry, r.retry.Params.Get("requestState") == nil, "no requestState", show(r.retry.Params.Get("requestState")))
					}
				})
			},
		},
		{
			ID: "client-input-new-id", Title: "a retry has an id of its own", Layer: check.Feature,
			Requirements: []string{"modern/mrtr-client-new-id"},
			Judge: func(c *check.Case) {
				eachRetry(c, func(_ *talk, r round) {
					want(c, r.retry, !wire.Equal(r.req.ID, r.retry.ID), "another id than "+show(r.req.ID), "the same")
				})
			},
		},
		{
			ID: "client-input-isolated", Title: "input and state go into the retry only", Layer: check.Feature,
			Requirements: []string{"modern/mrtr-client-isolation"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					retries := map[*check.Frame]bool{}
					first := map[string]int{} // events of the first wishes for input, by what was asked for
					for _, r := range k.rounds() {
						if r.retry != nil {
							retries[r.retry] = true
						}
						if at, there := first[targetKey(r.req)]; !there || r.answer.Index < at {
							first[targetKey(r.req)] = r.answer.Index
						}
					}
					if len(first) == 0 {
						continue
					}
					// Whoever retries may do so again: a request could also be the
					// retry of one that another retry belongs to.
					wanted := func(f *check.Frame) bool {
						at, there := first[targetKey(f)]
						return there && at < f.Index
					}
					for _, f := range k.requests("") {
						switch {
						case retries[f]:
						case brings(f) && !wanted(f):
							c.Broken(f, "no input or state outside of a retry", "params "+show(f.Params))
						default:
							c.Saw()
						}
					}
				}
			},
		},
		{
			ID: "client-result-type-absent", Title: "a result without a type is a complete one", Layer: check.Feature,
			Requirements: []string{"modern/result-type-absent-is-complete"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c, scriptUntyped) {
					brought := map[string][]*check.Frame{}
					for _, f := range k.requests("") {
						if brings(f) {
							brought[f.Method] = append(brought[f.Method], f)
						}
					}
					for _, f := range k.requests("") {
						a := k.answers[f]
						if !a.OK() || a.Result.Get("resultType") != nil {
							continue
						}
						if g := after(brought[f.Method], a.Index); g != nil {
							c.Broken(g, "no retry, as the result is complete", "one")
							return
						}
						if f.Method == callTool || k.alive(a) {
							c.Saw()
						}
					}
				}
			},
		},
	}
}

// plural is a number with its noun.
func plural(n int, noun string) string {
	s := itoa(n) + " " + noun
	if n != 1 && !strings.HasSuffix(noun, "s") {
		s += "s"
	}
	return s
}
