// Where things lie on the timeline: by the clock, or by the order of events when long waits would hide the rest.
import type { Outline } from "../outline";

export type By = "time" | "events";

export interface Piece {
  from: number;
  to: number;
  seq: number;
  kind: string;
  title: string;
}

/** So many pieces lie beside each other in a lane; what would fall together becomes one. */
export const PLACES = 800;

export interface Scale {
  place(at: number, seq: number): number;
}

export function scaleOf(outline: Outline, by: By, now: number, head: number): Scale {
  if (by === "events") return { place: (_at, seq) => clamp(((seq - 1) / Math.max(1, head)) * PLACES) };
  const [start, end] = bounds(outline, now);
  return { place: (at) => clamp(((at - start) / Math.max(1, end - start)) * PLACES) };
}

/** When the run began, and when it ended or what the time is. */
export function bounds(outline: Outline, now: number): [number, number] {
  const starts = [...outline.turns, ...outline.spans, ...outline.marks].map((one) => one.at);
  let start = Number.POSITIVE_INFINITY;
  let end = 0;
  for (const at of starts) {
    start = Math.min(start, at);
    end = Math.max(end, at);
  }
  for (const turn of outline.turns) end = Math.max(end, turn.ended_at ?? now);
  for (const one of outline.spans) end = Math.max(end, one.until ?? now);
  return start > end ? [now - 1, now] : [start, end];
}

function clamp(place: number): number {
  return Math.min(PLACES, Math.max(0, place));
}

/** Joins pieces that would be drawn upon each other; one that stands out hides the others. */
export function merged(pieces: readonly Piece[], loud: ReadonlySet<string>): Piece[] {
  const out: Piece[] = [];
  for (const piece of pieces) {
    const last = out.at(-1);
    if (last && piece.from - last.from < 1 && piece.to - last.to < 1) {
      if (loud.has(piece.kind) && !loud.has(last.kind))
        out[out.length - 1] = { ...piece, to: Math.max(piece.to, last.to) };
    } else out.push(piece);
  }
  return out;
}
