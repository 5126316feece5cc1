// One line of a diff, or the old and the new beside each other, with its numbers to click and its changed words marked.
import { type MouseEvent, memo, useEffect, useRef } from "react";
import { CodeLine } from "../../ui/CodeLine";
import type { Painter } from "../../ui/colours";
import { plain } from "../../ui/plain";
import { type Anchor, anchorOf, type Cell, type DiffRow } from "./rows";

const SIGNS: Record<string, string> = { added: "+", removed: "−" };
const KINDS: Record<string, string> = { added: "added", removed: "removed" };

interface Props {
  row: Extract<DiffRow, { t: "line" }>;
  /** Where the keys are. */
  cursor: boolean;
  /** Whether the keyboard comes into the lines here. */
  stop: boolean;
  /** Whether it is one of several chosen lines. */
  chosen: boolean;
  /** Takes the focus when the keys come here. */
  focus: boolean;
  painter: Painter | null;
  onPick(anchor: Anchor, more: boolean): void;
}

export const LineRow = memo(function LineRow({ row, cursor, stop, chosen, focus, painter, onPick }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!focus) return;
    const gutters = box.current?.querySelectorAll<HTMLElement>("button.gutter");
    gutters?.item(gutters.length - 1)?.focus({ preventScroll: true });
  }, [focus]);
  const split = row.cells.length === 2;
  const state = `${cursor ? " cursor" : ""}${chosen ? " picked" : ""}`;
  return (
    <div ref={box} className={`diff-row${split ? " split" : ""}${state}`}>
      {row.cells.map((cell, at) => (
        <Half
          key={at === 0 ? "old" : "new"}
          cell={cell}
          side={split ? at : null}
          stop={stop}
          painter={painter}
          onPick={onPick}
        />
      ))}
    </div>
  );
});

interface HalfProps {
  cell: Cell | null;
  /** 0 for the old, 1 for the new, null where both stand under each other. */
  side: number | null;
  stop: boolean;
  painter: Props["painter"];
  onPick: Props["onPick"];
}

function Half({ cell, side, stop, painter, onPick }: HalfProps) {
  if (cell === null) return <div className="diff-half nothing" />;
  const anchor: Anchor = side === 0 && cell.old !== null ? { side: "old", line: cell.old } : anchorOf(cell);
  const pick = (event: MouseEvent) => onPick(anchor, event.shiftKey);
  return (
    <div className={`diff-half ${cell.kind}`}>
      <button
        type="button"
        className="gutter"
        tabIndex={stop ? 0 : -1}
        title="Comment on this line; with Shift, on all lines up to it"
        aria-label={spoken(cell, anchor)}
        onClick={pick}
      >
        {side !== 1 && <span>{cell.old ?? ""}</span>}
        {side !== 0 && <span>{cell.now ?? ""}</span>}
      </button>
      <span className="diff-sign" aria-hidden="true">
        {SIGNS[cell.kind] ?? " "}
      </span>
      <code className="diff-code">
        <CodeLine text={cell.text} kind={cell.kind} marks={cell.marks} painter={painter} />
        {cell.cut && <span className="diff-note">… the rest of this line is too long to be shown</span>}
        {cell.no_newline && <span className="diff-note"> no line end</span>}
      </code>
    </div>
  );
}

function spoken(cell: Cell, anchor: Anchor): string {
  const kind = KINDS[cell.kind];
  const words = plain(cell.text.slice(0, 160)).trim();
  return `Line ${anchor.line}${kind === undefined ? "" : `, ${kind}`}: ${words === "" ? "empty" : words}. Comment`;
}
