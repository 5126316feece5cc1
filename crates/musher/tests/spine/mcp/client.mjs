// Connects the official MCP client to a server and does what it is told on its input: one JSON document in, one out.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { package: folder, transport, mode, calls, cancel } = JSON.parse(readFileSync(0, 'utf8'));
const load = (file) => import(pathToFileURL(join(folder, 'node_modules/@modelcontextprotocol/client/dist', file)));
const { Client, StreamableHTTPClientTransport } = await load('index.mjs');
const { StdioClientTransport } = await load('stdio.mjs');

const client = new Client({ name: 'official', version: '1' }, { versionNegotiation: { mode } });
const wire = transport.url
  ? new StreamableHTTPClientTransport(new URL(transport.url), {
      requestInit: { headers: { authorization: `Bearer ${transport.token}` } },
    })
  : new StdioClientTransport({ ...transport, stderr: 'inherit' });
await client.connect(wire);

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
process.stdout.write(JSON.stringify({ version, tools, results, progress, cancelled }));
await client.close();
