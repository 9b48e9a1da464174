package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// worker measures one implementation, in this process or in another.
type worker struct {
	name    string
	changed []string // by a round trip
	measure func(message int, b budget) (sample, error)
}

// What a worker process says first, and what it is asked and answers then.
type (
	hello struct {
		Names   []string
		Changed [][]string
	}
	question struct {
		Impl, Message, Count int
		Time                 int64
	}
	answer struct {
		Sample sample
		Error  string
	}
)

// start makes a worker of each implementation, those of the second program last.
func start(second string) (l []worker, end func(), err error) {
	runtime.GOMAXPROCS(1) // the collector's work is then in the time of who caused it
	all := messages()
	for _, im := range impls() {
		l = append(l, worker{im.name, differences(&im), func(i int, b budget) (sample, error) { return im.measure(&all[i], b) }})
	}
	if second == "" {
		return l, func() {}, nil
	}
	cmd := exec.Command(second, "-worker")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	end = func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	enc, dec := json.NewEncoder(in), json.NewDecoder(out)
	var h hello
	if err := dec.Decode(&h); err != nil {
		end()
		return nil, nil, fmt.Errorf("%s: %w", second, err)
	}
	for j, name := range h.Names {
		l = append(l, worker{name, h.Changed[j], func(i int, b budget) (sample, error) {
			var a answer
			err := enc.Encode(question{j, i, b.count, int64(b.time)})
			if err == nil {
				err = dec.Decode(&a)
			}
			if err == nil && a.Error != "" {
				err = fmt.Errorf("%s", a.Error)
			}
			return a.Sample, err
		}})
	}
	return l, end, nil
}

// serve is the other end of a worker process.
func serve(r io.Reader, w io.Writer) error {
	l, _, err := start("")
	if err != nil {
		return err
	}
	var h hello
	for _, x := range l {
		h.Names = append(h.Names, x.name)
		h.Changed = append(h.Changed, x.changed)
	}
	enc, dec := json.NewEncoder(w), json.NewDecoder(r)
	if err := enc.Encode(h); err != nil {
		return err
	}
	for {
		var q question
		if err := dec.Decode(&q); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var a answer
		var err error
		if a.Sample, err = l[q.Impl].measure(q.Message, budget{time: time.Duration(q.Time), count: q.Count}); err != nil {
			a.Error = err.Error()
		}
		if err := enc.Encode(a); err != nil {
			return err
		}
	}
}
