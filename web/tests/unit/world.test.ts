// The fold of the feed into the world.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Ask, Run, Story } from "../../src/api/words";
import { apply, emptyWorld, newOpening } from "../../src/live/world";
import { inboxItems } from "../../src/pages/inbox/items";

const spent = { known_cost_usd: 0 } as Story["spent"];

function story(id: string, more: Partial<Story> = {}): Story {
  const runs = { all: 1, live: 0 };
  return {
    id,
    n: 1,
    state: "open",
    runs,
    open_asks: 0,
    spent,
    created_at: 0,
    updated_at: 0,
    priority: 2,
    ...more,
  };
}

function run(id: string, more: Partial<Run> = {}): Run {
  const base = { id, story: "s1", agent: "a", kind: "fresh", line: "main", phase: "live", parked: false };
  return { ...base, open_asks: 0, spent, queued_at: 0, ...more } as Run;
}

function ask(id: string, more: Partial<Ask> = {}): Ask {
  return { run: "r1", ask: id, story: "s1", agent: "a", state: "open", opened_at: 5, ...more } as Ask;
}

function told(...headlines: object[]) {
  return headlines.map((data) => ({ event: "headline", data }));
}

const READY = { event: "ready", data: { facts: 1 } };

test("a headline replaces what was there under the same id, and an answered ask is gone", () => {
  const world = emptyWorld();
  for (const frame of told({ story: story("s1") }, { ask: ask("a1") }, { run: run("r1") }))
    apply(world, frame, null);
  apply(world, { event: "headline", data: { story: story("s1", { title: "New" }) } }, null);
  assert.equal(world.stories.get("s1")?.title, "New");
  apply(world, { event: "headline", data: { ask: ask("a1", { state: "answered" }) } }, null);
  assert.equal(world.asks.size, 0);
});

test("what a new opening does not tell any more is forgotten when it is whole", () => {
  const world = emptyWorld();
  for (const frame of told({ story: story("s1") }, { story: story("s2") }, { ask: ask("a1") }))
    apply(world, frame, null);
  const opening = newOpening();
  for (const frame of [...told({ story: story("s2") }), READY]) apply(world, frame, opening);
  assert.deepEqual([...world.stories.keys()], ["s2"]);
  assert.equal(world.asks.size, 0);
  assert.equal(world.ready, true);
});

test("another journal makes everything be forgotten, a lost piece of one log does not", () => {
  const world = emptyWorld();
  apply(world, { event: "headline", data: { story: story("s1") } }, null);
  apply(world, { event: "reset", data: { run: "r1", cursor: "1.5" } }, null);
  assert.equal(world.stories.size, 1);
  apply(world, { event: "reset", data: { facts: 3 } }, null);
  assert.equal(world.stories.size, 0);
});

test("runs that are over are kept up to a bound, and live ones always", () => {
  const world = emptyWorld();
  apply(world, { event: "headline", data: { run: run("r0") } }, null);
  for (let n = 1; n <= 3_000; n += 1) {
    apply(world, { event: "headline", data: { run: run(`r${n}`, { phase: "over" }) } }, null);
  }
  assert.equal(world.runs.size, 1_000);
  assert.ok(world.runs.has("r0") && world.runs.has("r3000"));
});

test("a word about an ask that comes after its end opens nothing, and an ask that was refused its answer is open", () => {
  const world = emptyWorld();
  const hear = (state: Ask["state"]) =>
    apply(world, { event: "headline", data: { ask: ask("a1", { state }) } }, null);
  for (const state of ["open", "offered", "open"] as const) hear(state);
  assert.equal(world.asks.get("r1/a1")?.state, "open");
  for (const state of ["answered", "open", "offered"] as const) hear(state);
  assert.equal(world.asks.size, 0);
  assert.equal(world.settled.get("r1/a1")?.state, "answered");
  // The pool's own ask can be put again, at another time.
  apply(world, { event: "headline", data: { ask: ask("a1", { opened_at: 99 }) } }, null);
  assert.equal(world.asks.size, 1);
});

test("asks that are settled are kept up to a bound", () => {
  const world = emptyWorld();
  for (let n = 0; n < 1_000; n += 1)
    apply(world, { event: "headline", data: { ask: ask(`a${n}`, { state: "closed" }) } }, null);
  assert.equal(world.settled.size, 200);
  assert.ok(world.settled.has("r1/a999"));
});

test("the inbox holds asks, then failures, then finished work, without what was stopped or dismissed", () => {
  const world = emptyWorld();
  const ended = (id: string, outcome: string, at: number) => ({
    run: run(id, { story: `s-${id}`, phase: "over", outcome, ended_at: at }),
  });
  const frames = told(
    { ask: ask("a1", { opened_at: 20 }) },
    ...["r1", "r2", "r3", "r4"].map((id) => ({ story: story(`s-${id}`) })),
    ended("r1", "completed", 30),
    ended("r2", "failed", 10),
    ended("r3", "stopped", 5),
    ended("r4", "completed", 1),
  );
  for (const frame of frames) apply(world, frame, null);
  const items = inboxItems(world, new Set(["r4"]));
  assert.deepEqual(
    items.map((item) => item.key),
    ["r1/a1", "r2", "r1"],
  );
  assert.deepEqual(inboxItems(world, new Set(["r4"]), new Set(["r1/a1"])).length, 2);
});

test("a story at work, done or merged has no ended run in the inbox", () => {
  const world = emptyWorld();
  const latest = { run: "r1", agent: "a", phase: "over", outcome: "completed", ended_at: 3, parked: false };
  for (const more of [{ runs: { all: 2, live: 1 } }, { state: "done" as const }, { merged: "abc" }]) {
    apply(world, { event: "headline", data: { story: story("s1", { latest, ...more }) } }, null);
    assert.deepEqual(inboxItems(world, new Set()), []);
  }
  apply(world, { event: "headline", data: { story: story("s1", { latest }) } }, null);
  assert.equal(inboxItems(world, new Set()).length, 1);
});
