// Command transport measures calls of a tool over stdio and Streamable HTTP,
// with servers and clients in processes of their own: Goldwire's, those of
// other toolkits, and what the carrier takes by itself. All take turns in one
// run, so that what else the machine does meets all of them. It needs Linux,
// and the programs that are built from the folders below it beside it.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goldwire/goldwire/testdata/peers/transport/load"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("transport", flag.ContinueOnError)
	fs.SetOutput(stderr)
	length := fs.String("benchtime", "200ms", "how long each measurement takes, or 20x: that many calls")
	count := fs.Int("count", 3, "how often each is made, in turns")
	only := fs.String("only", strings.Join(defaultGroups, ","), "groups of measurements; there are "+strings.Join(groupNames(), ", "))
	if err := fs.Parse(args); err != nil {
		return 2
	}
	b, err := load.ParseBudget(*length)
	if err != nil || *count < 1 {
		fmt.Fprintln(stderr, "transport: benchtime or count:", err)
		return 2
	}
	exe, err := os.Executable()
	if err != nil {
		fmt.Fprintln(stderr, "transport:", err)
		return 1
	}
	var wanted []*experiment
	for name := range strings.SplitSeq(*only, ",") {
		g, ok := groups[name]
		if !ok {
			fmt.Fprintf(stderr, "transport: no group %q\n", name)
			return 2
		}
		wanted = append(wanted, g(programs(filepath.Dir(exe)))...)
	}
	began, before := time.Now(), loadAverage()
	for round := range *count {
		for _, e := range wanted {
			for i := range e.subjects {
				s := e.subjects[(i+round)%len(e.subjects)]
				r, err := s.measure(b)
				if err != nil {
					r.Err = err.Error()
				}
				if r.Err != "" {
					fmt.Fprintf(stderr, "transport: %s: %s: %.500s\n", e.name, s.name, r.Err)
				}
				s.results = append(s.results, r)
			}
		}
	}
	o := outcome(wanted)
	fmt.Fprintf(stdout, "%d rounds in %s; load average %s before, %s after\n", *count, time.Since(began).Round(time.Second), before, loadAverage())
	o.print(stdout)
	if o.failed("goldwire") {
		return 1
	}
	return 0
}

func loadAverage() string {
	b, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(b), " ")
	return first
}

func groupNames() []string {
	var names []string
	for name := range groups {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
