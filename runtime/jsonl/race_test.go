//go:build race

package jsonl_test

const raced = true
