// What was spent, as the server sums it up, and the same as a file for a spreadsheet.
import { takeRaw } from "../../api/client";
import { asProblem } from "../../api/problem";
import type { Spent } from "../../api/words";

export type By = "day" | "model" | "agent" | "story";

export interface UsageRow {
  /** The day as the milliseconds of its begin, or a name; absent for a model that has none. */
  key?: string | null;
  /** The part of the day, where days are split. */
  part?: string | null;
  spent: Spent;
}

export const DAY = 86_400_000;

/** The begin of the day in UTC, which is how days are counted. */
export function dayOf(ms: number): number {
  return ms - (((ms % DAY) + DAY) % DAY);
}

export function dayName(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function usage(query: Record<string, string>, since: number): Promise<UsageRow[]> {
  const all = new URLSearchParams({ ...query, ...(since > 0 ? { since: String(since) } : {}) });
  return takeRaw<{ rows: UsageRow[] }>(`/usage?${all}`).then(({ rows }) => rows);
}

export interface Costs {
  rows: UsageRow[];
  /** The days, each in its parts. */
  days: UsageRow[];
}

/** The sums, and the days split by the same; a server that cannot split tells the days whole. */
export async function readCosts(by: By, since: number): Promise<Costs> {
  const split = by === "day" ? "model" : by;
  const [rows, days] = await Promise.all([
    usage({ by }, since),
    usage({ by: "day", split }, since).catch((error: unknown) => {
      const { status } = asProblem(error);
      if (status !== 400 && status !== 422) throw error;
      return usage({ by: "day" }, since);
    }),
  ]);
  return { rows, days };
}

export function cost(spent: Spent): number {
  return spent.cost_usd ?? spent.known_cost_usd;
}

export function cached(spent: Spent): number {
  return spent.cache_read + spent.cache_write_5m + spent.cache_write_1h + spent.cache_write_other;
}

/** The sum of all, unknown as soon as one of them is. */
export function sum(all: readonly Spent[]): Spent {
  const total: Spent = {
    input: 0,
    cache_read: 0,
    cache_write_5m: 0,
    cache_write_1h: 0,
    cache_write_other: 0,
    output: 0,
    reasoning: 0,
    known_cost_usd: 0,
    cost_usd: 0,
    estimated: false,
  };
  for (const one of all) {
    total.input += one.input;
    total.cache_read += one.cache_read;
    total.cache_write_5m += one.cache_write_5m;
    total.cache_write_1h += one.cache_write_1h;
    total.cache_write_other += one.cache_write_other;
    total.output += one.output;
    total.reasoning += one.reasoning;
    total.known_cost_usd += one.known_cost_usd;
    total.estimated ||= one.estimated;
    total.cost_usd = total.cost_usd == null || one.cost_usd == null ? null : total.cost_usd + one.cost_usd;
  }
  return total;
}

/** The rows in the order of the table: the newest day first, or what cost most. */
export function ordered(by: By, rows: readonly UsageRow[]): UsageRow[] {
  const order =
    by === "day"
      ? (a: UsageRow, b: UsageRow) => Number(b.key) - Number(a.key)
      : (a: UsageRow, b: UsageRow) =>
          cost(b.spent) - cost(a.spent) || (a.key ?? "").localeCompare(b.key ?? "");
  return [...rows].sort(order);
}

/** A cell that no spreadsheet takes for a formula. */
function cell(value: string | number | null): string {
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value ?? "") ? `'${value}` : (value ?? "");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function asCsv(by: By, rows: readonly UsageRow[], title: (row: UsageRow) => string): string {
  const head = [by, ...(by === "story" ? ["title"] : [])];
  const names = [
    "cost_usd",
    "known_cost_usd",
    "input",
    "cache_read",
    "cache_write",
    "output",
    "reasoning",
    "estimated",
  ];
  const lines = rows.map((row) => {
    const { spent } = row;
    const key = by === "day" ? dayName(Number(row.key)) : (row.key ?? "");
    const written = spent.cache_write_5m + spent.cache_write_1h + spent.cache_write_other;
    return [
      key,
      ...(by === "story" ? [title(row)] : []),
      spent.cost_usd ?? null,
      spent.known_cost_usd,
      spent.input,
      spent.cache_read,
      written,
      spent.output,
      spent.reasoning,
      spent.estimated ? "yes" : "no",
    ]
      .map(cell)
      .join(",");
  });
  return `${[[...head, ...names].join(","), ...lines].join("\r\n")}\r\n`;
}
