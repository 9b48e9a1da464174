package check

import (
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/runtime/wire"
)

const batchRevision = rev2025March // the one revision that has batches

func legacyBatchProbes() []Probe {
	return []Probe{
		{
			Name: "batch", Since: batchRevision, Until: batchRevision, Profile: Main, Rough: true,
			Run: func(d *Driver) {
				d.Step("batch/mixed")
				one, two := d.NextID(), d.NextID()
				f := d.Line(`[` + RequestText(one, "ping", "") + `,` + NotificationText("notifications/goldwire_unknown", "") + `,` + RequestText(two, "ping", "") + `]`)
				if f != nil {
					d.Settle(f.parts()[0], f.parts()[2])
				}
			},
		},
		{
			Name: "batch of notifications", Since: batchRevision, Until: batchRevision, Profile: Main, Rough: true,
			Run: func(d *Driver) {
				d.Step("batch/notifications")
				n := NotificationText("notifications/cancelled", `{"requestId":"goldwire-unknown"}`)
				d.Line(`[` + n + `,` + n + `]`)
				d.Fence()
			},
		},
		{
			Name: "empty batch", Since: batchRevision, Until: batchRevision, Profile: Main, Rough: true,
			Run: func(d *Driver) {
				d.Step("batch/empty")
				d.Provoke(`[]`)
			},
		},
	}
}

func legacyBatchChecks() []Check {
	return []Check{
		{
			ID: "batch-received", Title: "the requests of a batch are answered", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-batch-receive"},
			Judge: func(c *Case) {
				if s := c.Step("batch/mixed"); s != nil {
					for _, line := range s.Sent() {
						for _, req := range line.parts() {
							if req.Kind != KindRequest {
								continue
							}
							if !s.Trace.fenced(line.Index) && s.Trace.Answer(req) == nil && !s.Trace.cut() {
								c.Broken(req, "an answer to each request of the batch", or(s.Trace.lost(), "it answered nothing any more"))
							} else if a := c.Answer(req); a != nil {
								c.want(a, a.OK(), "a result", outcome(a))
							}
						}
					}
				}
			},
		},
		{
			ID: "batch-answered-together", Title: "the requests of a batch are answered by one array", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-batch-reply-grouping"},
			Judge: func(c *Case) {
				s := c.Step("batch/mixed")
				if s == nil {
					return
				}
				for _, line := range s.Sent() {
					var first *Frame
					for _, req := range line.parts() {
						a := s.Trace.Answer(req)
						switch {
						case req.Kind != KindRequest || a == nil:
						case first == nil:
							first = a
						default:
							c.want(a, a.Index == first.Index || c.oneByOne(first) && c.oneByOne(a), "one array with both answers", "two lines")
						}
					}
				}
			},
		},
		{
			ID: "batch-of-notifications-silent", Title: "a batch of notifications is not answered", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-batch-notifications-silent"},
			Judge:        func(c *Case) { c.Unanswered("batch/notifications") },
		},
		{
			ID: "batch-empty-refused", Title: "an empty batch is refused by one error", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-batch-empty"},
			Judge: func(c *Case) {
				s := c.Step("batch/empty")
				if s == nil {
					return
				}
				for _, f := range s.Got() {
					if f.Kind == KindArray {
						n := 0
						for e := range f.Value.Elems() {
							if e.Kind() == wire.KindObject {
								n++
							}
						}
						if n == 0 {
							c.Broken(f, "an error with code -32600", "an empty array")
						} else {
							c.Tolerated(f, "a single error", "an array")
						}
						return
					}
				}
				c.reaction("batch/empty", -32600)
			},
		},
	}
}

// oneByOne reports whether an answer came on the stream of a response of
// Streamable HTTP, where each request of a batch may be answered by itself.
func (c *Case) oneByOne(f *Frame) bool {
	x := f.Trace.carriedAt(f.Index)
	return c.Transport == catalogue.HTTP && x != nil && x.media == mediaStream
}
