package conformance

import (
	"context"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/conformance/result"
)

// ClientOptions are those of a run that judges a client. Of Options all count
// but Limits, Allow and Deny; Parallel is how many scripts are played at once.
type ClientOptions struct {
	Options
	Limits client.Limits
	// Transports to judge over; none for all that the client can be led to.
	Transports []catalogue.Transport
	// Waiting is told, with client.Target.Listen, what somebody has to know who
	// starts the client.
	Waiting func(client.Waiting)
	// Stop: see client.Options.
	Stop <-chan struct{}
}

// RunClient leads a client to servers of ours and judges it. The report holds
// whatever was found when the context ends early, together with its error.
// Other errors are *client.StartError, *client.SilentError,
// *client.RevisionError, ErrNoCheck and what Options.Save returned.
func RunClient(ctx context.Context, t client.Target, o ClientOptions) (*result.Report, error) {
	o.Side = catalogue.Client
	if _, err := Select(o.Options, catalogue.Any); err != nil {
		return nil, err
	}
	return client.Run(ctx, t, client.Options{
		Revisions: o.Revisions, Transports: o.Transports, Limits: o.Limits, Parallel: o.Parallel, Time: o.Time, Redact: o.Redact, Save: o.Save, Stop: o.Stop,
		Selects: func(k *check.Check, rev string, t catalogue.Transport) bool {
			ok, err := o.Judges(k, rev, t)
			return ok && err == nil // a pattern that is none was refused before
		},
		Progress: func(p client.Progress) {
			if p.Waiting != nil && o.Waiting != nil {
				o.Waiting(*p.Waiting)
			}
			if p.Waiting == nil && o.Progress != nil {
				o.Progress(Progress{Revision: p.Revision, Probe: p.Script, Check: p.Check})
			}
		},
	})
}
