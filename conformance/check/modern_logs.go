package check

import (
	"slices"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Log messages, which a client asks for with each request, and progress.

// maxLogged bounds how many tools are called again to see what they log.
const maxLogged = 4

// maxPerSecond is how many progress notifications a second and token are
// called a flood.
const maxPerSecond = 50

func modernLogProbes() []Probe {
	return []Probe{
		{
			Name: "log levels", Since: firstModern, Profile: Main,
			Run: func(d *Driver) {
				d.Step("log/levels")
				d.Await(
					d.Ask(methodDiscover, `{"_meta":{"`+metaLogLevel+`":"debug"}}`),
					d.Ask(someList(d.Facts), `{"_meta":{"`+metaLogLevel+`":"emergency"}}`),
				)
				d.Step("log/bad-level")
				d.Await(
					d.Ask(methodDiscover, `{"_meta":{"`+metaLogLevel+`":"verbose"}}`),
					d.Ask(someList(d.Facts), `{"_meta":{"`+metaLogLevel+`":"verbose"}}`),
				)
			},
		},
		{
			Name: "read-only tools with a log level", Since: firstModern, Profile: Main, Needs: []string{"tools"},
			Run: func(d *Driver) {
				called := 0
				for _, t := range d.Facts.Tools {
					name, ok := t.Get("name").Str()
					if !ok || !d.MayCall(name) || called == maxLogged {
						continue
					}
					args, sure := Arguments(t.Get("inputSchema"))
					if !sure {
						continue
					}
					called++
					for _, level := range []string{"error", "debug"} {
						d.Step("log/" + level + "/" + name)
						d.Patient(d.Ask("tools/call", `{"name":`+quote(name)+`,"arguments":`+args+`,"_meta":{"`+metaLogLevel+`":"`+level+`"}}`))
					}
					d.Step("log/none/" + name)
					d.Patient(d.Ask("tools/call", `{"name":`+quote(name)+`,"arguments":`+args+`}`))
				}
				d.Fence()
			},
		},
	}
}

func modernLogChecks() []Check {
	return []Check{
		{
			ID: "log-only-asked", Title: "log messages come for requests that ask for them", Layer: Feature,
			Requirements: []string{"modern/log-only-on-request"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					clean, silent := true, false
					t.follow(func(f *Frame, now *flight) {
						if f.Method != methodMessage {
							if f.Kind == KindResponse {
								silent = true
							}
							return
						}
						if level, ever := wanted(now); level < 0 && !ever {
							c.Broken(f, "no log message, as no request asked for one", text(f.Params))
							clean = false
						}
					})
					if clean && silent {
						c.Saw()
					}
				}
			},
		},
		{
			ID: "log-before-answer", Title: "log messages come before the answer", Layer: Feature,
			Requirements: []string{"modern/log-before-response"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					t.follow(func(f *Frame, now *flight) {
						if f.Method != methodMessage {
							return
						}
						if level, ever := wanted(now); level >= 0 || ever {
							c.want(f, level >= 0, "no log message after the answer to the request that asked for it", text(f.Params))
						}
					})
				}
			},
		},
		{
			ID: "log-level-threshold", Title: "log messages are as severe as was asked for", Layer: Feature,
			Requirements: []string{"modern/log-level-threshold"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					t.follow(func(f *Frame, now *flight) {
						got := slices.Index(logLevels, plain(f.Param("level")))
						if level, _ := wanted(now); f.Method == methodMessage && level >= 0 && got >= 0 {
							c.want(f, got >= level, "the level "+logLevels[level]+" or above", logLevels[got])
						}
					})
				}
			},
		},
		{
			ID: "log-bad-level", Title: "an unknown log level is refused", Layer: Feature, Needs: []string{"logging"},
			Requirements: []string{"modern/log-invalid-level-rejected"},
			Judge:        func(c *Case) { c.Refused("log/bad-level", false, -32602) },
		},
		{
			ID: "progress-rate", Title: "progress is told at a bearable rate", Layer: Feature,
			Requirements: []string{"modern/progress-rate-limited"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					at := map[string][]time.Duration{}
					for f := range t.all() {
						if !f.FromServer || f.Method != methodProgress {
							continue
						}
						k := idKey(f.Param("progressToken"))
						at[k] = append(at[k], f.At)
						n := len(at[k])
						if n <= maxPerSecond {
							c.Saw()
						} else if f.At-at[k][n-1-maxPerSecond] < time.Second {
							c.Broken(f, "a bearable rate", "more than "+plural(maxPerSecond, "notification")+" within a second")
						}
					}
				}
			},
		},
	}
}

// wanted is the least severe level that an open request asked for, -1 when
// none did, and whether any request, open or answered, ever did.
func wanted(now *flight) (level int, ever bool) {
	level = -1
	for _, req := range now.open {
		if l := levelOf(req); l >= 0 && (level < 0 || l < level) {
			level = l
		}
	}
	for _, req := range now.past {
		ever = ever || req.meta(metaLogLevel) != nil
	}
	return level, ever
}

// levelOf is the level that a request asks for, -1 for none. One that does not
// exist may be taken for any.
func levelOf(req *Frame) int {
	v := req.meta(metaLogLevel)
	if v == nil {
		return -1
	}
	if v.Kind() == wire.KindString {
		if i := slices.Index(logLevels, plain(v)); i >= 0 {
			return i
		}
	}
	return 0
}
