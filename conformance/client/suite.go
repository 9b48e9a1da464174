package client

// The environment in which the official suite starts a client, and what this
// checker adds to it.
const (
	envScenario  = "MCP_CONFORMANCE_SCENARIO"
	envVersion   = "MCP_CONFORMANCE_PROTOCOL_VERSION"
	envContext   = "MCP_CONFORMANCE_CONTEXT"
	envURL       = "GOLDWIRE_URL"
	envScript    = "GOLDWIRE_SCRIPT"
	envRevision  = "GOLDWIRE_REVISION"
	envTransport = "GOLDWIRE_TRANSPORT"
)

// usual is the scenario that a client of the suite's contract is asked to play:
// it lists the tools and calls add_numbers.
const usual = "tools_call"

// environment is what a client is told of the play, and what a client of the
// suite's contract does by.
func (p *Play) environment(url string) []string {
	env := []string{
		envScript + "=" + p.Script.Name, envRevision + "=" + p.Revision, envTransport + "=" + string(p.Transport),
		envScenario + "=" + or(p.Script.Scenario, usual), envVersion + "=" + p.Speaks,
	}
	if url != "" {
		env = append(env, envURL+"="+url)
	}
	if p.Script.Context != nil {
		env = append(env, envContext+"="+p.Script.Context(p))
	}
	return env
}
