package step20260728

//lint:file-ignore SA1019 what is deprecated is converted all the same

import (
	"errors"
	"strconv"

	older "github.com/goldwire/goldwire/generated/mcp/v20251125"
	newer "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// The members of _meta that 2026-07-28 added: what a session of
// 2025-11-25 says once.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaInfo         = "io.modelcontextprotocol/clientInfo"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaServer       = "io.modelcontextprotocol/serverInfo" // in results
)

// said is what a connection says in each of its requests, nil if e does not
// hold it.
func said(e *wire.Env) *newer.RequestMeta {
	if e == nil {
		return nil
	}
	m, _ := e.Meta.(*newer.RequestMeta)
	return m
}

func upgradeRequestMetaProtocolVersion(_ *older.RequestMeta, out *newer.RequestMeta, _ *wire.Env) error {
	if out.ProtocolVersion == "" {
		out.ProtocolVersion = newer.Revision
	}
	return nil
}

// upgradeRequestMetaClientCapabilities takes what the session said. When it is
// not known the request can count on no capability, until a connection fills
// in its own.
func upgradeRequestMetaClientCapabilities(in *older.RequestMeta, out *newer.RequestMeta, e *wire.Env) error {
	if in.Extra.Has(metaCapabilities) || e == nil {
		return nil
	}
	if m := said(e); m != nil {
		out.ClientCapabilities = m.ClientCapabilities
	} else if c := wire.Fact[capabilities](e, e.ClientCapabilities); c != nil {
		out.ClientCapabilities = c.ClientCapabilities
	}
	return nil
}

// capabilities are read as 2025-11-25 has them.
type capabilities struct{ newer.ClientCapabilities }

func (c *capabilities) DecodeJSON(d *wire.Dec) error {
	old := new(older.ClientCapabilities)
	if err := old.DecodeJSON(d); err != nil {
		return err
	}
	return upClientCapabilities(&c.ClientCapabilities, old, nil)
}

func upgradeRequestMetaClientInfo(_ *older.RequestMeta, out *newer.RequestMeta, e *wire.Env) error {
	if out.ClientInfo != nil || e == nil {
		return nil
	}
	if m := said(e); m != nil {
		out.ClientInfo = m.ClientInfo
	} else {
		out.ClientInfo = wire.Fact[newer.Implementation](e, e.ClientInfo)
	}
	return nil
}

func upgradeRequestMetaLogLevel(_ *older.RequestMeta, out *newer.RequestMeta, e *wire.Env) error {
	if out.LogLevel != nil || e == nil {
		return nil
	}
	if e.LogLevel != "" {
		out.LogLevel = new(newer.LoggingLevel(e.LogLevel))
	} else if m := said(e); m != nil {
		out.LogLevel = m.LogLevel
	}
	return nil
}

// session notes the loss of what belongs to the session, unless that has it.
func session(e *wire.Env, member string, known bool) {
	if !known && said(e) == nil {
		e.Lose(`["`+member+`"]`, "2025-11-25 says it once a session")
	}
}

// downgradeRequestMetaProtocolVersion forgets the version: it says which form
// the request has, and that is another one now.
func downgradeRequestMetaProtocolVersion(in *newer.RequestMeta, _ *older.RequestMeta, e *wire.Env) error {
	session(e, metaVersion, in.ProtocolVersion == newer.Revision)
	return nil
}

func downgradeRequestMetaClientCapabilities(_ *newer.RequestMeta, _ *older.RequestMeta, e *wire.Env) error {
	session(e, metaCapabilities, e != nil && e.ClientCapabilities != nil)
	return nil
}

func downgradeRequestMetaClientInfo(in *newer.RequestMeta, _ *older.RequestMeta, e *wire.Env) error {
	if in.ClientInfo != nil {
		session(e, metaInfo, e != nil && e.ClientInfo != nil)
	}
	return nil
}

func downgradeRequestMetaLogLevel(in *newer.RequestMeta, _ *older.RequestMeta, e *wire.Env) error {
	if in.LogLevel != nil {
		session(e, metaLogLevel, e != nil && e.LogLevel != "")
	}
	return nil
}

// downgradeResultMeta forgets which server it was: initialize said so.
func downgradeResultMeta(in *newer.ResultMeta, e *wire.Env) (wire.Raw, error) {
	if in.ServerInfo != nil {
		if e == nil || e.ServerInfo == nil {
			session(e, metaServer, false)
		}
		if len(in.Extra) == 0 {
			return nil, nil
		}
		in = &newer.ResultMeta{Extra: in.Extra}
	}
	return in.AppendJSON(nil), nil
}

