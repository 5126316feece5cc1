// The changes without a browser: the tree, the rows, where comments stand, and the prompt that they become.
import assert from "node:assert/strict";
import { test } from "node:test";
import { asPrompt, type Comment } from "../../src/pages/changes/comments";
import type { ChangedFile, DiffLine } from "../../src/pages/changes/data";
import { type DiffRow, fileRows, placeBetween, withComments } from "../../src/pages/changes/rows";
import { matching, sorted, treeRows } from "../../src/pages/changes/tree";
import { contentHash } from "../../src/pages/changes/viewed";

function file(path: string, lines: [string, string][] = []): ChangedFile {
  const made: DiffLine[] = lines.map(([kind, text]) => ({ kind, text }));
  const count = (kind: string) => made.filter((line) => line.kind === kind).length;
  const hunk = { old_start: 10, old_lines: 0, new_start: 20, new_lines: 0, section: "", lines: made };
  return {
    path,
    status: "modified",
    old_mode: "100644",
    new_mode: "100644",
    added: count("added"),
    removed: count("removed"),
    binary: false,
    hunks: made.length === 0 ? [] : [hunk],
  };
}

const LINES: [string, string][] = [
  ["context", "zero"],
  ["removed", "one"],
  ["removed", "two"],
  ["added", "uno"],
  ["context", "three"],
];
const EDITED = file("a.rs", LINES);

function comment(change: Partial<Comment>): Comment {
  return { id: "1", path: "a.rs", side: "new", from: 21, to: 21, quote: "+uno", text: "Why?", ...change };
}

function keys(rows: DiffRow[]): string[] {
  return rows.map((row) => row.key);
}

test("folders that hold one folder only share a row, and folders come before files", () => {
  const rows = treeRows([file("z.txt"), file("src/deep/a.rs"), file("src/deep/B.rs")], new Set());
  assert.deepEqual(
    rows.map((row) => `${" ".repeat(row.depth)}${row.name}`),
    ["src/deep", " a.rs", " B.rs", "z.txt"],
  );
  const closed = treeRows([file("z.txt"), file("src/deep/a.rs")], new Set(["src/deep"]));
  assert.deepEqual(keys(closed as unknown as DiffRow[]), ["src/deep/", "z.txt"]);
});

test("files are found by parts of their path and keep the order of the tree", () => {
  const files = [file("b/two.rs"), file("a/one.rs"), file("c.md")];
  assert.deepEqual(
    sorted(files).map((one) => one.path),
    ["a/one.rs", "b/two.rs", "c.md"],
  );
  assert.deepEqual(
    matching(files, "RS two").map((one) => one.path),
    ["b/two.rs"],
  );
});

test("beside each other, what was replaced stands beside what replaced it", () => {
  assert.deepEqual(keys(fileRows(EDITED, false)), ["hunk 0", "10:20", "11:", "12:", ":21", "13:22"]);
  assert.deepEqual(keys(fileRows(EDITED, true)), ["hunk 0", "10|20", "11|21", "12|", "13|22"]);
});

test("a comment stands below its last line, and first once that line is another", () => {
  const rows = fileRows(EDITED, false);
  assert.deepEqual(keys(withComments(rows, [comment({})])).indexOf("1"), 5);
  const adrift = withComments(rows, [comment({ quote: "+another" })]);
  assert.deepEqual([adrift[0]?.t, adrift[0]?.t === "comment" && adrift[0].adrift], ["comment", true]);
});

test("lines are quoted with their signs, in either direction", () => {
  const rows = fileRows(EDITED, false);
  const [old, now] = [{ side: "old", line: 11 } as const, { side: "new", line: 21 } as const];
  const expected = { side: "new", from: 21, to: 21, quote: "-one\n-two\n+uno" };
  assert.deepEqual(placeBetween(rows, old, now), expected);
  assert.deepEqual(placeBetween(rows, now, old), expected);
  assert.equal(placeBetween(rows, old, { side: "new", line: 99 }), null);
});

test("the prompt names every place and quotes code that cannot end its quotation", () => {
  const prompt = asPrompt({
    summary: "Well done.",
    comments: [
      comment({ id: "2", path: "b.md", quote: "+```js", text: " Second. " }),
      comment({ text: "First.", side: "old", from: 3, to: 5 }),
      comment({ id: "3", text: "  " }),
    ],
  });
  assert.equal(
    prompt,
    "I have reviewed your changes and have 2 comments. Please address each of them.\n\nWell done.\n\n" +
      "1. a.rs, lines 3–5 before the change\n```diff\n+uno\n```\nFirst.\n\n" +
      "2. b.md, line 21\n````diff\n+```js\n````\nSecond.",
  );
});

test("the hash of a file follows its changes, not the lines around them", () => {
  const wider = file("a.rs", [["context", "minus one"], ...LINES]);
  const other = file("a.rs", [
    ["removed", "one"],
    ["removed", "two"],
    ["added", "due"],
  ]);
  assert.equal(contentHash(wider), contentHash(EDITED));
  assert.notEqual(contentHash(other), contentHash(EDITED));
});
