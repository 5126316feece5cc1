// Code with colours, which come once the highlighter is there; without it, the same text without colours.
import { Fragment, useEffect, useMemo, useState } from "react";
import { cut, plain } from "./plain";

/** Longer code has no colours, because finding them takes too long. */
const LONGEST = 50_000;

export interface Piece {
  text: string;
  /** The highlighter's word for what it is, such as `hljs-keyword`. */
  kind?: string;
}

export function Code({ text, path, lines = 200 }: { text: string; path?: string; lines?: number }) {
  const shown = useMemo(() => cut(plain(text), lines).text, [text, lines]);
  const [pieces, setPieces] = useState<Piece[] | null>(null);
  useEffect(() => {
    setPieces(null);
    if (path === undefined || shown.length > LONGEST) return;
    let wanted = true;
    import("./highlight").then(
      async ({ painterFor }) => {
        const painter = await painterFor(path);
        if (wanted && painter !== null) setPieces(painter(shown));
      },
      () => {},
    );
    return () => {
      wanted = false;
    };
  }, [shown, path]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls to the side.
    <pre className="code" tabIndex={0}>
      <code>{pieces === null ? shown : pieces.map(coloured)}</code>
    </pre>
  );
}

function coloured(piece: Piece, at: number) {
  // Pieces never move: the whole text is coloured anew when it changes.
  const key = at;
  return piece.kind === undefined ? (
    <Fragment key={key}>{piece.text}</Fragment>
  ) : (
    <span key={key} className={piece.kind}>
      {piece.text}
    </span>
  );
}
