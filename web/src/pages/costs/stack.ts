// The days of a chart, each as a stack of its largest parts.
import { amount } from "../../ui/format";
import { cost, DAY, type UsageRow } from "./data";

/** So many parts have a colour of their own; the rest is one. */
export const COLOURS = 7;

export interface Part {
  name: string;
  sum: number;
  /** What it cost on each day. */
  days: number[];
  /** The days of which a part is unknown. */
  unknown: boolean[];
}

export interface Stack {
  /** The begin of each day, without a gap. */
  days: number[];
  parts: Part[];
}

export const OTHERS = "all others";

export function stack(rows: readonly UsageRow[], from: number, to: number, unnamed: string): Stack {
  const keys = rows.map((row) => Number(row.key));
  const first = from > 0 ? from : Math.min(to, ...keys);
  const days: number[] = [];
  for (let day = first; day <= to; day += DAY) days.push(day);
  const found = new Map<string, Part>();
  for (const row of rows) {
    const at = Math.round((Number(row.key) - first) / DAY);
    if (at < 0 || at >= days.length) continue;
    const name = row.part === undefined ? "all" : (row.part ?? unnamed);
    const part = found.get(name) ?? { name, sum: 0, days: days.map(() => 0), unknown: days.map(() => false) };
    found.set(name, part);
    part.sum += cost(row.spent);
    part.days[at] = (part.days[at] ?? 0) + cost(row.spent);
    if (row.spent.cost_usd == null) part.unknown[at] = true;
  }
  const parts = [...found.values()].sort((a, b) => b.sum - a.sum || a.name.localeCompare(b.name));
  if (parts.length <= COLOURS) return { days, parts };
  const rest = parts.slice(COLOURS - 1);
  const others: Part = {
    name: OTHERS,
    sum: rest.reduce((sum, part) => sum + part.sum, 0),
    days: days.map((_, at) => rest.reduce((sum, part) => sum + (part.days[at] ?? 0), 0)),
    unknown: days.map((_, at) => rest.some((part) => part.unknown[at])),
  };
  return { days, parts: [...parts.slice(0, COLOURS - 1), others] };
}

/** What a part has cost on a day, or on all of them, in words. */
export function costOf(parts: readonly Part[], at: number | null): string {
  const usd = parts.reduce((sum, part) => sum + (at === null ? part.sum : (part.days[at] ?? 0)), 0);
  const unknown = parts.some((part) => (at === null ? part.unknown.includes(true) : part.unknown[at]));
  return amount(usd, { unknown });
}

/** For each part, from the last to the first, how high the stack is with it: the highest is drawn first. */
export function heights({ days, parts }: Stack): number[][] {
  const out: number[][] = [];
  let below = days.map(() => 0);
  for (const part of parts) {
    below = below.map((height, at) => height + (part.days[at] ?? 0));
    out.push(below);
  }
  return out.reverse();
}
