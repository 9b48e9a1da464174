//go:build !goexperiment.jsonv2

package main

import "github.com/goldwire/goldwire/testdata/peers/hand"

// impls are what is measured, the limit first. json/v2 is measured by the same
// program built with GOEXPERIMENT=jsonv2.
func impls() []impl {
	return []impl{byHand(), aliased(), copied(), typed(), goccyPlain(), goccyOnce(), standard(), mcpGo(), goSDK()}
}

// handID is what a program that answers keeps of a request's id.
var handID = []byte("7654321")

func byHand() impl {
	var buf []byte
	return impl{
		name: "hand",
		decode: func(m *message) (any, error) {
			return hand.Decode(m.data, hand.Form{Kind: m.kind, Meta: m.modern && !m.raw, Bytes: m.bytes})
		},
		encode: func(m *message, v any) ([]byte, error) {
			buf = hand.Append(buf[:0], m.kind, handID, v)
			return buf, nil
		},
	}
}
