// A line of code: it is coloured, the words that a diff has changed are marked, and it is never anything but text.
import type { ReactNode } from "react";
import type { Piece } from "./Code";
import { type Painter, usePieces } from "./colours";
import { plain } from "./plain";

interface Props {
  text: string;
  /** Of a diff, whether the line was added or removed. */
  kind?: string;
  /** Which words differ, in UTF-16 units. */
  marks?: readonly (readonly number[])[] | undefined;
  painter: Painter | null;
}

export function CodeLine({ text, kind, marks = [], painter }: Props): ReactNode {
  const pieces = usePieces(text, painter) ?? [{ text }];
  if (marks.length === 0) return pieces.map(coloured);
  const Mark = kind === "removed" ? "del" : "ins";
  const out: ReactNode[] = [];
  let from = 0;
  for (const [start = 0, end = 0] of marks) {
    if (start < from || end <= start) continue;
    out.push(...between(pieces, from, start).map((piece, at) => coloured(piece, from + at)));
    out.push(<Mark key={`m${start}`}>{between(pieces, start, end).map(coloured)}</Mark>);
    from = end;
  }
  out.push(...between(pieces, from, text.length).map((piece, at) => coloured(piece, from + at)));
  return out;
}

/** The pieces between two places of a line. */
export function between(pieces: readonly Piece[], start: number, end: number): Piece[] {
  const out: Piece[] = [];
  let at = 0;
  for (const piece of pieces) {
    const text = piece.text.slice(Math.max(0, start - at), Math.max(0, end - at));
    if (text !== "") out.push({ ...piece, text });
    at += piece.text.length;
  }
  return out;
}

function coloured(piece: Piece, at: number): ReactNode {
  const text = plain(piece.text);
  return piece.kind === undefined ? (
    text
  ) : (
    <span key={at} className={piece.kind}>
      {text}
    </span>
  );
}
