// A strip beside the transcript that shows where in the whole log something stands out, and where one is.
import type { MouseEvent } from "react";
import type { Mark } from "../outline";

/** Marks that would lie upon each other are drawn once. */
const PLACES = 200;
const WEIGHT: Record<string, number> = {
  error: 5,
  denied: 4,
  approval: 3,
  question: 3,
  compaction: 1,
  notice: 0,
};

interface Props {
  head: number;
  marks: readonly Mark[];
  /** The events that are seen. */
  from: number;
  to: number;
  go(seq: number): void;
}

/** It is a shortcut for the pointer: keys go to the same places, so it is hidden from those who listen. */
export function Minimap({ head, marks, from, to, go }: Props) {
  if (head === 0) return null;
  const places = new Map<number, Mark>();
  for (const mark of marks) {
    const place = Math.floor(((mark.seq - 1) / head) * PLACES);
    const other = places.get(place);
    if (!other || weight(mark) > weight(other)) places.set(place, mark);
  }
  const click = (event: MouseEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const part = (event.clientY - box.top) / box.height;
    const near = [...places].find(([place]) => Math.abs(place / PLACES - part) < 0.012);
    go(near ? near[1].seq : Math.min(head, Math.max(1, Math.round(part * head))));
  };
  const top = ((from - 1) / head) * PLACES;
  const height = Math.max(2, ((to - from + 1) / head) * PLACES);
  return (
    <svg
      className="minimap"
      viewBox={`0 0 10 ${PLACES}`}
      preserveAspectRatio="none"
      onClick={click}
      aria-hidden="true"
    >
      <rect className="seen" x="0" y={top} width="10" height={height} />
      {[...places].map(([place, mark]) => (
        <rect key={place} className={mark.open ? "open" : mark.kind} x="2" y={place} width="6" height="1.5" />
      ))}
    </svg>
  );
}

function weight(mark: Mark): number {
  return (mark.open ? 10 : 0) + (WEIGHT[mark.kind] ?? 0);
}
