// Package load makes calls of MCP servers in other processes and measures
// what they take: with prepared bytes on bare pipes and sockets, so that the
// server is what shows. It reads /proc, and so needs Linux.
package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Result is one measurement. What was not measured is zero.
type Result struct {
	// Calls were timed. P50, P99, P999 and Mean are in nanoseconds.
	Calls                int
	P50, P99, P999, Mean float64
	Rate                 float64 // calls a second
	// ServerCPU and ClientCPU are nanoseconds of processor time a call.
	ServerCPU, ClientCPU float64
	// ServerAlloc and ClientAlloc are bytes allocated a call.
	ServerAlloc, ClientAlloc float64
	// Memory in bytes: resident before, and the most that was resident.
	ServerRSS, ServerPeak, ClientRSS, ClientPeak float64
	// PerStream are bytes that stay resident for each stream or session,
	// GoroutinesPer how many goroutines it holds.
	PerStream, GoroutinesPer float64
	Conns                    int    // TCP connections that were opened
	Revision                 string // that was spoken
	Err                      string `json:",omitempty"` // why there is no result
}

// Budget says how long to measure: for a time, or a number of calls if
// Calls is not 0.
type Budget struct {
	Time  time.Duration
	Calls int
}

// ParseBudget reads a time ("2s") or a number of calls ("1000x").
func ParseBudget(s string) (Budget, error) {
	if n, ok := strings.CutSuffix(s, "x"); ok {
		k, err := strconv.Atoi(n)
		if err != nil || k < 1 {
			return Budget{}, fmt.Errorf("%s: want a duration, or a number and x", s)
		}
		return Budget{Calls: k}, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return Budget{}, fmt.Errorf("%s: want a duration, or a number and x", s)
	}
	return Budget{Time: d}, nil
}

// String is what ParseBudget reads.
func (b Budget) String() string {
	if b.Calls > 0 {
		return strconv.Itoa(b.Calls) + "x"
	}
	return b.Time.String()
}

// Runner is a server, or a client with its server, that is running.
type Runner interface {
	// Run makes calls and times them.
	Run(Budget) (Result, error)
	// Close ends the processes.
	Close()
}

// over reports whether a measurement that began at start ends before the call
// of number n.
func (b Budget) over(start time.Time, n int) bool {
	if b.Calls > 0 {
		return n >= b.Calls
	}
	return time.Since(start) >= b.Time
}

// times fills in what follows from the nanoseconds that each call took, which
// it sorts.
func (r *Result) times(ns []int64, took time.Duration) {
	r.Calls = len(ns)
	if len(ns) == 0 {
		return
	}
	slices.Sort(ns)
	at := func(q float64) float64 { return float64(ns[min(len(ns)-1, int(q*float64(len(ns))))]) }
	sum := int64(0)
	for _, v := range ns {
		sum += v
	}
	r.P50, r.P99, r.P999, r.Mean = at(.5), at(.99), at(.999), float64(sum)/float64(len(ns))
	r.Rate = float64(len(ns)) / took.Seconds()
}
