// Command transport measures calls of a tool over stdio and Streamable HTTP,
// with servers and clients in processes of their own: Goldwire's, those of
// other toolkits, and what the carrier takes by itself. All take turns in one
// run, so that what else the machine does meets all of them. It needs Linux,
// and the programs that are built from the folders below it beside it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
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
	slow := fs.Int("slow", 1, "how often those are made that have a length of their own: large results, idle peers, a million calls")
	only := fs.String("only", strings.Join(defaultGroups, ","), "groups of measurements; there are "+strings.Join(groupNames(), ", "))
	of := fs.String("of", "", "measure only what has a name that matches this `expression`")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	b, err := load.ParseBudget(*length)
	if err == nil && (*count < 1 || *slow < 1) {
		err = errors.New("count and slow: want at least 1")
	}
	if err != nil {
		fmt.Fprintln(stderr, "transport:", err)
		return 2
	}
	names, err := regexp.Compile(*of)
	if err != nil {
		fmt.Fprintln(stderr, "transport: of:", err)
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
	for _, e := range wanted {
		e.subjects = slices.DeleteFunc(e.subjects, func(s *subject) bool { return !names.MatchString(s.name) })
		if len(e.subjects) == 0 {
			continue
		}
		rounds := *slow
		if e.kind == calls {
			rounds = *count
		}
		e.run(b, rounds, stderr)
		e.print(stdout)
	}
	printGoals(wanted, stdout)
	fmt.Fprintf(stdout, "\n%d times %s, %d of what is slow, in %s; load average %s before, %s after\n", *count, b, *slow, time.Since(began).Round(time.Second), before, loadAverage())
	if failed(wanted, "goldwire") {
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

// roundsPerCount is into how many rounds the time of a count is cut, so that
// what else the machine does meets all subjects alike.
const roundsPerCount = 5

// run starts all subjects and lets them take turns. For each count they are
// started again: where the system puts two processes that call each other it
// leaves them, and single calls take more or less by as much as half.
func (e *experiment) run(b load.Budget, rounds int, stderr io.Writer) {
	warm := load.Budget{Time: 100 * time.Millisecond}
	together := 1 // rounds of one start
	switch {
	case e.kind != calls:
		together = rounds // those start what they measure themselves
	case b.Calls > 0:
		warm = b
	default:
		together = roundsPerCount
		b.Time /= roundsPerCount
		rounds *= roundsPerCount
	}
	runners := make([]load.Runner, len(e.subjects))
	errs := make([]error, len(e.subjects))
	stop := func() {
		for i, r := range runners {
			if r != nil {
				r.Close()
			}
			runners[i] = nil
		}
	}
	defer stop()
	for round := range rounds {
		if round%together == 0 {
			stop()
			for i, s := range e.subjects {
				if errs[i] == nil {
					runners[i], errs[i] = s.open()
				}
				if errs[i] == nil && e.kind == calls {
					_, errs[i] = runners[i].Run(warm)
				}
			}
		}
		for k := range e.subjects {
			i := (k + round) % len(e.subjects)
			var r load.Result
			if errs[i] == nil {
				r, errs[i] = runners[i].Run(b)
			}
			if errs[i] == nil && r.Err != "" {
				errs[i] = errors.New(r.Err)
			}
			if errs[i] != nil && r.Err == "" {
				r.Err = errs[i].Error()
			}
			e.subjects[i].results = append(e.subjects[i].results, r)
		}
	}
	for i, err := range errs {
		if err != nil {
			fmt.Fprintf(stderr, "transport: %s: %s: %.500s\n", e.name, e.subjects[i].name, err)
		}
	}
}
