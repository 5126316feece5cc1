// Acceptance criteria are found in a story's text and ticked there, and nothing else of the text is touched.
import assert from "node:assert/strict";
import { test } from "node:test";
import { criteriaOf, metWords, withCriterion } from "../../src/ui/story/criteria";

const TEXT = [
  "What is wanted.",
  "",
  "- [ ] first",
  "- [x] second",
  "  * [X] nested",
  "- [ ]",
  "- [] none",
  "[ ] none either",
  "```",
  "- [ ] in code",
  "```",
  "1. [ ] numbered",
].join("\n");

test("criteria are the tasks of the text, without those in code", () => {
  assert.deepEqual(criteriaOf(TEXT), [
    { line: 2, met: false },
    { line: 3, met: true },
    { line: 4, met: true },
    { line: 11, met: false },
  ]);
  assert.equal(metWords(TEXT), "2 of 4");
  assert.equal(metWords("No criteria."), null);
});

test("ticking a criterion rewrites its box alone", () => {
  assert.equal(withCriterion(TEXT, 0, true), TEXT.replace("- [ ] first", "- [x] first"));
  assert.equal(withCriterion(TEXT, 2, false), TEXT.replace("[X] nested", "[ ] nested"));
  assert.equal(withCriterion(TEXT, 3, true), TEXT.replace("1. [ ]", "1. [x]"));
  assert.equal(withCriterion(TEXT, 9, true), TEXT);
});

test("the ends of lines stay what they are", () => {
  const text = "a\r\n- [ ] b\r- [ ] c [ ] d\n";
  assert.equal(withCriterion(text, 1, true), "a\r\n- [ ] b\r- [x] c [ ] d\n");
});

test("a longer fence is closed by one that is as long", () => {
  assert.equal(metWords("````\n```\n- [ ] a\n```\n````\n- [x] b"), "1 of 1");
});
