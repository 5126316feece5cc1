// The fold of events into the rows of a transcript.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Delta, RunEvent } from "../../src/api/words";
import { fold, inFlight, innerKey, placed } from "../../src/pages/run/transcript/fold";
import { changedLines } from "../../src/pages/run/transcript/lines";
import { note } from "../../src/pages/run/transcript/notes";

function log(...events: object[]): RunEvent[] {
  return events.map((event, at) => ({ seq: at + 1, at: 1000 + at, turn: 1, ...event }) as RunEvent);
}

const helper = { kind: "subagent", agent: "h", parent_call: "c1", name: "Looker" };

test("the upserts of one call are one row, and each of its events leads to it", () => {
  const { rows, keyOf } = fold(
    log(
      {
        type: "tool",
        call: "c1",
        phase: "proposed",
        name: "run",
        kind: "execute",
        subject: "ls",
        input: { command: "ls" },
      },
      { type: "tool", call: "c1", phase: "running" },
      { type: "tool", call: "c1", phase: "failed", output: { text: "no", exit_code: 2 }, elapsed_ms: 7 },
    ),
  );
  assert.equal(rows.length, 1);
  const [row] = rows;
  assert.ok(row?.kind === "tool");
  assert.deepEqual([row.name, row.phase, row.output?.exit_code, row.ms], ["run", "failed", 2, 7]);
  assert.deepEqual([...keyOf.values()], [row.key, row.key, row.key]);
});

test("what a helper does hangs on its call and is seen once that was opened", () => {
  const folded = fold(
    log(
      { type: "tool", call: "c1", phase: "proposed", name: "Helper", kind: "subagent" },
      { type: "item_done", item: "i1", body: { kind: "text", text: "inside" }, scope: helper },
      { type: "item_done", item: "i2", body: { kind: "text", text: "outside" } },
    ),
  );
  assert.deepEqual(
    placed(folded, new Set(), false).map(({ row, depth, inner }) => [row.key, depth, inner]),
    [
      ["tc1", 0, 1],
      ["ii2", 0, 0],
    ],
  );
  const opened = placed(folded, new Set([innerKey("tc1")]), false);
  assert.deepEqual(
    opened.map(({ row, depth }) => [row.key, depth]),
    [
      ["tc1", 0],
      ["ii1", 1],
      ["ii2", 0],
    ],
  );
});

test("a helper whose call was dropped on the far side is still seen", () => {
  const folded = fold(
    log({ type: "item_done", item: "i1", body: { kind: "text", text: "x" }, scope: helper }),
  );
  assert.deepEqual(
    placed(folded, new Set(), false).map(({ depth }) => depth),
    [1],
  );
});

test("an ask and its answer are one row, a turn knows its end, and content that was taken back says so", () => {
  const { rows } = fold(
    log(
      { type: "turn_started", trigger: "prompt" },
      { type: "item_done", item: "i1", body: { kind: "text", text: "wrong" } },
      { type: "items_retracted", items: ["i1"], why: "superseded" },
      { type: "ask_opened", ask: "a1", body: { kind: "plan", plan: "p" } },
      { type: "ask_closed", ask: "a1", by: "person", answer: { decision: "allow" } },
      { type: "turn_ended", outcome: "completed", model_calls: 2 },
    ),
  );
  assert.deepEqual(
    rows.map((row) => row.kind),
    ["turn", "text", "ask", "turn"],
  );
  assert.ok(rows[0]?.kind === "turn" && rows[0].end?.outcome === "completed");
  assert.ok(rows[1]?.kind === "text" && rows[1].mark === "retracted");
  assert.ok(rows[2]?.kind === "ask" && rows[2].closed?.answer?.decision === "allow");
});

test("events of kinds that nobody knows are kept for those who want to see everything", () => {
  const folded = fold(
    log({ type: "brand_new", what: 1 }, { type: "usage", model: "m", input: 5, output: 1 }),
  );
  assert.equal(placed(folded, new Set(), false).length, 0);
  assert.equal(placed(folded, new Set(), true).length, 2);
});

test("text in flight is shown once the event before it was seen, under the key that its event will have", () => {
  const deltas = new Map<string, Delta>([
    ["i9", { item: "i9", channel: "text", text: "so far", after: 3 }],
    ["c1", { item: "c1", channel: "tool_output", text: "out", after: 0 }],
  ]);
  assert.equal(inFlight(deltas, 2, 0).length, 0);
  const [row] = inFlight(deltas, 3, 0);
  assert.ok(row?.live);
  const { rows } = fold(
    log({ type: "item_done", item: "i9", body: { kind: "text", text: "so far, and whole" } }),
  );
  assert.equal(rows[0]?.key, row?.key);
});

test("an edit counts the lines between the first and the last that differ", () => {
  assert.deepEqual(changedLines([{ path: "a", old: "a\nb\nc\n", new: "a\nB\nB2\nc\n" }]), {
    added: 2,
    removed: 1,
  });
  assert.deepEqual(changedLines([{ path: "a", old: null, new: "a\nb\n" }]), { added: 2, removed: 0 });
  assert.equal(changedLines([]), null);
});

test("the end of a gate is told in one line, and one that did not pass stands out", () => {
  const gate = { type: "gate_ended", gate: "test", call: "gate-1", required: true, ms: 5120 };
  const told = (more: object) => log({ ...gate, ...more }).map((event) => note(event))[0];
  const green = told({ result: "green", exit_code: 0 });
  assert.deepEqual([green?.what, green?.tone], ["gate test", "plain"]);
  assert.ok(green?.text.startsWith("green, "), green?.text);
  const red = told({ result: "red", exit_code: 101, required: false });
  assert.deepEqual([red?.what, red?.tone], ["gate test (advisory)", "bad"]);
  assert.ok(red?.text.startsWith("red, exit 101, "), red?.text);
  const broken = told({ result: "broken", fault: "disk_full", exit_code: 1 });
  assert.equal(broken?.tone, "warn");
  assert.ok(broken?.text.startsWith("broken, disk full, exit 1, "), broken?.text);
});
