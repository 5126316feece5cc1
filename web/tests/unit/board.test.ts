// Where stories stand on the board, what moves do, and which cards filters show.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Ask, Run, Story } from "../../src/api/words";
import { apply, emptyWorld } from "../../src/live/world";
import { type Card, Cards } from "../../src/pages/board/cards";
import { COLUMNS, type Column, columnOf } from "../../src/pages/board/columns";
import { filtered } from "../../src/pages/board/filters";
import { dropOn, movesOf } from "../../src/pages/board/moves";

const spent = { known_cost_usd: 0 } as Story["spent"];

function story(id: string, more: Partial<Story> = {}): Story {
  const runs = { all: 0, live: 0 };
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

function ended(outcome: string, more: object = {}): Partial<Story> {
  const latest = { run: "r1", agent: "ada", phase: "over", outcome, ended_at: 5, parked: false, ...more };
  return { runs: { all: 1, live: 0 }, latest } as Partial<Story>;
}

function run(more: Partial<Run> = {}): Run {
  const base = {
    id: "r1",
    story: "s1",
    agent: "ada",
    kind: "fresh",
    line: "main",
    phase: "live",
    parked: false,
  };
  return { ...base, open_asks: 0, spent, queued_at: 0, ...more } as Run;
}

function ask(more: Partial<Ask> = {}): Ask {
  return { run: "r1", ask: "a1", story: "s1", agent: "ada", state: "open", opened_at: 5, ...more } as Ask;
}

function cardOf(one: Story, runs: Run[] = [], asks: Ask[] = []): Card {
  const world = emptyWorld();
  const told = [{ story: one }, ...runs.map((run) => ({ run })), ...asks.map((ask) => ({ ask }))];
  for (const data of told) apply(world, { event: "headline", data }, null);
  const [card] = new Cards().of(world);
  assert.ok(card);
  return card;
}

test("a story stands where its runs have brought it", () => {
  const live = { runs: { all: 1, live: 1 } };
  const cases: [Column, Story, Run[], Ask[]][] = [
    ["backlog", story("s1"), [], []],
    ["queued", story("s1", live), [run({ phase: "queued" })], []],
    ["running", story("s1", live), [run()], []],
    ["running", story("s1", live), [run({ phase: "queued" }), run({ id: "r2" })], []],
    ["running", story("s1", live), [], []],
    ["needs", story("s1", live), [run()], [ask()]],
    ["needs", story("s1", ended("failed")), [], []],
    ["needs", story("s1", ended("lost", { parked: true })), [], []],
    ["review", story("s1", ended("completed")), [], []],
    ["review", story("s1", ended("stopped", { lines: { added: 1, removed: 0 } })), [], []],
    ["backlog", story("s1", ended("stopped")), [], []],
    ["done", story("s1", { ...ended("completed"), state: "done" }), [], []],
  ];
  for (const [column, one, runs, asks] of cases) assert.equal(columnOf(one, runs, asks), column);
});

test("an outcome that nobody knows yet needs a person and is named", () => {
  const card = cardOf(story("s1", ended("eaten_by_bears", { error: "it was large" })));
  assert.equal(card.column, "needs");
  assert.equal(card.now, "eaten by bears: it was large");
});

test("every drop is a move or says why it is none", () => {
  const cards = [
    cardOf(story("s1")),
    cardOf(story("s1", { runs: { all: 1, live: 1 } }), [run()]),
    cardOf(story("s1", { runs: { all: 1, live: 1 } }), [run({ phase: "queued" })]),
    cardOf(story("s1", { runs: { all: 1, live: 1 } }), [run()], [ask()]),
    cardOf(story("s1", ended("completed"))),
    cardOf(story("s1", ended("failed"))),
    cardOf(story("s1", { ...ended("completed"), state: "done" })),
  ];
  for (const card of cards) {
    for (const { id } of COLUMNS) {
      const what = dropOn(card, id);
      assert.ok(
        typeof what === "string" ? what.endsWith(".") : movesOf(card).some((move) => move.kind === what.kind),
      );
    }
  }
  const kind = (card: Card | undefined, to: Column) => {
    assert.ok(card);
    const what = dropOn(card, to);
    return typeof what === "string" ? null : what.kind;
  };
  const [backlog, running, queued, asking, review, failed, done] = cards;
  assert.equal(kind(backlog, "running"), "start");
  assert.equal(kind(backlog, "done"), "done");
  assert.equal(kind(backlog, "review"), null);
  assert.equal(kind(running, "review"), "stop");
  assert.equal(kind(running, "done"), null);
  assert.equal(kind(queued, "backlog"), "stop");
  assert.equal(kind(asking, "running"), "answer");
  assert.equal(kind(review, "done"), "finish");
  assert.equal(kind(failed, "running"), "start");
  assert.equal(kind(done, "backlog"), "reopen");
  assert.equal(kind(done, "running"), "restart");
});

test("a reopened story tells where it will stand", () => {
  const done = (more: Partial<Story>) => movesOf(cardOf(story("s1", { ...more, state: "done" })))[0]?.to;
  assert.equal(done({}), "backlog");
  assert.equal(done(ended("completed")), "review");
});

test("a card is the same one as long as nothing on it is new", () => {
  const world = emptyWorld();
  const cards = new Cards();
  for (const id of ["s1", "s2"]) apply(world, { event: "headline", data: { story: story(id) } }, null);
  const before = new Map(cards.of(world).map((card) => [card.id, card]));
  apply(world, { event: "headline", data: { story: story("s2", { title: "New" }) } }, null);
  const after = new Map(cards.of(world).map((card) => [card.id, card]));
  assert.equal(after.get("s1"), before.get("s1"));
  assert.notEqual(after.get("s2"), before.get("s2"));
});

test("filters narrow each other down", () => {
  const cards = [
    cardOf(story("s1", { title: "Red apple", labels: ["fruit", "api"] })),
    cardOf(story("s2", { title: "Red pear", ...ended("completed") })),
    cardOf(story("s3", { title: "Green pear", ...ended("failed") })),
  ];
  const none = { text: "", agents: [], labels: [], states: [], mine: false };
  const ids = (filters: object) => filtered(cards, { ...none, ...filters }).map((card) => card.id);
  assert.deepEqual(ids({}), ["s1", "s2", "s3"]);
  assert.deepEqual(ids({ text: "RED" }), ["s1", "s2"]);
  assert.deepEqual(ids({ text: "pear red" }), ["s2"]);
  assert.deepEqual(ids({ mine: true }), ["s2", "s3"]);
  assert.deepEqual(ids({ mine: true, states: ["needs"] }), ["s3"]);
  assert.deepEqual(ids({ agents: ["ada"] }), ["s2", "s3"]);
  assert.deepEqual(ids({ agents: ["bob"] }), []);
  assert.deepEqual(ids({ labels: ["api", "web"] }), ["s1"]);
  assert.deepEqual(ids({ labels: ["api"], agents: ["ada"] }), []);
  assert.deepEqual(ids({ text: "fruit" }), ["s1"]);
});

function cardsOf(...stories: Story[]): { cards: Cards; world: ReturnType<typeof emptyWorld> } {
  const world = emptyWorld();
  for (const one of stories) apply(world, { event: "headline", data: { story: one } }, null);
  return { cards: new Cards(), world };
}

test("the most urgent story stands first, then the newest; of what is done, what was done last", () => {
  const { cards, world } = cardsOf(
    story("s1", { n: 1, priority: 4, state: "done", updated_at: 10 }),
    story("s2", { n: 2, priority: 2 }),
    story("s3", { n: 3, priority: 0 }),
    story("s4", { n: 4, priority: 2 }),
    story("s5", { n: 5, priority: 0, state: "done", updated_at: 20 }),
    story("s6", { n: 6, priority: 4 }),
  );
  const ids = cards.of(world).map((card) => card.id);
  assert.deepEqual(ids, ["s6", "s4", "s2", "s3", "s5", "s1"]);
});

test("a card names the open stories that come first, and is new when one of them is done", () => {
  const { cards, world } = cardsOf(story("s1"), story("s2"), story("s3", { after: ["s1", "s2", "gone"] }));
  const card = () => cards.of(world).find(({ id }) => id === "s3");
  const before = card();
  assert.deepEqual(before?.after, ["s1", "s2"]);
  assert.equal(card(), before);
  apply(world, { event: "headline", data: { story: story("s1", { state: "done" }) } }, null);
  assert.deepEqual(card()?.after, ["s2"]);
});
