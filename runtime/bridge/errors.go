package bridge

import (
	"context"
	"errors"
	"strconv"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// The codes of the errors that a bridge answers with in place of the server.
// They lie outside the range that JSON-RPC and the protocol reserve.
const (
	// CodeServerEnded: the server's process has ended, or could not be started.
	// data has exitCode or signal, and stderr: the end of what it wrote there.
	CodeServerEnded int64 = -31011
	// CodeUnreachable: the server could not be reached, or its answer did not
	// come through. data has status where there was one.
	CodeUnreachable int64 = -31012
)

var errClosed = jsonrpc.NewError(jsonrpc.CodeShuttingDown, "shutting down")

// gone is what a client hears of a request that got no answer from the server.
// Answers of the server, and what ended because the client wanted it, are left
// as they are.
func gone(err error) error {
	if _, ok := err.(*jsonrpc.Error); ok || err == nil {
		return err
	}
	if e, ok := errors.AsType[*jsonl.ExitError](err); ok {
		return &jsonrpc.Error{Code: CodeServerEnded, Message: "the server has ended: " + ending(e), Data: endData(e), Cause: err}
	}
	if e, ok := errors.AsType[*jsonl.SpawnError](err); ok {
		return &jsonrpc.Error{Code: CodeServerEnded, Message: "the server could not be started: " + e.Error(), Cause: err}
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, jsonrpc.ErrOverloaded) {
		return err
	}
	if errors.Is(err, streamhttp.ErrStaleCursor) { // the client's: 2025-11-25, server/utilities/pagination, error handling
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: streamhttp.ErrStaleCursor.Error(), Cause: err}
	}
	out := &jsonrpc.Error{Code: CodeUnreachable, Message: "no answer from the server: " + cause(err).Error(), Cause: err}
	if e, ok := errors.AsType[*streamhttp.StatusError](err); ok {
		out.Data = wire.Raw(`{"status":` + strconv.Itoa(e.Status) + `}`)
	}
	return out
}

// unsent reports whether a request failed before it was sent, since the connection
// was closed.
func unsent(err error) bool {
	e, ok := errors.AsType[*jsonrpc.CallError](err)
	return ok && e.Stage == jsonrpc.StageQueue && errors.Is(err, jsonrpc.ErrClosed)
}

// cause is the part of an error that says something to a client: not the id that
// the request had on the other connection.
func cause(err error) error {
	if e, ok := errors.AsType[*jsonrpc.CallError](err); ok {
		return e.Err
	}
	return err
}

// ending says how a process ended, in a line.
func ending(e *jsonl.ExitError) string {
	line := *e
	line.Stderr = ""
	if !errors.Is(line.Err, jsonrpc.ErrTooLong) {
		line.Err = nil // which of its streams ended first is of no interest
	}
	return line.Error()
}

func endData(e *jsonl.ExitError) wire.Raw {
	b := []byte{'{'}
	switch {
	case e.Signal != "":
		b = wire.AppendString(append(b, `"signal":`...), e.Signal)
		b = append(b, ',')
	case !e.Running:
		b = strconv.AppendInt(append(b, `"exitCode":`...), int64(e.Code), 10)
		b = append(b, ',')
	}
	b = wire.AppendString(append(b, `"stderr":`...), e.Stderr)
	return append(b, '}')
}
