// The TypeScript SDK v2 in the matrix: @modelcontextprotocol/server, client
// and node.
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler, inputRequired, inputResponse } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { randomUUID } from 'node:crypto';
import { flags, listen, note, play, root, run, tools } from './script.mjs';

const modern = '2026-07-28';
const f = flags();

/** server of one connection or request; notify reaches the listen streams of HTTP. */
function server(notify) {
  const s = new McpServer({ name: 'typescript', version: '2.4.0' }, { capabilities: { tools: {}, resources: { subscribe: true } } });
  for (const name of tools) {
    s.registerTool(name, {}, async ctx => {
      if (name === 'ask') {
        const answer = inputResponse(ctx.mcpReq.inputResponses, 'roots');
        if (answer.kind !== 'roots') return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
        return { content: [{ type: 'text', text: answer.roots[0].uri }] };
      }
      const token = ctx.mcpReq._meta?.progressToken;
      const text = await run(name, ctx.mcpReq.signal,
        async done => { if (token !== undefined) await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken: token, progress: done } }); },
        async () => { if (notify) notify(note.uri); else await s.server.sendResourceUpdated({ uri: note.uri }); });
      return { content: [{ type: 'text', text }] };
    });
  }
  s.registerResource('note', note.uri, {}, async () => ({ contents: [note] }));
  s.server.setRequestHandler('resources/subscribe', async () => ({}));
  s.server.setRequestHandler('resources/unsubscribe', async () => ({}));
  return s;
}

function serveHTTP() {
  const stateless = createMcpHandler(() => server(uri => stateless.notify.resourceUpdated(uri)));
  const handler = toNodeHandler(stateless);
  const sessions = new Map();
  listen('/mcp', async (req, res) => {
    if (req.headers['mcp-protocol-version'] === modern) return handler(req, res);
    let t = sessions.get(req.headers['mcp-session-id']);
    if (!t) {
      t = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID(), onsessioninitialized: id => { sessions.set(id, t); } });
      await server().connect(t);
    }
    await t.handleRequest(req, res);
  });
}

async function dial(updated) {
  const options = f.detect ? { versionNegotiation: { mode: 'auto' } } : f.revision === modern ? { versionNegotiation: { mode: { pin: modern } } } : { supportedProtocolVersions: [f.revision] };
  const c = new Client({ name: 'typescript', version: '2.4.0' }, { ...options, capabilities: { roots: {} } });
  c.setRequestHandler('roots/list', async () => ({ roots: [root] }));
  c.setNotificationHandler('notifications/resources/updated', n => updated(n.params.uri));
  const transport = {
    stdio: () => new StdioClientTransport({ command: f.rest[0], args: f.rest.slice(1) }),
    http: () => new StreamableHTTPClientTransport(new URL(f.rest[0])),
    sse: () => new SSEClientTransport(new URL(f.rest[0])),
  }[f.call]();
  await c.connect(transport);
  return {
    revision: c.getNegotiatedProtocolVersion(),
    listTools: async () => (await c.listTools()).tools.map(t => t.name),
    call: async (name, progress, signal) => (await c.callTool({ name }, { signal, onprogress: progress && (p => progress(p.progress)) })).content[0].text,
    read: async uri => (await c.readResource({ uri })).contents[0].text,
    subscribe: uri => f.revision === modern ? c.listen({ resourceSubscriptions: [uri] }) : c.subscribeResource({ uri }),
    close: () => c.close(),
  };
}

if (f.call) await play(f.revision, dial);
else if (f.serve === 'stdio') serveStdio(() => server());
else serveHTTP();
