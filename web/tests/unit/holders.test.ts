// Who gave an answer, in words.
import assert from "node:assert/strict";
import { test } from "node:test";
import { whoWords } from "../../src/api/holders";

test("the holder of another token is told by its name, and only this browser is you", () => {
  const phone = { name: "phone", current: false };
  assert.equal(whoWords({ type: "program", token: "t3" }, phone), "phone");
  assert.equal(whoWords({ type: "program", token: "t3" }, { ...phone, current: true }), "you");
  assert.equal(whoWords({ type: "program", token: "t3" }, undefined), "token t3");
  assert.equal(whoWords({ type: "owner" }, undefined), "the command line");
  assert.equal(whoWords(null, undefined), "you");
  assert.equal(whoWords({ type: "person" }, undefined), "someone else");
});
