// Text in flight: pieces are joined as long as they follow each other, and go when their event is there.
import type { Delta, RunEvent } from "../api/words";

/** Of a text the end is kept; the whole follows as an event. */
const LONGEST_DELTA = 64 * 1024;

/**
 * Text in flight with one more piece. A piece says how many bytes came before it: the first one begins anew, as after a
 * reconnect, and one that does not follow what is here shows that some was missed, so that only its event is whole.
 */
export function join(before: Delta | undefined, piece: Delta): Delta | null {
  const size = new TextEncoder().encode(piece.text).length;
  const from = piece.from ?? before?.bytes ?? 0;
  if (from === 0) return { ...piece, bytes: size };
  if (before === undefined || before.bytes !== from) return null;
  const text = (before.text + piece.text).slice(-LONGEST_DELTA);
  return { ...piece, after: before.after ?? piece.after ?? 0, text, bytes: from + size };
}

/** What is left in flight after an event. */
export function settled(deltas: ReadonlyMap<string, Delta>, event: RunEvent): ReadonlyMap<string, Delta> {
  if (deltas.size === 0) return deltas;
  if (event.type === "turn_ended" || event.type === "session_ended") return new Map();
  const item = event.type === "item_done" ? event.item : event.type === "tool" ? event.call : undefined;
  if (typeof item !== "string" || !deltas.has(item)) return deltas;
  if (event.type === "tool" && (event.phase === "running" || event.phase === "progress")) return deltas;
  const left = new Map(deltas);
  left.delete(item);
  return left;
}
