// Colours of single lines of code: found for what is in view, a little in each frame, so that nothing waits for them.
import { useEffect, useState } from "react";
import type { Piece } from "./Code";

/** Longer lines have no colours, because finding them takes too long. */
const LONGEST = 2_000;
/** So many milliseconds of a frame go into colours. */
const BUDGET = 6;
/** The colours of so many lines are remembered. */
const KEPT = 4_000;

/** Finds the pieces of a line. */
export type Painter = (line: string) => Piece[];

const known = new Map<Painter, Map<string, Piece[]>>();
const waiting: (() => void)[] = [];
let [began, booked] = [0, false];

/** The painter of a file's language, once it was fetched; none where there is none. */
export function usePainter(path: string): Painter | null {
  const [painter, setPainter] = useState<Painter | null>(null);
  useEffect(() => {
    let wanted = true;
    import("./highlight")
      .then(({ painterFor }) => painterFor(path))
      .then(
        (found) => wanted && setPainter(() => found),
        () => {},
      );
    return () => {
      wanted = false;
      setPainter(null);
    };
  }, [path]);
  return painter;
}

/** The pieces of a line; null until they are found, and for lines without colours. */
export function usePieces(text: string, painter: Painter | null): Piece[] | null {
  const [turn, again] = useState(0);
  const off = painter === null || text.length > LONGEST || text.trim() === "";
  const pieces = off ? null : paint(text, painter);
  const late = !off && pieces === null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: those for whom there was no time wait again.
  useEffect(() => {
    if (!late) return;
    const work = () => again((n) => n + 1);
    waiting.push(work);
    book();
    return () => {
      const at = waiting.indexOf(work);
      if (at >= 0) waiting.splice(at, 1);
    };
  }, [late, turn]);
  return pieces;
}

/** What is known of a line, or found while there is time in this frame. */
function paint(text: string, painter: Painter): Piece[] | null {
  let lines = known.get(painter);
  if (lines === undefined) {
    lines = new Map();
    known.set(painter, lines);
  }
  const old = lines.get(text);
  if (old !== undefined) return old;
  const now = performance.now();
  if (!booked) {
    began = now;
    book();
  }
  if (now - began > BUDGET) return null;
  if (lines.size >= KEPT) lines.clear();
  const pieces = painter(text);
  lines.set(text, pieces);
  return pieces;
}

/** In the next frame there is time again, for those who wait first. */
function book(): void {
  if (booked) return;
  booked = true;
  requestAnimationFrame(() => {
    began = performance.now();
    for (const work of waiting.splice(0)) work();
    booked = false;
    if (waiting.length > 0) book();
  });
}
