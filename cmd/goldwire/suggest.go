package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/conformance"
)

// noSuchCommand refuses what the root command is given, which is never an
// argument.
func noSuchCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	like := root.SuggestionsFor(args[0])
	if len(like) == 0 {
		return fmt.Errorf("there is no command %s", args[0])
	}
	return fmt.Errorf("there is no command %s: is %s meant?", args[0], strings.Join(like, " or "))
}

// flagName is a flag where it is described, or where one is called unknown.
var flagName = regexp.MustCompile(`--[a-z0-9][a-z0-9-]*`)

// likeFlag adds to the error of an unknown flag the one that may be meant.
func likeFlag(cmd *cobra.Command, err error) error {
	given, unknown := strings.CutPrefix(err.Error(), "unknown flag: ")
	if !unknown {
		return err
	}
	nearest, best := "", 3
	for line := range strings.Lines(cmd.Flags().FlagUsages()) {
		if name := flagName.FindString(line); name != "" {
			if d := distance(given, name); d < best {
				nearest, best = name, d
			}
		}
	}
	if nearest == "" {
		return err
	}
	return fmt.Errorf("%w: is %s meant?", err, nearest)
}

// likeCheck adds to the error of a pattern that matches no check the area, check
// or requirement that may be meant.
func likeCheck(err error) error {
	var none *conformance.PatternError
	if !errors.As(err, &none) {
		return err
	}
	nearest, best := "", 3
	for _, name := range none.Names {
		if d := distance(none.Pattern, name); d < best {
			nearest, best = name, d
		}
	}
	if nearest == "" {
		return err
	}
	return fmt.Errorf("%w: is %s meant?", err, nearest)
}

// distance is how many letters have to be put in, taken out or replaced to make
// one word of another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// wants holds a command to a number of arguments, which it names; most < 0 is
// any.
func wants(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		return errors.New("want " + what)
	}
}
