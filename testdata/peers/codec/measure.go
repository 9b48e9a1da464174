package main

import (
	"fmt"
	"runtime"
	"time"
)

// impl is one way to read and write messages.
type impl struct {
	name string
	// decode reads a whole message and returns its params or its result.
	decode func(m *message) (any, error)
	// encode writes the message that such a value came from, with the same
	// envelope. The text is good until the next call.
	encode func(m *message, v any) ([]byte, error)
}

// cost is what one operation takes.
type cost struct {
	NS     float64 // nanoseconds
	Allocs float64
	Bytes  float64 // allocated
}

// sample is one measurement of one message with one implementation.
type sample struct{ Decode, Encode cost }

func (s sample) total() float64 { return s.Decode.NS + s.Encode.NS }

// budget says how long a measurement goes on.
type budget struct {
	time  time.Duration // at least, if count is 0
	count int           // operations
}

// measure runs decode and encode of one message.
func (im *impl) measure(m *message, b budget) (s sample, err error) {
	v, err := im.decode(m)
	if err != nil {
		return s, fmt.Errorf("%s: read %s: %w", im.name, m.name, err)
	}
	if _, err = im.encode(m, v); err != nil {
		return s, fmt.Errorf("%s: write %s: %w", im.name, m.name, err)
	}
	if s.Decode, err = b.run(func() error { _, err := im.decode(m); return err }); err != nil {
		return s, err
	}
	s.Encode, err = b.run(func() error { _, err := im.encode(m, v); return err })
	return s, err
}

// run finds out how often f fits into the budget and measures that in one go.
func (b budget) run(f func() error) (cost, error) {
	n := b.count
	if n == 0 {
		for n = 1; ; n *= 2 {
			c, err := times(n, f)
			if err != nil {
				return c, err
			}
			if spent := time.Duration(c.NS * float64(n)); spent >= b.time/8 || n >= 1<<24 {
				n = max(3, int(float64(b.time)/max(1, c.NS)))
				break
			}
		}
	}
	runtime.GC()
	return times(n, f)
}

func times(n int, f func() error) (cost, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t := now()
	for range n {
		if err := f(); err != nil {
			return cost{}, err
		}
	}
	t = now() - t
	runtime.ReadMemStats(&after)
	return cost{
		NS:     float64(t.Nanoseconds()) / float64(n),
		Allocs: float64(after.Mallocs-before.Mallocs) / float64(n),
		Bytes:  float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
	}, nil
}
