// Server-sent events, cut anywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameReader } from "../../src/live/frames";

const STREAM =
  ':\n\nid: f1\nevent: fact\ndata: {"n":1}\n\nevent: headline\ndata: {"story":{"id":"s1"}}\n\nid: f2\n\ndata: {broken\n\nid: f3\nevent: ready\ndata: {"facts":3}\n\n';

test("frames are the same wherever the stream is cut", () => {
  const whole = new FrameReader().push(STREAM);
  assert.deepEqual(
    whole.map((frame) => [frame.event, frame.id]),
    [
      ["fact", "f1"],
      ["headline", undefined],
      ["moved", "f2"],
      ["ready", "f3"],
    ],
  );
  for (let size = 1; size < 40; size += 1) {
    const reader = new FrameReader();
    const frames = [];
    for (let at = 0; at < STREAM.length; at += size) frames.push(...reader.push(STREAM.slice(at, at + size)));
    assert.deepEqual(frames, whole, `pieces of ${size}`);
  }
});

test("a stream with the other line ends is read as well, wherever it is cut", () => {
  const text = STREAM.replaceAll("\n", "\r\n");
  const whole = new FrameReader().push(STREAM);
  const reader = new FrameReader();
  const frames = [...text].flatMap((char) => reader.push(char));
  assert.deepEqual(frames, whole);
});

test("a line without a colon and an empty block do no harm", () => {
  assert.deepEqual(new FrameReader().push("\n\nnonsense\n\n:comment\n\n"), []);
});
