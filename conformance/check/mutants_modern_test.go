package check_test

import "github.com/goldwire/goldwire/conformance/check/checktest"

var modernMutants = map[string]mutant{
	"meta-missing": {server: checktest.Server{Output: answer("server/discover", "-32602", "-32600")}},
}
