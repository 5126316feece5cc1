// Times, ages and money in words that are short and never wrong.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

// Made once, for making one takes longer than all that it is used for in a frame.
const CLOCK = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit" });
const MOMENT = new Intl.DateTimeFormat([], { dateStyle: "medium", timeStyle: "medium" });

/** The hour and the minute. */
export function clock(date: Date): string {
  return CLOCK.format(date);
}

/** The day and the time. */
export function moment(date: Date): string {
  return MOMENT.format(date);
}

/** A length of time in its two largest parts, such as `3m 20s`. */
export function span(ms: number): string {
  const left = Math.max(0, ms);
  if (left > 0 && left < 1_000) return "<1s";
  if (left < MINUTE) return `${Math.floor(left / 1000)}s`;
  if (left < HOUR) return `${Math.floor(left / MINUTE)}m ${Math.floor((left % MINUTE) / 1000)}s`;
  if (left < DAY) return `${Math.floor(left / HOUR)}h ${Math.floor((left % HOUR) / MINUTE)}m`;
  return `${Math.floor(left / DAY)}d ${Math.floor((left % DAY) / HOUR)}h`;
}

/** How long ago, in one part, such as `3m`. */
export function age(ms: number): string {
  if (ms < 5_000) return "now";
  return span(ms).split(" ")[0] ?? "now";
}

/** How long ago, as a sentence goes on, such as `3m ago`. */
export function ago(ms: number): string {
  const short = age(ms);
  return short === "now" ? "just now" : `${short} ago`;
}

/** What stands before a sum: that a part of it is unknown, or that a part of it was worked out. */
export function about(sum: { unknown?: boolean; estimated?: boolean } | undefined): string {
  if (sum?.unknown) return "≥ ";
  return sum?.estimated ? "≈ " : "";
}

/** A sum of which a part may be unknown or worked out; one of which nothing is known is no number. */
export function amount(usd: number, sum: { unknown?: boolean; estimated?: boolean } | undefined): string {
  return sum?.unknown && usd === 0 ? "unknown" : `${about(sum)}${money(usd)}`;
}

/** Dollars; what costs something never looks like nothing. */
export function money(usd: number): string {
  if (usd === 0) return "$0.00";
  if (Math.abs(usd) < 0.01) return usd < 0 ? "-<$0.01" : "<$0.01";
  return `$${usd.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** A number in three signs, such as `12k`. */
export function short(number: number): string {
  if (number < 1_000) return String(number);
  if (number < 10_000) return `${(number / 1_000).toFixed(1)}k`;
  if (number < 1_000_000) return `${Math.round(number / 1_000)}k`;
  return `${(number / 1_000_000).toFixed(1)}M`;
}

/** What a run has cost, as its last event tells it; what is unknown is never shown as nothing. */
export function costInWords(end: { [field: string]: unknown }): string {
  if (typeof end.cost_usd === "number")
    return `${about({ estimated: end.estimated === true })}${money(end.cost_usd)}`;
  const known = Number(end.known_cost_usd ?? 0);
  return known > 0 ? `≥ ${money(known)}` : "cost unknown";
}
