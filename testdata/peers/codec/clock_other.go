//go:build !linux

package main

import "time"

const clock = "wall time"

var began = time.Now()

func processor() string { return "an unnamed processor" }

func now() time.Duration { return time.Since(began) }
