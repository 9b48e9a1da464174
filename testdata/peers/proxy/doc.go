// Package proxy holds, by tests with the build tag e2e, that Streamable HTTP
// works behind nginx and HAProxy, and that a client notices a proxy that holds
// back what it should pass on.
package proxy
