package match_test

import (
	"fmt"

	"github.com/goldwire/goldwire/conformance/match"
)

func ExampleMatch() {
	golden := `{"id":3,"error":{"code":-32602,"message":"$string","$more":true}}`
	fmt.Println(match.Match([]byte(golden), []byte(`{"id":3,"error":{"code":-32602,"message":"no such tool","data":{}}}`), match.Options{}))
	fmt.Println(match.Match([]byte(golden), []byte(`{"id":3,"error":{"code":-32601,"message":7}}`), match.Options{}))
	// Output:
	// <nil>
	// error.code: want -32602, got -32601; error.message: want a string, got 7
}