// upgradeCancelledParamsRequestID refuses a cancellation without an id: in
// 2025-11-25 it is about a task.
func upgradeCancelledParamsRequestID(in *older.CancelledParams, out *newer.CancelledParams, e *wire.Env) error {
	if in.RequestID.IsZero() {
		return e.Cannot("requestId", "missing: 2026-07-28 cancels requests only")
	}
	out.RequestID = in.RequestID
	return nil
}

// downgradeElicitURLParamsElicitationID makes the id that 2025-11-25 tells by
// when the user is done.
func downgradeElicitURLParamsElicitationID(_ *newer.ElicitURLParams, out *older.ElicitURLParams, e *wire.Env) error {
	switch {
	case out.ElicitationID != "": // it came as an unknown member
	case e == nil || e.ElicitationID == nil:
		return e.Cannot("elicitationId", "missing: 2025-11-25 needs one")
	default:
		out.ElicitationID = e.ElicitationID()
	}
	return nil
}

// downgradeToolOutputSchema drops the schema of what is no object: structured
// content of 2025-11-25 is one.
func downgradeToolOutputSchema(in *newer.Tool, out *older.Tool, e *wire.Env) error {
	if in.OutputSchema == nil {
		return nil
	}
	if typ, _ := in.OutputSchema.Get("type").Str(); typ != "object" {
		return e.Leave("outputSchema", "2025-11-25 has only the schemas of objects here")
	}
	out.OutputSchema = in.OutputSchema
	return nil
}

// tasksExtension is what tasks are called where they are an extension.
const tasksExtension = "io.modelcontextprotocol/tasks"

// upgradeToolExecution hides a tool that can only run as a task from clients
// that do not declare the extension.
func upgradeToolExecution(in *older.Tool, out *newer.Tool, e *wire.Env) error {
	switch x := in.Execution; {
	case x == nil:
	case x.TaskSupport != nil && *x.TaskSupport == older.TaskSupportRequired && !knowsTasks(e):
		return &wire.ConvertError{Why: "the tool runs as a task only, and the client does not declare " + tasksExtension, Omit: true}
	default:
		e.Member(&out.Extra, "execution", goneUp, in)
	}
	return nil
}

func knowsTasks(e *wire.Env) bool {
	if m := said(e); m != nil && m.ClientCapabilities.Extensions[tasksExtension] != nil {
		return true
	}
	return e != nil && e.ClientCapabilities.Get("extensions").Get(tasksExtension) != nil
}

// methodRead is the method whose errors have another code.
const methodRead = newer.MethodResourcesRead

// UpgradeError makes what a handler of 2025-11-25 failed with into what one of
// 2026-07-28 fails with: a resource that does not exist has another code, and
// pages that the user has to visit are a request for input.
func UpgradeError(method string, err error) error {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return err
	}
	switch {
	case e.Code == jsonrpc.CodeResourceNotFound && method == methodRead:
		return recode(e, jsonrpc.CodeInvalidParams)
	case e.Code == jsonrpc.CodeURLElicitationRequired:
		data := new(older.URLElicitationRequiredData)
		if wire.Decode(e.Data, wire.Options{Lenient: true}, data) != nil || len(data.Elicitations) == 0 {
			return err
		}
		requests := newer.InputRequests{}
		for i := range data.Elicitations {
			p := new(newer.ElicitURLParams)
			if upElicitURLParams(p, &data.Elicitations[i], nil) != nil {
				return err
			}
			key := data.Elicitations[i].ElicitationID
			if _, dup := requests[key]; dup || key == "" {
				key = "elicitation" + strconv.Itoa(i)
			}
			requests[key] = &newer.ElicitRequest{Params: p}
		}
		return newer.NewInputRequiredError(requests, nil)
	}
	return err
}

// DowngradeError makes what a handler of 2026-07-28 failed with into what one
// of 2025-11-25 fails with. A request for input stays one: what becomes of it
// is a matter of the conversation.
func DowngradeError(method string, err error) error {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return err
	}
	switch {
	case e.Code == jsonrpc.CodeInvalidParams && method == methodRead:
		return recode(e, jsonrpc.CodeResourceNotFound)
	case e.Code == jsonrpc.CodeHeaderMismatch, e.Code == jsonrpc.CodeMissingClientCapability, e.Code == jsonrpc.CodeUnsupportedProtocolVersion:
		return recode(e, jsonrpc.CodeInvalidRequest)
	}
	return err
}

func recode(e *jsonrpc.Error, code int64) error {
	c := *e
	c.Code = code
	return &c
}
