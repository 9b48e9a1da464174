//go:build !goexperiment.jsonv2

package main

// impls are what is measured, the limit first. json/v2 is measured by the same
// program built with GOEXPERIMENT=jsonv2.
func impls() []impl {
	return []impl{hand(), aliased(), copied(), typed(), goccyPlain(), goccyOnce(), standard(), mcpGo(), goSDK()}
}
