package check

func modernMetaProbes() []Probe {
	return []Probe{
		{
			Name: "requests without metadata", Since: firstModern, Profile: Main,
			Run: func(d *Driver) {
				d.Step("meta/missing")
				for _, params := range []string{"", "{}"} {
					d.Await(d.AskWith(d.NextID(), "server/discover", params))
				}
			},
		},
	}
}

func modernMetaChecks() []Check {
	return []Check{
		{
			ID: "meta-missing", Title: "a request without metadata is refused", Layer: Protocol,
			Requirements: []string{"modern/meta-missing-rejected"},
			Judge:        func(c *Case) { c.Refused("meta/missing", false, -32602) },
		},
	}
}
