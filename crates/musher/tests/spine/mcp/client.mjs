// Connects the official MCP client to a server and does what it is told on its input: one JSON document in, one out.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { package: folder, transport, mode, calls, cancel, abandon } = JSON.parse(readFileSync(0, 'utf8'));
const load = (file) => import(pathToFileURL(join(folder, 'node_modules/@modelcontextprotocol/client/dist', file)));
const { Client, StreamableHTTPClientTransport } = await load('index.mjs');
const { StdioClientTransport } = await load('stdio.mjs');

const client = new Client({ name: 'official', version: '1' }, { versionNegotiation: { mode } });
const connected = () => transport.url
  ? new StreamableHTTPClientTransport(new URL(transport.url), {
      requestInit: { headers: { authorization: `Bearer ${transport.token}` } },
    })
  : new StdioClientTransport({ ...transport, stderr: 'inherit' });
let wire = connected();
await client.connect(wire);

// Others begin sessions with the same token and leave them; one that is in use stays. Whoever is told that its own is gone
// begins a new one.
let kept;
let gone;
if (abandon) {
  for (let count = 0; count < abandon; count++) {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'gone', version: '1' } };
    const reply = await fetch(transport.url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${transport.token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    });
    if (!reply.ok) throw new Error(`session ${count}: ${reply.status}`);
    await reply.text();
  }
  kept = (await client.listTools()).tools.length;
  await fetch(transport.url, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${transport.token}`, 'mcp-session-id': wire.sessionId },
  });
  gone = await client.listTools().then(() => 'still there', (error) => `${error?.status ?? error?.data?.status} ${error}`);
  await client.close();
  wire = connected();
  await client.connect(wire);
}

const tools = [];
let cursor;
do {
  const page = await client.listTools(cursor ? { cursor } : undefined);
  tools.push(...page.tools);
  cursor = page.nextCursor;
} while (cursor);

const results = [];
const progress = [];
for (const call of calls ?? []) {
  results.push(await client.callTool(call, { onprogress: (step) => progress.push(step.message ?? '') }));
}

let cancelled;
if (cancel) {
  const controller = new AbortController();
  const waiting = client.callTool(cancel, {
    signal: controller.signal,
    onprogress: () => controller.abort(new Error('changed my mind')),
  });
  cancelled = await waiting.then(() => 'answered', (error) => String(error));
}

const version = client.getNegotiatedProtocolVersion?.() ?? wire.protocolVersion;
process.stdout.write(JSON.stringify({ version, tools, results, progress, cancelled, kept, gone }));
await client.close();
