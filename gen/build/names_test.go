package build

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFieldNames(t *testing.T) {
	for in, want := range map[string]string{
		"name": "Name", "_meta": "Meta", "$schema": "Schema", "mimeType": "MIMEType", "ttlMs": "TTLMs", "ttl": "TTL", "taskId": "TaskID",
		"toolUseId": "ToolUseID", "uri": "URI", "uriTemplate": "URITemplate", "websiteUrl": "WebsiteURL", "url": "URL", "id": "ID", "requestId": "RequestID",
		"io.modelcontextprotocol/clientInfo": "ClientInfo", "io.modelcontextprotocol/subscriptionId": "SubscriptionID", "progressToken": "ProgressToken",
		"taskIds": "TaskIDs", "idle": "Idle", "anyOf": "AnyOf", "sseUrl": "SSEURL", "httpPort": "HTTPPort", "jsonRpc": "JSONRPC", "has_more": "HasMore",
		"date-time": "DateTime", "2fa": "X2fa", "": "X", "/": "X", "ähnlich": "Ähnlich", "isError": "IsError",
	} {
		require.Equal(t, want, fieldName(in), in)
	}
}

func TestDefinitionNames(t *testing.T) {
	for in, want := range map[string]string{
		"Tool": "Tool", "CallToolRequestParams": "CallToolParams", "CancelledNotificationParams": "CancelledParams",
		"ElicitRequestFormParams": "ElicitFormParams", "ElicitRequestURLParams": "ElicitURLParams", "RequestMetaObject": "RequestMeta",
		"SubscriptionsListenResultMetaObject": "SubscriptionsListenResultMeta", "RequestId": "RequestID", "JSONRPCErrorResponse": "JSONRPCErrorResponse",
		"URLElicitationRequiredError": "URLElicitationRequiredError", "CallToolRequest": "CallToolRequest", "MetaObject": "MetaObject",
		"RequestParams": "RequestParams", "NotificationParams": "NotificationParams", "InputResponseRequestParams": "InputResponseParams",
		"LoggingMessageNotificationParams": "LoggingMessageParams",
	} {
		require.Equal(t, want, definitionName(in), in)
	}
}

func TestMethodConstants(t *testing.T) {
	for in, want := range map[string]string{
		"ping": "MethodPing", "tools/call": "MethodToolsCall", "sampling/createMessage": "MethodSamplingCreateMessage",
		"notifications/resources/list_changed": "MethodNotificationsResourcesListChanged",
	} {
		require.Equal(t, want, methodConst(in))
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		at, owner, path string
		want            bool
	}{
		{"Tool.name", "Tool", "name", true},
		{"Tool.name", "Tools", "name", false},
		{"Tool.name", "Tool", "names", false},
		{"*.name", "Tool", "name", true},
		{"*Params._meta", "CallToolParams", "_meta", true},
		{"*Params._meta", "CallToolResult", "_meta", false},
		{"Result.content[]", "Result", "content", false},
		{"Result.content[]", "Result", "content[]", true},
		{"RequestMeta.io.modelcontextprotocol/logLevel", "RequestMeta", "io.modelcontextprotocol/logLevel", true},
		{"Tool", "Tool", "", false},
	} {
		require.Equal(t, c.want, matches(c.at, c.owner, c.path), "%v", c)
	}
}
