// Hostile text is shown as text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { age, money, short, span } from "../../src/ui/format";
import { cut, oneLine, plain } from "../../src/ui/plain";

test("escape codes of a terminal are gone, whole or cut off", () => {
  assert.equal(plain("\u001b[31mred\u001b[0m"), "red");
  assert.equal(plain("\u001b]0;title\u0007text"), "text");
  assert.equal(plain("\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\"), "link");
  assert.equal(plain("a\u001b[2Jb\u001bc"), "ab");
  assert.equal(plain("tail\u001b["), "tail");
  assert.equal(plain("\u009b31mx").includes("\u009b"), false);
});

test("marks that turn or hide text are written as their numbers", () => {
  assert.equal(plain("user\u202eexe.txt"), "user⟨202E⟩exe.txt");
  assert.equal(plain("ad\u200bmin"), "ad⟨200B⟩min");
  assert.equal(plain("\u2066x\u2069"), "⟨2066⟩x⟨2069⟩");
  assert.equal(plain("a\u0000b\u0008c"), "a⟨0000⟩b⟨0008⟩c");
  assert.equal(plain("\u{e0041}"), "⟨E0041⟩");
});

test("ordinary text, line ends, tabs and joined emoji stay as they are", () => {
  assert.equal(plain("Grüße\n\tжук 漢字"), "Grüße\n\tжук 漢字");
  assert.equal(plain("a\r\nb\rc"), "a\nb\nc");
  assert.equal(plain("👩‍💻 ❤️ ok"), "👩‍💻 ❤️ ok");
});

test("no text makes it slow or long", () => {
  const long = "\u001b]".repeat(50_000) + "x".repeat(1_000_000);
  const began = performance.now();
  assert.ok(oneLine(long).length <= 301);
  plain(long);
  plain("\u001b[".repeat(100_000));
  plain("\u001bP".repeat(100_000));
  assert.ok(performance.now() - began < 5_000);
});

test("a cut text keeps its first lines, and says how much is left", () => {
  assert.deepEqual(cut("a\nb\nc", 2), { text: "a\nb", left: 2 });
  assert.equal(cut("x".repeat(5_000), 10).text.length, 2_001);
  assert.deepEqual(cut("short", 10), { text: "short", left: 0 });
});

test("numbers are short, and what costs something never looks like nothing", () => {
  assert.deepEqual([0, 0.001, 0.014, 12.5, 1234.5].map(money), [
    "$0.00",
    "<$0.01",
    "$0.01",
    "$12.50",
    "$1,234.50",
  ]);
  assert.deepEqual([0, 400, 59_000, 61_000, 3_700_000, 90_000_000].map(span), [
    "0s",
    "<1s",
    "59s",
    "1m 1s",
    "1h 1m",
    "1d 1h",
  ]);
  assert.deepEqual([0, 59_000, 61_000].map(age), ["now", "59s", "1m"]);
  assert.deepEqual([999, 1_500, 15_000, 2_500_000].map(short), ["999", "1.5k", "15k", "2.5M"]);
});
