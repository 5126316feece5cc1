// The network of a run without a browser: what is said of each host, and what to do where nothing can be counted.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server.edge";
import { Hosts } from "../../src/pages/run/network/NetworkTab";
import {
  bytes,
  decidedBy,
  type HostTraffic,
  type Network,
  standing,
} from "../../src/pages/run/network/words";

const none = { connections: 0, refused: 0, failed: 0, sent: 0, received: 0 };

function host(name: string, more: Partial<HostTraffic>): HostTraffic {
  return { host: name, ...none, ...more };
}

function shown(data: Network): string {
  const run = { agent: "coder", phase: "over" as const };
  return renderToStaticMarkup(createElement(Hosts, { run, data })).replace(/<[^>]*>/g, " ");
}

test("bytes are told in units, and one byte is not nothing", () => {
  assert.deepEqual([0, 1, 1023, 1024, 1_572_864].map(bytes), ["0 B", "1 B", "1023 B", "1.0 KiB", "1.5 MiB"]);
});

test("a host says whether it was reached, and who decided", () => {
  const reached = host("a:443", { connections: 2, by: "hosts", rule: "a" });
  assert.deepEqual([standing(reached).words, decidedBy(reached)], ["reached", "hosts: a"]);
  const asked = host("b:443", { refused: 1, by: "waiting" });
  assert.deepEqual([standing(asked).words, decidedBy(asked)], ["asked", "waits for an answer"]);
  assert.equal(standing(host("c:443", { refused: 1, by: "person" })).words, "refused");
  assert.equal(decidedBy(host("d:443", { by: "a word of a newer server" })), "a word of a newer server");
});

test("all hosts are summed up, those that are not named too", () => {
  const hosts = [host("a.example:443", { connections: 2, sent: 1024, received: 2048, by: "person" })];
  const text = shown({
    profile: "strict",
    proxied: true,
    hosts,
    others: { ...none, connections: 1, refused: 7 },
  });
  assert.match(text, /Connections: 3, refused: 7\./);
  assert.match(text, /a\.example:443/);
  assert.match(text, /other hosts/);
});

test("where nothing can be counted it is said what to do", () => {
  assert.match(
    shown({ profile: "off", proxied: false, hosts: [] }),
    /without a sandbox\s*\. Set\s+profile = &quot;strict&quot;/,
  );
  assert.match(shown({ profile: "workspace", proxied: false, hosts: [] }), /the profile workspace/);
  assert.match(shown({ profile: "strict", proxied: true, hosts: [] }), /No connection yet/);
});
