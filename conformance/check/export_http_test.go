package check

import "net"

// SetLocalAddrs replaces the addresses of this machine, until restore is called.
func SetLocalAddrs(addrs ...net.Addr) (restore func()) {
	before := localAddrs
	localAddrs = func() ([]net.Addr, error) { return addrs, nil }
	return func() { localAddrs = before }
}

func init() { opened = 70 }

// For tests.
var (
	Challenge = challenge
	Covers    = covers
	Bits      = bits
	Follows   = follows
)
