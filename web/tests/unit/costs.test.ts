// The costs without a browser: stacks of days, sums and the file for a spreadsheet.
import assert from "node:assert/strict";
import { test } from "node:test";
import { dollars } from "../../src/pages/costs/Cap";
import { asCsv, DAY, sum, type UsageRow } from "../../src/pages/costs/data";
import { heights, stack } from "../../src/pages/costs/stack";

function row(key: string, cost: number | null, part?: string | null): UsageRow {
  const tokens = { cache_write_5m: 0, cache_write_1h: 0, cache_write_other: 0, output: 1, reasoning: 0 };
  const spent = {
    input: 2,
    cache_read: 3,
    ...tokens,
    known_cost_usd: cost ?? 0,
    cost_usd: cost,
    estimated: false,
  };
  return { key, spent, ...(part === undefined ? {} : { part }) };
}

test("days without costs are days, and the parts stand on each other", () => {
  const rows = [row(String(DAY), 1, "a"), row(String(DAY), 2, "b"), row(String(3 * DAY), 4, null)];
  const made = stack(rows, DAY, 3 * DAY, "unnamed");
  assert.deepEqual(made.days, [DAY, 2 * DAY, 3 * DAY]);
  assert.deepEqual(
    made.parts.map((part) => [part.name, part.days]),
    [
      ["unnamed", [0, 0, 4]],
      ["b", [2, 0, 0]],
      ["a", [1, 0, 0]],
    ],
  );
  assert.deepEqual(heights(made), [
    [3, 0, 4],
    [2, 0, 4],
    [0, 0, 4],
  ]);
});

test("many parts become few, and nothing of the sum is lost", () => {
  const rows = Array.from({ length: 50 }, (_, n) => row(String(DAY), 1, `part ${n}`));
  const made = stack(rows, 0, DAY, "unnamed");
  assert.equal(made.parts.length, 7);
  assert.equal(heights(made)[0]?.[0], 50);
});

test("a sum with an unknown part is unknown, and at least what is known", () => {
  const total = sum([row("a", 1).spent, row("b", null).spent]);
  assert.deepEqual([total.cost_usd, total.known_cost_usd, total.input], [null, 1, 4]);
  assert.equal(sum([row("a", 1).spent, { ...row("b", 1).spent, estimated: true }]).estimated, true);
});

test("no name becomes a formula or breaks the lines of the file", () => {
  const text = asCsv("story", [row("s1", 1), row("s2", null)], (one) =>
    one.key === "s1" ? '=1+"x",\n' : "",
  );
  assert.equal(
    text,
    "story,title,cost_usd,known_cost_usd,input,cache_read,cache_write,output,reasoning,estimated\r\n" +
      's1,"\'=1+""x"",\n",1,1,2,3,0,1,0,no\r\n' +
      "s2,,,0,2,3,0,1,0,no\r\n",
  );
});

test("only amounts above zero are a cap", () => {
  assert.deepEqual(["10", " $2,50 ", "0", "-1", "", "x", "1e999"].map(dollars), [
    10,
    2.5,
    null,
    null,
    null,
    null,
    null,
  ]);
});
