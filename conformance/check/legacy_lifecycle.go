package check

import (
	"slices"

	"github.com/goldwire/goldwire/runtime/wire"
)

func legacyLifecycleProbes() []Probe {
	return []Probe{
		{
			Name: "ping", Until: lastLegacy, Profile: Main,
			Run: func(d *Driver) {
				d.Step("ping")
				d.Call("ping", "")
				d.Call("ping", "{}")
			},
		},
	}
}

func legacyLifecycleChecks() []Check {
	return []Check{
		{
			ID: "ping-answered", Title: "a ping is answered with an empty result", Layer: Protocol,
			Requirements: []string{"legacy/ping-answered"},
			Judge: func(c *Case) {
				s := c.Step("ping")
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					if a := c.Answer(req); a != nil {
						c.emptyResult(a)
					}
				}
			},
		},
		{
			ID: "version-counter-offer", Title: "an unknown version is answered with a version the server knows", Layer: Protocol,
			Requirements: []string{"legacy/version-server-counter-offer"},
			Judge: func(c *Case) {
				for _, t := range c.Offers {
					for _, req := range t.frames {
						offered, _ := req.Param("protocolVersion").Str()
						if req.FromServer || req.Method != "initialize" || slices.Contains(revisions, offered) {
							continue
						}
						a := c.Answer(req)
						if a == nil {
							continue
						}
						got, _ := a.Result.Get("protocolVersion").Str()
						switch {
						case a.Failed():
							c.Tolerated(a, "a result that names another version", "error "+text(a.Error.Get("code")))
						case got == offered:
							c.Broken(a, "a version that the server speaks", "the unknown version "+offered+" itself")
						case !slices.Contains(revisions, got):
							c.Broken(a, "a version of the protocol", text(a.Result.Get("protocolVersion")))
						default:
							c.Saw()
						}
					}
				}
			},
		},
	}
}

// emptyResult judges that a response has a result without members of its own.
func (c *Case) emptyResult(a *Frame) {
	if !a.OK() {
		c.Broken(a, "an empty result", "error "+text(a.Error))
		return
	}
	if a.Result.Kind() != wire.KindObject {
		c.Broken(a, "an empty object", text(a.Result))
		return
	}
	for name := range a.Result.Members() {
		if name != "_meta" {
			c.Broken(a, "a result without members", "the member "+name)
			return
		}
	}
	c.Saw()
}
