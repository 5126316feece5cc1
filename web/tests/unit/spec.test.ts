// What a story asks for, as people type it and as it is shown.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Story } from "../../src/api/words";
import {
  budgetWords,
  labelOf,
  labelsOf,
  priorityWords,
  readBudget,
  storyMeant,
  usedUp,
} from "../../src/ui/story/spec";

test("a budget is dollars, or nothing, or refused", () => {
  const read = ["4", "$2.50", " 1,200 ", ".5", "", "  ", "0", "-1", "four", "1e3", "1.2.3"].map(readBudget);
  assert.deepEqual(read, [4, 2.5, 1200, 0.5, null, null, "bad", "bad", "bad", "bad", "bad"]);
  assert.deepEqual([4, 2.5, 1200].map(budgetWords), ["$4", "$2.50", "$1,200"]);
});

test("a budget is used up once what is known to be spent reaches it", () => {
  const cost = (budget_usd: number | null, known_cost_usd: number) =>
    usedUp({ budget_usd, spent: { known_cost_usd } as Story["spent"] });
  assert.deepEqual([cost(4, 3.99), cost(4, 4), cost(null, 100)], [false, true, false]);
});

test("a label is written as the server takes it", () => {
  assert.equal(labelOf("  Good First Issue "), "good-first-issue");
  assert.deepEqual(labelsOf([{ labels: ["b", "a"] }, {}, { labels: ["a"] }]), ["a", "b"]);
});

test("a story is meant by its id, or by a title that only one has", () => {
  const stories = [
    { id: "s1", title: "Same" },
    { id: "s2", title: "same" },
    { id: "s3", title: "Only one" },
  ];
  const meant = ["s1", " only ONE ", "Same", "s99"].map((typed) => storyMeant(typed, stories));
  assert.deepEqual(meant, ["s1", "s3", "Same", "s99"]);
});

test("a priority that nobody knows yet is named by its number", () => {
  assert.equal(priorityWords(4).words, "Urgent");
  assert.equal(priorityWords(7).words, "Priority 7");
});
