package wire_test

import (
	"fmt"

	"github.com/goldwire/goldwire/runtime/wire"
)

// A generated type reads itself; errors say where the problem is.
func ExampleDecode() {
	var list ListToolsResult
	err := wire.Decode([]byte(`{"tools":[{"name":"echo","inputSchema":"none"}]}`), wire.Options{}, &list)
	fmt.Println(err)

	err = wire.Decode([]byte(`{"tools":[{"name":"echo","inputSchema":"none"},{"name":"add","inputSchema":{}}]}`), wire.Options{Lenient: true}, &list)
	fmt.Println(len(list.Tools), err)
	// Output:
	// tools[0].inputSchema: want an object, got a string
	// 1 <nil>
}

func ExampleRaw_Get() {
	r := wire.MustRaw(`{"limits":{"cpu":1.50,"memory":null}}`)
	fmt.Println(r.Get("limits").Get("cpu"), r.Get("limits").Get("memory").Kind(), r.Get("disk") == nil)
	// Output: 1.50 null true
}

func ExampleEqual() {
	fmt.Println(wire.Equal(wire.Raw(`{"a":1.0,"b":"\u0041"}`), wire.Raw(`{"b":"A","a":1e0}`)))
	fmt.Println(wire.Equal(wire.Raw(`9007199254740993`), wire.Raw(`9007199254740992`)))
	// Output:
	// true
	// false
}
