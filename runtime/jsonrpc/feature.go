package jsonrpc

import (
	"context"
	"fmt"
	"maps"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Feature is one capability with the parts of a Server or Client that make it.
// Generated code describes each that has more than one part.
type Feature struct {
	// Capability is its path, "resources.subscribe".
	Capability string
	// All are the funcs that stand for it: all of them are set, or none.
	All []Part
	// Asks are flags and funcs that are optional, and want those of All.
	Asks []Part
	// Needs are parts of other features that have to be set when any part of
	// this one is.
	Needs []Part
}

// Part is one field of a Server or Client.
type Part struct {
	Name string
	Set  bool
}

// FeatureError is a Server or Client that cannot be bound, because it offers
// half a capability: the peer would be promised what is not there.
type FeatureError struct {
	Side       string // "Server" or "Client"
	Capability string
	Set        string // a field that is set
	Missing    string // one that it wants
}

// Error names the fields.
func (e *FeatureError) Error() string {
	return fmt.Sprintf("%s: %s is set and %s is not: the capability %s needs both", e.Side, e.Set, e.Missing, e.Capability)
}

// CheckFeatures returns a *FeatureError for the first feature that is there by
// half.
func CheckFeatures(side string, features ...Feature) error {
	for i := range features {
		f := &features[i]
		set := firstSet(f.All, true)
		if set == "" {
			set = firstSet(f.Asks, true)
		}
		if set == "" {
			continue
		}
		missing := firstSet(f.All, false)
		if missing == "" {
			missing = firstSet(f.Needs, false)
		}
		if missing != "" {
			return &FeatureError{Side: side, Capability: f.Capability, Set: set, Missing: missing}
		}
	}
	return nil
}

// firstSet names the first part that is set, or is not.
func firstSet(parts []Part, set bool) string {
	for _, p := range parts {
		if p.Set == set {
			return p.Name
		}
	}
	return ""
}

// RequireCapability returns a *NotAdvertisedError when the peer is known not
// to advertise a capability that a method needs for some params. byDefault
// says that a parent without members stands for it too, as elicitation {} does
// for elicitation.form.
func RequireCapability(c *Conn, method, path string, byDefault bool) error {
	if c == nil {
		return ErrNoPeer
	}
	caps := c.Session().Capabilities
	if caps == nil || grants(caps, path, byDefault) {
		return nil
	}
	return &NotAdvertisedError{Method: method, Capability: path}
}

// RequireDeclared returns an *Error with -32602 when this side does not advertise
// a capability that a request of the peer needs for its params. byDefault is as for
// RequireCapability. Specification: client/elicitation, client/sampling (2025-11-25).
func (s *Service) RequireDeclared(path string, byDefault bool) error {
	if grants(s.caps, path, byDefault) {
		return nil
	}
	return Errorf(CodeInvalidParams, "params: they need the capability %s, which is not declared", path)
}

// WithExtension returns a map of extensions with one more that has no settings,
// unless it is there already. The given map stays as it is.
func WithExtension(extensions map[string]wire.Raw, id string) map[string]wire.Raw {
	if extensions[id] != nil {
		return extensions
	}
	out := make(map[string]wire.Raw, len(extensions)+1)
	maps.Copy(out, extensions)
	out[id] = wire.Raw("{}")
	return out
}

// WithoutExtension returns a map of extensions without one. The given map stays
// as it is.
func WithoutExtension(extensions map[string]wire.Raw, id string) map[string]wire.Raw {
	if extensions[id] == nil {
		return extensions
	}
	out := maps.Clone(extensions)
	delete(out, id)
	return out
}

// AllowNil wraps the handler of a request whose result has nothing in it, so
// that it may return nil, nil. A nil f stays nil.
func AllowNil[P, R any](f func(context.Context, *P) (*R, error)) func(context.Context, *P) (*R, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, p *P) (*R, error) {
		r, err := f(ctx, p)
		if r == nil && err == nil {
			r = new(R)
		}
		return r, err
	}
}
