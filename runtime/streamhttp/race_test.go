//go:build race

package streamhttp_test

const raced = true
