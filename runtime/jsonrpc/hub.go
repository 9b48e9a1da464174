package jsonrpc

import "context"

// Hub spreads change notifications to all connections that want them: plain
// ones in stateful revisions (resources/updated only to those that
// subscribed), on the subscriptions/listen streams that asked for them in
// stateless ones. The zero value is ready; one hub may serve several services.
type Hub struct{}

// ToolsListChanged says that the list of tools changed.
func (h *Hub) ToolsListChanged(ctx context.Context) { panic("unimplemented") }

// PromptsListChanged says that the list of prompts changed.
func (h *Hub) PromptsListChanged(ctx context.Context) { panic("unimplemented") }

// ResourcesListChanged says that the list of resources changed.
func (h *Hub) ResourcesListChanged(ctx context.Context) { panic("unimplemented") }

// ResourceUpdated says that a resource changed.
func (h *Hub) ResourceUpdated(ctx context.Context, uri string) { panic("unimplemented") }
