// How many lines the edits of a call add and remove, without asking the server.
import type { Edit } from "./rows";

/** Longer texts are not compared only to show two numbers. */
const LONGEST = 200_000;

/** The lines between the first and the last that differ; null when nothing is edited or a file is written whole. */
export function changedLines(edits: readonly Edit[]): { added: number; removed: number } | null {
  if (edits.length === 0) return null;
  let [added, removed] = [0, 0];
  for (const edit of edits) {
    if (edit.new.length + (edit.old?.length ?? 0) > LONGEST) return null;
    const before = edit.old == null ? [] : lines(edit.old);
    const after = lines(edit.new);
    let start = 0;
    while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
    let end = 0;
    while (
      end < Math.min(before.length, after.length) - start &&
      before.at(-1 - end) === after.at(-1 - end)
    ) {
      end += 1;
    }
    added += after.length - start - end;
    removed += before.length - start - end;
  }
  return { added, removed };
}

function lines(text: string): string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}
