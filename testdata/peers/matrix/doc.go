// Package matrix holds, by a test with the build tag e2e, that Goldwire works
// with other toolkits: its client with their servers and their clients with
// its server.
package matrix
