// A file's changes in rows, one line under the other or the old beside the new, with comments below their lines.

import type { Comment } from "./comments";
import type { ChangedFile, DiffHunk, DiffLine } from "./data";

export type Side = "old" | "new";

/** A line of a file: of what it was, or of what it is. */
export interface Anchor {
  side: Side;
  line: number;
}

export interface Cell extends DiffLine {
  old: number | null;
  now: number | null;
}

export type DiffRow =
  | { t: "hunk"; key: string; words: string }
  /** One cell, or the old and the new beside each other. */
  | { t: "line"; key: string; cells: (Cell | null)[] }
  | { t: "comment"; key: string; comment: Comment; adrift: boolean };

/** What a comment on a cell is about. */
export function anchorOf(cell: Cell): Anchor {
  return cell.now === null ? { side: "old", line: cell.old ?? 0 } : { side: "new", line: cell.now };
}

export function isAt(cell: Cell | null | undefined, anchor: Anchor): boolean {
  if (cell == null) return false;
  return (anchor.side === "old" ? cell.old : cell.now) === anchor.line;
}

export function rowIsAt(row: DiffRow, anchor: Anchor): boolean {
  return row.t === "line" && row.cells.some((cell) => isAt(cell, anchor));
}

function cells(hunk: DiffHunk): Cell[] {
  let [old, now] = [hunk.old_start, hunk.new_start];
  return hunk.lines.map((line) => {
    const cell = {
      ...line,
      old: line.kind === "added" ? null : old,
      now: line.kind === "removed" ? null : now,
    };
    if (line.kind !== "added") old += 1;
    if (line.kind !== "removed") now += 1;
    return cell;
  });
}

function heading(hunk: DiffHunk): string {
  const from = hunk.new_lines === 0 ? hunk.old_start : hunk.new_start;
  const to = from + Math.max(hunk.new_lines, 1) - 1;
  const lines = from >= to ? `Line ${from}` : `Lines ${from}–${to}`;
  return hunk.section === "" ? lines : `${lines} · ${hunk.section}`;
}

type LineRow = Extract<DiffRow, { t: "line" }>;

function one(cell: Cell): LineRow {
  return { t: "line", key: `${cell.old ?? ""}:${cell.now ?? ""}`, cells: [cell] };
}

function two(old: Cell | null, now: Cell | null): LineRow {
  return { t: "line", key: `${old?.old ?? ""}|${now?.now ?? ""}`, cells: [old, now] };
}

/** Lines that were replaced stand beside those that replace them. */
function beside(all: Cell[]): LineRow[] {
  const rows: LineRow[] = [];
  let [gone, come]: [Cell[], Cell[]] = [[], []];
  const flush = () => {
    const most = Math.max(gone.length, come.length);
    for (let at = 0; at < most; at += 1) rows.push(two(gone[at] ?? null, come[at] ?? null));
    [gone, come] = [[], []];
  };
  for (const cell of all) {
    if (cell.kind === "removed") {
      if (come.length > 0) flush();
      gone.push(cell);
    } else if (cell.kind === "added") come.push(cell);
    else {
      flush();
      rows.push(two(cell, cell));
    }
  }
  flush();
  return rows;
}

/** The rows of a file, without its comments. */
export function fileRows(file: ChangedFile, split: boolean): DiffRow[] {
  return file.hunks.flatMap((hunk, at): DiffRow[] => {
    const lines = split ? beside(cells(hunk)) : cells(hunk).map(one);
    return [{ t: "hunk", key: `hunk ${at}`, words: heading(hunk) }, ...lines];
  });
}

/** What a comment must still find at its last line to stand below it. */
function lastText(comment: Comment): string {
  const line = comment.quote.split("\n").at(-1) ?? "";
  return line.slice(1);
}

function holds(row: DiffRow, comment: Comment): boolean {
  if (row.t !== "line") return false;
  const anchor = { side: comment.side, line: comment.to };
  return row.cells.some((cell) => isAt(cell, anchor) && cell?.text.startsWith(lastText(comment)));
}

/** The rows with each comment below its last line; those whose line is no longer there come first. */
export function withComments(rows: DiffRow[], comments: readonly Comment[]): DiffRow[] {
  if (comments.length === 0) return rows;
  const left = new Set(comments);
  const placed = rows.flatMap((row): DiffRow[] => {
    const here = [...left].filter((comment) => holds(row, comment));
    for (const comment of here) left.delete(comment);
    return [row, ...here.map((comment) => commentRow(comment, false))];
  });
  return [...[...left].map((comment) => commentRow(comment, true)), ...placed];
}

function commentRow(comment: Comment, adrift: boolean): DiffRow {
  return { t: "comment", key: comment.id, comment, adrift };
}

const SIGNS: Record<string, string> = { added: "+", removed: "-" };
/** So much of the code is quoted. */
const QUOTED_LINES = 40;
const QUOTED_LENGTH = 400;

/** The place of a comment between two lines, with the code there as a diff quotes it. */
export function placeBetween(
  rows: readonly DiffRow[],
  a: Anchor,
  b: Anchor,
): Pick<Comment, "side" | "from" | "to" | "quote"> | null {
  const first = rows.findIndex((row) => rowIsAt(row, a));
  const second = rows.findIndex((row) => rowIsAt(row, b));
  if (first < 0 || second < 0) return null;
  const [low, high, end] = first <= second ? [first, second, b] : [second, first, a];
  const seen = new Set<Cell>();
  for (const row of rows.slice(low, high + 1)) {
    if (row.t === "line") for (const cell of row.cells) if (cell !== null) seen.add(cell);
  }
  // A single line is quoted alone, also where another stands beside it.
  const chosen = low === high ? [...seen].filter((cell) => isAt(cell, end)) : [...seen];
  const numbers = chosen
    .map((cell) => (end.side === "old" ? cell.old : cell.now))
    .filter((n): n is number => n !== null && n <= end.line);
  const shown = chosen.slice(-QUOTED_LINES);
  // The last quoted line is that of the anchor, by which the comment is found again.
  const last = shown.findIndex((cell) => isAt(cell, end));
  const ordered = last < 0 ? shown : [...shown.slice(0, last), ...shown.slice(last + 1), shown[last]];
  const quote = ordered.flatMap((cell) =>
    cell === undefined ? [] : [(SIGNS[cell.kind] ?? " ") + cell.text.slice(0, QUOTED_LENGTH)],
  );
  return { side: end.side, from: Math.min(...numbers, end.line), to: end.line, quote: quote.join("\n") };
}
