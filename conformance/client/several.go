package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance/check"
)

// namesIn are the clients that say who they are in a play, by name and version,
// in order: several where a bridge or a program leads more than one to the
// server.
func namesIn(t *check.Trace) []string {
	var out []string
	for _, f := range t.Frames() {
		if f.FromServer || f.Kind != check.KindRequest {
			continue
		}
		info := f.Param("_meta").Get(metaInfo)
		if f.Method == initialize && info == nil {
			info = f.Param("clientInfo")
		}
		name := strings.TrimSpace(check.Name(info, "name") + " " + check.Name(info, "version"))
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// several says of a setting in which more than one client was seen in a play how
// they are judged, "" where there was one. A session of its own each of them has
// where the transport shows one: HTTP with stateful revisions, a connection of
// stdio. In a stateless revision over HTTP nothing tells them apart for sure.
func several(s setting, traces []*check.Trace) string {
	var names []string
	for _, t := range traces {
		if in := namesIn(t); len(in) > max(1, len(names)) {
			names = in
		}
	}
	if len(names) == 0 {
		return ""
	}
	const most = 5
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", n))
	}
	how := "each of their sessions by itself, but for what they declare, of which the first is taken"
	if check.Modern(s.rev) {
		how = "as one, since nothing but their names tells them apart"
	}
	return fmt.Sprintf("Several clients were seen in one play of %s over %s: %s. They are judged %s: lead one at a time to the server to judge each.", s.rev, s.t, strings.Join(names, ", "), how)
}
