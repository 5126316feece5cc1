// The outline of a run: its turns, what stands out in it, and where its time went, as the server counts it.
import { useEffect, useState } from "react";
import { takeRaw } from "../../api/client";
import { type Query, useQuery } from "../../api/query";

export interface OutlineTurn {
  turn: number;
  seq: number;
  at: number;
  ended_at: number | null;
  end_seq: number | null;
  trigger: string;
  prompt: string | null;
  outcome: string | null;
  cost_usd: number | null;
  /** Some of it was worked out. */
  estimated?: boolean;
  tools: number;
  tokens: number;
}

export interface Mark {
  seq: number;
  at: number;
  kind: "error" | "approval" | "question" | "denied" | "compaction" | "notice";
  text: string;
  open: boolean;
}

export interface Span {
  seq: number;
  at: number;
  until: number | null;
  kind: "tool" | "wait";
  name: string;
  failed: boolean;
}

export interface Outline {
  turns: OutlineTurn[];
  marks: Mark[];
  spans: Span[];
  /** Some are left out, because there were too many. */
  thinned: boolean;
}

/** While a run goes on, what is made of its log is read again at most this often. */
const EVERY = 3_000;

/** The outline of a run, read again as its log grows. */
export function useOutline(run: string, head: number): Query<Outline> {
  return useGrowing(`/runs/${run}/outline`, head);
}

/** What the server makes of a run's log, read again as the log grows. */
export function useGrowing<T>(path: string, head: number): Query<T> {
  const seen = useSlow(head, EVERY);
  const query = useQuery(path, () => takeRaw<T>(path));
  const { reload } = query;
  useEffect(() => {
    if (seen > 0) reload();
  }, [seen, reload]);
  return query;
}

/** A number that follows another one, but changes seldom. */
function useSlow(value: number, every: number): number {
  const [slow, setSlow] = useState(value);
  useEffect(() => {
    if (value === slow) return;
    // The first one that is known counts at once: it was read with everything else.
    const timer = setTimeout(() => setSlow(value), slow === 0 ? 0 : every);
    return () => clearTimeout(timer);
  }, [value, slow, every]);
  return slow;
}

/** What stands out: the marks, and the calls that failed, in their order. */
export function standsOut(outline: Outline): Mark[] {
  const known = new Set(outline.marks.map((mark) => mark.seq));
  const failed = outline.spans
    .filter((one) => one.failed && !known.has(one.seq))
    .map((one): Mark => ({ seq: one.seq, at: one.at, kind: "error", text: one.name, open: false }));
  return [...outline.marks, ...failed].sort((a, b) => a.seq - b.seq);
}

/** The nearest number after or before a place, or null. */
export function next(numbers: readonly number[], from: number, back: boolean): number | null {
  if (back) return numbers.findLast((seq) => seq < from) ?? null;
  return numbers.find((seq) => seq > from) ?? null;
}
