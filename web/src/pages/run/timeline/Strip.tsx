// The timeline drawn as lanes; a click goes to the place in the transcript. The list of turns below says the same in words.
import type { MouseEvent } from "react";
import { useMemo } from "react";
import { money, span } from "../../../ui/format";
import { oneLine } from "../../../ui/plain";
import { type Outline, standsOut } from "../outline";
import { type By, merged, type Piece, PLACES, type Scale, scaleOf } from "./scale";

interface Props {
  outline: Outline;
  by: By;
  now: number;
  head: number;
  go(seq: number): void;
}

const LOUD = new Set(["failed", "error", "denied", "open"]);
const LANE = 26;

export function Strip({ outline, by, now, head, go }: Props) {
  // While a run goes on its end moves; ten seconds are near enough for a drawing.
  const soon = Math.ceil(now / 10_000) * 10_000;
  const lanes = useMemo(
    () => lanesOf(outline, scaleOf(outline, by, soon, head), soon, head),
    [outline, by, soon, head],
  );
  const click = (event: MouseEvent<SVGSVGElement>) => {
    const seq = (event.target as Element).getAttribute("data-seq");
    if (seq !== null) go(Number(seq));
  };
  return (
    <figure className="strip">
      <div className="strip-names" aria-hidden="true">
        {lanes.map((lane) => (
          <span key={lane.name}>{lane.name}</span>
        ))}
      </div>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the turns below are links to the same places. */}
      <svg
        viewBox={`0 0 ${PLACES} ${lanes.length * LANE}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${outline.turns.length} turns, ${outline.spans.length} tool calls and waits, ${outline.marks.length} marks`}
        onClick={click}
      >
        {lanes.map((lane, at) =>
          lane.pieces.map((piece) => (
            <rect
              key={`${lane.name}${piece.seq}`}
              className={piece.kind}
              data-seq={piece.seq}
              x={piece.from}
              y={at * LANE + 3 + (1 - piece.high) * (LANE - 6)}
              width={Math.max(1.5, piece.to - piece.from)}
              height={(LANE - 6) * piece.high}
            >
              <title>{piece.title}</title>
            </rect>
          )),
        )}
      </svg>
    </figure>
  );
}

interface Lane {
  name: string;
  pieces: (Piece & { high: number })[];
}

function lanesOf(outline: Outline, scale: Scale, now: number, head: number): Lane[] {
  const turns = outline.turns.map((turn): Piece => {
    const until = turn.ended_at ?? now;
    return {
      from: scale.place(turn.at, turn.seq),
      to: scale.place(until, turn.end_seq ?? head),
      seq: turn.seq,
      kind: turn.outcome === "failed" ? "failed" : "turn",
      title: `Turn ${turn.turn}, ${span(until - turn.at)}: ${oneLine(turn.prompt ?? "", 80)}`,
    };
  });
  const spans = (kind: "tool" | "wait") =>
    outline.spans
      .filter((one) => one.kind === kind)
      .map((one): Piece => {
        const until = one.until ?? now;
        return {
          from: scale.place(one.at, one.seq),
          to: scale.place(until, one.seq + 1),
          seq: one.seq,
          kind: one.failed ? "failed" : kind,
          title: `${oneLine(one.name, 80)}, ${span(until - one.at)}`,
        };
      });
  const marks = standsOut(outline).map((mark): Piece => {
    const from = scale.place(mark.at, mark.seq);
    const kind = mark.open ? "open" : mark.kind;
    return { from, to: from + 2, seq: mark.seq, kind, title: `${mark.kind}: ${oneLine(mark.text, 120)}` };
  });
  const most = Math.max(...outline.turns.map((turn) => turn.cost_usd ?? 0), 0.000_001);
  const costs = outline.turns
    .map((turn, at) => ({
      ...(turns[at] as Piece),
      kind: "cost",
      high: turn.cost_usd === null ? 0 : Math.max(0.06, turn.cost_usd / most),
      title: `Turn ${turn.turn}: ${turn.cost_usd === null ? "cost unknown" : money(turn.cost_usd)}`,
    }))
    .filter((piece) => piece.high > 0);
  const full = (pieces: Piece[]) => merged(pieces, LOUD).map((piece) => ({ ...piece, high: 1 }));
  return [
    { name: "Turns", pieces: full(turns) },
    { name: "Tools", pieces: full(spans("tool")) },
    { name: "Waits", pieces: full(spans("wait")) },
    { name: "Marks", pieces: full(marks) },
    { name: "Cost", pieces: costs },
  ];
}
