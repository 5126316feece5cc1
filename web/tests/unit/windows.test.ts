// Windows on a run's log: no gap, no duplicate, and never more in memory than the bound.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { RunEvent } from "../../src/api/words";
import { MOST_EVENTS, Windows } from "../../src/live/windows";

/** A log as the server pages it; a page may be shorter than was asked for. */
class Log {
  length = 0;
  longest = Number.POSITIVE_INFINITY;
  reads = 0;

  event(seq: number): RunEvent {
    return { seq, at: seq, type: "item_done", item: `i${seq}` };
  }

  frame(seq: number) {
    return { event: "run", data: { run: "r1", id: `1.${seq}`, event: this.event(seq) } };
  }

  reply(url: URL): Response {
    this.reads += 1;
    const query = url.searchParams;
    const limit = Math.min(Number(query.get("limit") ?? 200), this.longest);
    const [last, before] = [query.get("last"), query.get("before")];
    let after = Number(query.get("after")?.split(".")[1] ?? 0);
    if (last !== null) after = Math.max(0, this.length - Number(last));
    let to = Math.min(this.length, after + limit);
    // A page before an event ends right before it, however short it is.
    if (before !== null) [after, to] = [Math.max(0, Number(before) - 1 - limit), Number(before) - 1];
    const events = Array.from({ length: Math.max(0, to - after) }, (_, n) => this.event(after + 1 + n));
    return Response.json({ events, next: `1.${to}`, end: to === this.length, reset: false });
  }
}

let log: Log;
let windows: Windows;
let watched: Map<string, string | null>;

beforeEach(() => {
  log = new Log();
  watched = new Map();
  globalThis.fetch = async (input) => log.reply(new URL((input as Request).url));
  windows = new Windows({
    changed: () => {},
    watch: (runs) => {
      watched = runs;
    },
  });
});

function seqs(): number[] {
  return (windows.get("r1")?.events ?? []).map((event) => event.seq);
}

function whole(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, n) => from + n);
}

/** Opens the log and waits until its end was read. */
async function open(length: number): Promise<() => void> {
  log.length = length;
  const leave = windows.use("r1");
  while (windows.get("r1")?.loading) await new Promise((done) => setTimeout(done, 1));
  return leave;
}

function grow(by: number): void {
  const frames = whole(log.length + 1, log.length + by).map((seq) => log.frame(seq));
  log.length += by;
  windows.take(frames);
}

test("a window opens at the end, and is followed from there", async () => {
  const leave = await open(1_000);
  assert.deepEqual(seqs(), whole(801, 1_000));
  assert.deepEqual([...watched], [["r1", "1.1000"]]);
  grow(3);
  assert.deepEqual(seqs(), whole(801, 1_003));
  leave();
  assert.equal(watched.size, 0);
  assert.equal(windows.get("r1"), undefined);
});

test("a log that is empty yet grows from its first event", async () => {
  await open(0);
  grow(2);
  assert.deepEqual(seqs(), [1, 2]);
});

test("events that are heard twice are there once, and missed ones are read", async () => {
  await open(10);
  windows.take([log.frame(9), log.frame(10)]);
  assert.deepEqual(seqs(), whole(1, 10));
  log.length = 20;
  windows.take([log.frame(20)]);
  await windows.newer("r1");
  assert.deepEqual(seqs(), whole(1, 20));
});

test("who reads far back sees no gap, holds no more than the bound, and is told how far the log goes", async () => {
  log.longest = 70;
  await open(9_000);
  while (seqs()[0] !== 1) await windows.older("r1");
  assert.deepEqual(seqs(), whole(1, MOST_EVENTS));
  grow(5);
  assert.deepEqual(seqs(), whole(1, MOST_EVENTS));
  assert.equal(windows.get("r1")?.atEnd, false);
  assert.equal(windows.get("r1")?.head, 9_005);
  await windows.newer("r1");
  assert.deepEqual(seqs(), whole(71, MOST_EVENTS + 70));
  await windows.toEnd("r1");
  while (!windows.get("r1")?.atEnd) await windows.newer("r1");
  assert.equal(seqs().at(-1), 9_005);
});

test("a stream that goes on for ever holds no more than the bound", async () => {
  await open(100);
  for (let turn = 0; turn < 60; turn += 1) grow(200);
  assert.deepEqual(seqs(), whole(12_100 - MOST_EVENTS + 1, 12_100));
});

test("a jump opens the stretch around an event", async () => {
  await open(5_000);
  await windows.jump("r1", 2_000);
  assert.ok(seqs().includes(2_000) && seqs().length === 200);
  const reads = log.reads;
  await windows.jump("r1", 2_001);
  assert.equal(log.reads, reads);
});

test("what a crash took from the log is taken back, and text in flight ends with its item", async () => {
  await open(10);
  const delta = (text: string) => ({
    event: "delta",
    data: { run: "r1", delta: { item: "i11", channel: "text", text } },
  });
  windows.take([delta("Hel"), delta("lo")]);
  assert.equal(windows.get("r1")?.deltas.get("i11")?.text, "Hello");
  windows.take([log.frame(11)]);
  assert.equal(windows.get("r1")?.deltas.size, 0);
  windows.take([{ event: "reset", data: { run: "r1", cursor: "2.8" } }]);
  assert.deepEqual(seqs(), whole(1, 8));
  windows.take([{ event: "end", data: { run: "r1" } }]);
  assert.equal(windows.get("r1")?.over, true);
});

test("a page that cannot be read is told, and the next try mends it", async () => {
  const works = globalThis.fetch;
  globalThis.fetch = async () =>
    Response.json({ code: "busy", detail: "no", hint: "again" }, { status: 503 });
  await open(5);
  assert.equal(windows.get("r1")?.problem?.code, "busy");
  globalThis.fetch = works;
  await windows.toEnd("r1");
  assert.equal(windows.get("r1")?.problem, null);
  assert.deepEqual(seqs(), whole(1, 5));
});
