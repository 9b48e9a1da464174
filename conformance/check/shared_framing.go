package check

func framingChecks() []Check {
	return []Check{
		{
			ID: "stdout-messages-only", Title: "every line of the output is one JSON-RPC message", Layer: Bytes,
			Requirements: []string{"legacy/stdio-stdout-only-mcp", "modern/stdio-stdout-only-mcp"},
			Judge: func(c *Case) {
				for _, t := range c.Traces {
					for _, f := range t.Frames() {
						if !f.FromServer {
							continue
						}
						switch f.Kind {
						case KindText:
							c.Broken(f, "one JSON-RPC message on each line of the output", f.Why+": "+f.String())
						case KindScalar, KindOther:
							c.Broken(f, "one JSON-RPC message on each line of the output", "a JSON value that is no message: "+f.String())
						case KindBlank:
							c.Tolerated(f, "nothing but messages on the output", "a blank line")
						default:
							c.Saw()
						}
					}
				}
			},
		},
	}
}
