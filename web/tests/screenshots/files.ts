// The small project that the team works on: a service that tells where parcels are, with tests that really run.
export const FILES: Record<string, string> = {
  ".gitignore": ".musher/scripts/\n",
  "package.json": `{
  "name": "parcel",
  "version": "2.3.0",
  "type": "module",
  "scripts": { "test": "node --test", "start": "node src/server.js" }
}
`,
  "README.md": "# Parcel\n\nTells where a parcel is, whoever carries it.\n\n    npm start\n",
  "src/http.js": `/** A request that gives up after a while. */
export function request(url, { timeout }) {
  return fetch(url, { signal: AbortSignal.timeout(timeout) });
}
`,
  "src/carrier.js": `import { request } from "./http.js";

const TIMEOUT_MS = 4_000;

/** Where a parcel is, as its carrier tells it. */
export async function lookup(carrier, number, send = request) {
  const reply = await send(carrier.url(number), { timeout: TIMEOUT_MS });
  if (!reply.ok) throw new Error(\`carrier \${carrier.name}: \${reply.status}\`);
  return carrier.parse(await reply.text());
}
`,
  "src/rates.js": `/** The price of a parcel in cents. */
export function rate(grams, zone) {
  const kilos = Math.max(1, Math.ceil(grams / 1000));
  return Math.floor(390 + kilos * 120 * zone.factor);
}
`,
  "src/page.js": `/** The tracking page of a parcel. */
export function page(parcel) {
  const steps = parcel.steps.map((step) => \`<li>\${step.place}</li>\`);
  return \`<h1>\${parcel.number}</h1><ol>\${steps.join("")}</ol>\`;
}
`,
  "src/retention.js": `import { db } from "./db.js";

/** Orders are kept for the tax office. */
const KEPT_DAYS = 3650;

export async function sweep(now) {
  const before = new Date(now - KEPT_DAYS * 86_400_000);
  await db.query("delete from orders where placed_at < $1", [before]);
}
`,
  "src/db.js": "export const db = { query: async () => [] };\n",
  "test/carrier.test.js": `import assert from "node:assert/strict";
import { test } from "node:test";
import { lookup } from "../src/carrier.js";

const carrier = { name: "swift", url: (n) => \`https://swift.example/\${n}\`, parse: (text) => text };
const reply = (status, text = "") => ({ ok: status < 400, status, text: async () => text });

test("a parcel is found", async () => {
  assert.equal(await lookup(carrier, "42", async () => reply(200, "on its way")), "on its way");
});

test("an unknown parcel is an error", async () => {
  await assert.rejects(lookup(carrier, "0", async () => reply(404)), /swift: 404/);
});
`,
  "test/rates.test.js": `import assert from "node:assert/strict";
import { test } from "node:test";
import { rate } from "../src/rates.js";

test("a kilo costs the same however light the parcel is", () => {
  assert.equal(rate(1, { factor: 1 }), rate(999, { factor: 1 }));
});
`,
};
