package report

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
	"strings"

	"github.com/goldwire/goldwire/conformance/result"
)

// The parts of SARIF 2.1.0 (OASIS Standard) that a report uses. Names are those
// of the standard.

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
	ColumnKind  string            `json:"columnKind"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version,omitempty"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID            string        `json:"id"`
	Short         *sarifMessage `json:"shortDescription,omitempty"`
	HelpURI       string        `json:"helpUri,omitempty"`
	Configuration sarifDefault  `json:"defaultConfiguration"`
	Properties    sarifTags     `json:"properties"`
}

type sarifDefault struct {
	Level string `json:"level"`
}

type sarifTags struct {
	Tags []string `json:"tags"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	ExecutionSuccessful bool                `json:"executionSuccessful"`
	ExitCode            int                 `json:"exitCode"`
	Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Level   string       `json:"level"`
	Message sarifMessage `json:"message"`
}

type sarifResult struct {
	RuleID       string             `json:"ruleId"`
	RuleIndex    int                `json:"ruleIndex"`
	Level        string             `json:"level"`
	Message      sarifMessage       `json:"message"`
	Locations    []sarifLocation    `json:"locations"`
	Fingerprints map[string]string  `json:"partialFingerprints"`
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifLogical struct {
	Name          string `json:"name"`
	QualifiedName string `json:"fullyQualifiedName"`
}

const (
	sarifSchema = "https://json.schemastore.org/sarif-2.1.0.json"
	home        = "https://github.com/goldwire/goldwire"
)

// SARIF writes the findings of a report as a SARIF 2.1.0 log of one run: fails
// as errors, or as warnings where a warn, with the check as the rule and its
// place in the specification as the help. What is known is suppressed with its
// reason. Findings stand at Options.Source, where there is one, and at the
// revision and transport as a logical place. Checks that could not do their
// work, stale entries of a baseline, and why a run came to no result, are
// notifications.
func SARIF(w io.Writer, r *result.Report, o Options) error {
	run := sarifRun{
		Tool:       sarifTool{Driver: sarifDriver{Name: "goldwire", Version: o.Tool, InformationURI: home, Rules: []sarifRule{}}},
		Results:    []sarifResult{},
		ColumnKind: "unicodeCodePoints",
	}
	code := ExitCode(r)
	inv := sarifInvocation{ExecutionSuccessful: code != ExitNoResult && r.Error == nil, ExitCode: code}
	note := func(level, text string) {
		inv.Notifications = append(inv.Notifications, sarifNotification{Level: level, Message: sarifMessage{Text: plain(text)}})
	}
	rules := map[string]int{}
	for i := range r.Results {
		c := &r.Results[i]
		var level string
		switch c.Verdict {
		case result.Fail:
			level = "error"
		case result.Warn:
			level = "warning"
		case result.Error:
			note("error", c.ID+" in "+c.Revision+": "+c.Reason)
			continue
		default:
			continue
		}
		n, ok := rules[c.ID]
		if !ok {
			n = len(run.Tool.Driver.Rules)
			rules[c.ID] = n
			rule := sarifRule{ID: plain(c.ID), HelpURI: c.URL, Configuration: sarifDefault{Level: level}, Properties: sarifTags{Tags: []string{Area(c)}}}
			if c.Sentence != "" {
				rule.Short = &sarifMessage{Text: plain(c.Sentence)}
			}
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule)
		}
		place := strings.Trim(c.Revision+"/"+c.Transport, "/")
		sum := sha256.Sum256([]byte(c.ID + "\n" + c.Revision + "\n" + c.Transport))
		f := sarifResult{
			RuleID: plain(c.ID), RuleIndex: n, Level: level,
			Message:      sarifMessage{Text: plain("In " + place + ": expected " + or(c.Expected, "what the rule says") + "; observed " + or(c.Observed, "something else") + ".")},
			Locations:    []sarifLocation{{Logical: []sarifLogical{{Name: plain(c.ID), QualifiedName: plain(place + "/" + c.ID)}}}},
			Fingerprints: map[string]string{"check/v1": hex.EncodeToString(sum[:16])},
		}
		if o.Source != "" {
			f.Locations[0].Physical = &sarifPhysical{Artifact: sarifArtifact{URI: fileURI(o.Source)}, Region: sarifRegion{StartLine: 1}}
		}
		if c.Known != "" {
			f.Suppressions = []sarifSuppression{{Kind: "external", Justification: plain(c.Known)}}
		}
		run.Results = append(run.Results, f)
	}
	for _, s := range r.Stale {
		note("warning", s.File+": "+s.Check+": "+s.Why)
	}
	for _, s := range r.Notes {
		note("note", s)
	}
	if r.Error != nil {
		note("error", r.Error.Message)
	} else if code == ExitNoResult {
		headline, why := Outcome(r)
		note("error", headline+": "+why)
	}
	run.Invocations = []sarifInvocation{inv}
	return indented(w, sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

// fileURI is a relative path as a URI reference.
func fileURI(path string) string {
	const plainChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/"
	var b strings.Builder
	for _, c := range []byte(filepath.ToSlash(filepath.Clean(path))) {
		if strings.IndexByte(plainChars, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	return b.String()
}
