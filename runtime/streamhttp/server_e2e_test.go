//go:build e2e

package streamhttp_test

import "testing"

// TestE2EManyConnections is TestConnectionsLeaveNothing with as many clients as
// a busy day has.
func TestE2EManyConnections(t *testing.T) { vanish(t, 10_000, 200) }
