package check

// LooksAtAll reports whether a check needs every probe to judge these
// recordings.
func LooksAtAll(k *Check, rev string, facts *Facts, traces, offers []*Trace) bool {
	return k.asks(rev, facts, traces, offers).all
}
