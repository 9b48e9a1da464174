// The TypeScript SDK v1 in the matrix: @modelcontextprotocol/sdk.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ListRootsRequestSchema, ResourceUpdatedNotificationSchema, SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { randomUUID } from 'node:crypto';
import { flags, listen, note, play, root, run, tools } from './script.mjs';

const f = flags();

function server() {
  const s = new McpServer({ name: 'typescript', version: '1.32.2' }, { capabilities: { tools: {}, resources: { subscribe: true } } });
  for (const name of tools) {
    s.registerTool(name, {}, async extra => {
      if (name === 'ask') return { content: [{ type: 'text', text: (await s.server.listRoots()).roots[0].uri }] };
      const token = extra._meta?.progressToken;
      const text = await run(name, extra.signal,
        async done => { if (token !== undefined) await extra.sendNotification({ method: 'notifications/progress', params: { progressToken: token, progress: done } }); },
        () => s.server.sendResourceUpdated({ uri: note.uri }));
      return { content: [{ type: 'text', text }] };
    });
  }
  s.registerResource('note', note.uri, {}, async () => ({ contents: [note] }));
  s.server.setRequestHandler(SubscribeRequestSchema, async () => ({}));
  s.server.setRequestHandler(UnsubscribeRequestSchema, async () => ({}));
  return s;
}

function serveHTTP() {
  const sessions = new Map();
  listen('/mcp', async (req, res) => {
    let t = sessions.get(req.headers['mcp-session-id']);
    if (!t) {
      t = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID(), onsessioninitialized: id => { sessions.set(id, t); } });
      await server().connect(t);
    }
    await t.handleRequest(req, res);
  });
}

function serveSSE() {
  const sessions = new Map();
  listen('/sse', async (req, res) => {
    const url = new URL(req.url, 'http://localhost');
    if (req.method === 'GET' && url.pathname === '/sse') {
      const t = new SSEServerTransport('/message', res);
      sessions.set(t.sessionId, t);
      await server().connect(t);
    } else {
      const t = sessions.get(url.searchParams.get('sessionId'));
      if (t) await t.handlePostMessage(req, res);
      else res.writeHead(404).end();
    }
  });
}

async function dial(updated) {
  const c = new Client({ name: 'typescript', version: '1.32.2' }, { capabilities: { roots: {} } });
  c.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [root] }));
  c.setNotificationHandler(ResourceUpdatedNotificationSchema, n => updated(n.params.uri));
  const transport = {
    stdio: () => new StdioClientTransport({ command: f.rest[0], args: f.rest.slice(1) }),
    http: () => new StreamableHTTPClientTransport(new URL(f.rest[0])),
    sse: () => new SSEClientTransport(new URL(f.rest[0])),
  }[f.call]();
  // It always offers its newest revision, and does not tell which one was agreed on.
  let revision;
  transport.setProtocolVersion = (set => function (v) { revision = v; set?.call(this, v); })(transport.setProtocolVersion);
  await c.connect(transport);
  return {
    revision,
    listTools: async () => (await c.listTools()).tools.map(t => t.name),
    call: async (name, progress, signal) => (await c.callTool({ name }, undefined, { signal, onprogress: progress && (p => progress(p.progress)) })).content[0].text,
    read: async uri => (await c.readResource({ uri })).contents[0].text,
    subscribe: uri => c.subscribeResource({ uri }),
    close: () => c.close(),
  };
}

if (f.call) await play(f.revision, dial);
else if (f.serve === 'stdio') await server().connect(new StdioServerTransport());
else if (f.serve === 'http') serveHTTP();
else serveSSE();
