// Command codec measures how fast MCP messages are read and written: by
// Goldwire, by other toolkits, by JSON libraries on plain structs, and by a
// codec written by hand for just these messages, which is the limit. All take
// turns in one run, so that what else the machine does meets all of them.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("codec", flag.ContinueOnError)
	fs.SetOutput(stderr)
	length := fs.String("benchtime", "200ms", "how long each implementation is measured with each message in all rounds of a `count`, for reading and writing each, or 20x: that many times in one round")
	count := fs.Int("count", 3, "how often to do that")
	second := fs.String("jsonv2", "", "this `program`, built with GOEXPERIMENT=jsonv2")
	only := fs.String("only", "", "measure only messages whose name matches the `expression`")
	work := fs.Bool("worker", false, "measure what is asked for on the standard input")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	var err error
	if *work {
		err = serve(stdin, stdout)
	} else {
		err = compare(*length, *count, *second, *only, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "codec:", err)
		return 1
	}
	return 0
}

// roundsPerCount is into how many rounds the time of a count is cut. Medians
// are over all rounds.
const roundsPerCount = 5

func compare(length string, count int, second, only string, w io.Writer) error {
	var b budget
	rounds := count
	if n, ok := strings.CutSuffix(length, "x"); ok {
		var err error
		if b.count, err = strconv.Atoi(n); err != nil || b.count < 1 {
			return fmt.Errorf("benchtime %s: want a duration or a number and x", length)
		}
	} else {
		d, err := time.ParseDuration(length)
		if err != nil {
			return err
		}
		b.time = d / roundsPerCount
		rounds *= roundsPerCount
	}
	if rounds < 1 {
		return fmt.Errorf("count %d: want at least 1", count)
	}

	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	workers, end, err := start(second)
	if err != nil {
		return err
	}
	defer end()
	all := messages()
	samples := make([][][]sample, len(all)) // by message, worker, round
	for i := range all {
		samples[i] = make([][]sample, len(workers))
	}
	for r := range rounds {
		for i := range all {
			if !wanted.MatchString(all[i].name) {
				continue
			}
			for k := range workers {
				j := (k + r) % len(workers)
				s, err := workers[j].measure(i, b)
				if err != nil {
					return err
				}
				samples[i][j] = append(samples[i][j], s)
			}
		}
	}
	(&outcome{all, workers, samples, rounds}).print(w)
	return nil
}
