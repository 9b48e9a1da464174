package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/result"
)

// Format is the version of the JSON form, its member "goldwire". It changes
// only when a reader of the old form could misread the new one; members may be
// added at any time, so readers pass over those they do not know.
const Format = 1

// document is the JSON form of a report:
//
//	{
//	  "goldwire": 1,
//	  "target": {"side": "server", "command": ["./server"], "name": "…", "version": "…"},
//	  "revisions": ["2025-11-25"],
//	  "locked": true,                              it lets nobody in: which revisions it speaks is not known
//	  "summary": {"pass": 1, "fail": 1, "warn": 0, "not-applicable": 0, "not-observed": 0, "blocked": 0, "error": 0},
//	  "coverage": [{                               how many MUSTs were exercised: came to pass, fail or warn
//	    "revision": "2025-11-25", "transport": "stdio", "must": 120, "exercised": 80
//	  }],
//	  "strict": true,                              warnings count as failures do
//	  "results": [{
//	    "check": "tools-unknown-tool",               id of the check
//	    "revision": "2025-11-25",
//	    "transport": "stdio",                        stdio, http or sse
//	    "level": "MUST",                             MUST, MUST NOT, SHOULD, SHOULD NOT or MAY
//	    "requirements": ["legacy/tools-unknown-tool"],  ids in the catalogue, the deciding one first
//	    "verdict": "fail",                           a member of summary
//	    "mild": "…",                                 why breaking the rule is only a warning, where level says MUST
//	    "requirement": "…",                          the deciding one, in a sentence
//	    "spec": "https://…",                         its place in the specification
//	    "layer": "protocol",                         who is to look into it: carrier, jsonrpc, protocol or feature
//	    "expected": "…", "observed": "…",            of a fail or warn
//	    "reason": "…",                               of the other verdicts but pass
//	    "known": "…",                                why a fail, warn or blocked is expected and does not count
//	    "frames": [{"text": "<@12ms {…}", "here": true}], the traffic around, as lines of a transcript
//	    "count": 3,                                  how often the rule was seen broken, where more than once
//	    "more": [{"expected": "…", "observed": "…", "frames": […]}]  the other times, nine at most
//	  }],
//	  "stale": [{"check": "…", "file": "…", "why": "…"}],  entries of a baseline that are not true any more
//	  "notes": ["…"],                                what else there is to say of the run
//	  "error": {                                     only of a run that came to no verdicts: results is empty then
//	    "kind": "died",                              start, died, silent, revision, interrupted or internal
//	    "message": "…", "exitCode": 3,
//	    "stderr": "…"                                the last lines that the target wrote to its stderr, if any
//	  }
//	}
//
// Members of results from "mild" on are left out when they are empty, and so
// are strict, stale, notes and error. Every run gives the results in the same order.
type document struct {
	Goldwire  int               `json:"goldwire"`
	Target    result.Target     `json:"target"`
	Revisions []string          `json:"revisions"`
	Locked    bool              `json:"locked,omitempty"`
	Summary   summary           `json:"summary"`
	Coverage  []result.Coverage `json:"coverage"`
	Strict    bool              `json:"strict,omitempty"`
	Results   []result.Check    `json:"results"`
	Stale     []result.Stale    `json:"stale,omitempty"`
	Notes     []string          `json:"notes,omitempty"`
	Error     *result.Failure   `json:"error,omitempty"`
}

// summary has the order of result.Verdicts.
type summary struct {
	Pass          int `json:"pass"`
	Fail          int `json:"fail"`
	Warn          int `json:"warn"`
	NotApplicable int `json:"not-applicable"`
	NotObserved   int `json:"not-observed"`
	Blocked       int `json:"blocked"`
	Error         int `json:"error"`
}

func summarise(s result.Summary) summary {
	return summary{
		Pass: s[result.Pass], Fail: s[result.Fail], Warn: s[result.Warn], NotApplicable: s[result.NotApplicable],
		NotObserved: s[result.NotObserved], Blocked: s[result.Blocked], Error: s[result.Error],
	}
}

// JSON writes the report in its JSON form, indented by tabs, with a newline at
// the end. Text that is not UTF-8 is repaired with U+FFFD.
func JSON(w io.Writer, r *result.Report) error {
	d := document{
		Goldwire: Format, Target: r.Target, Revisions: r.Revisions, Locked: r.Locked, Summary: summarise(r.Summary()), Coverage: r.Coverage(),
		Strict: r.Strict, Results: slices.Clone(r.Results), Stale: r.Stale, Notes: r.Notes, Error: r.Error,
	}
	if d.Revisions == nil {
		d.Revisions = []string{}
	}
	if d.Coverage == nil {
		d.Coverage = []result.Coverage{}
	}
	if d.Results == nil {
		d.Results = []result.Check{}
	}
	for i := range d.Results {
		if d.Results[i].Requirements == nil {
			d.Results[i].Requirements = []string{}
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	return e.Encode(d)
}

// ParseJSON reads a report from its JSON form. It refuses another version, a
// verdict or level it does not know, and a summary that does not add up; the
// error says where. Unknown members are passed over.
func ParseJSON(b []byte) (*result.Report, error) {
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("no JSON report of goldwire check: %w", err)
	}
	switch {
	case d.Goldwire == 0:
		return nil, errors.New("no JSON report of goldwire check: the member goldwire is missing")
	case d.Goldwire != Format:
		return nil, fmt.Errorf("goldwire: version %d, this program reads %d", d.Goldwire, Format)
	}
	for i := range d.Results {
		c := &d.Results[i]
		switch {
		case c.ID == "":
			return nil, fmt.Errorf("results[%d].check: missing", i)
		case !slices.Contains(result.Verdicts, c.Verdict):
			return nil, fmt.Errorf("results[%d].verdict: %q is not known", i, c.Verdict)
		case !slices.Contains(levels, c.Level):
			return nil, fmt.Errorf("results[%d].level: %q is not known", i, c.Level)
		}
	}
	r := &result.Report{Target: d.Target, Revisions: d.Revisions, Locked: d.Locked, Results: d.Results, Strict: d.Strict, Stale: d.Stale, Notes: d.Notes, Error: d.Error}
	if got := summarise(r.Summary()); got != d.Summary {
		return nil, fmt.Errorf("summary: it does not add up: the results give %+v", got)
	}
	return r, nil
}

var levels = []result.Level{"", catalogue.Must, catalogue.MustNot, catalogue.Should, catalogue.ShouldNot, catalogue.May}
