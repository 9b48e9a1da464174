package jsonrpc

import "time"

// EventKind says what happened.
type EventKind uint8

// Event is something that a connection survived, for diagnosis.
type Event struct {
	Kind   EventKind
	Time   time.Time
	Method string
	ID     ID
	Err    error
	Sample []byte // the start of the message, at most 512 bytes
}

// Stats is a snapshot of a connection.
type Stats struct {
	State State
}
