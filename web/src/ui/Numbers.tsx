// Times that go on by themselves, and money that says when a part of it is unknown.
import type { Activity, Run, Spent } from "../api/words";
import { useNow } from "../live/clock";
import { age, ago, clock, moment, money, span } from "./format";

/** A moment, by the clock of whoever looks. */
export function Time({ at }: { at: number }) {
  const date = new Date(at);
  return (
    <time dateTime={date.toISOString()} title={moment(date)}>
      {clock(date)}
    </time>
  );
}

/** How long ago something was: `3m`, or in a sentence `3m ago`. */
export function Age({ at, sentence = false }: { at: number; sentence?: boolean }) {
  const now = useNow();
  const date = new Date(at);
  return (
    <time dateTime={date.toISOString()} title={moment(date)}>
      {sentence ? ago(now - at) : age(now - at)}
    </time>
  );
}

/** How long something has taken, or took. */
export function Elapsed({ from, to }: { from: number; to?: number | null }) {
  const now = useNow();
  return <span className="elapsed">{span((to ?? now) - from)}</span>;
}

/** A run that has said nothing for less than this is only thinking. */
const QUIET_MS = 120_000;

/** Since when a live run may have been quiet: not while it waits for somebody or something. */
export function heardAt(run: Run, activity: Activity | undefined, waits: boolean): number | null {
  if (run.phase !== "live" || waits || run.note != null) return null;
  return Math.max(run.quiet_since ?? 0, activity?.at ?? 0, run.started_at ?? 0) || null;
}

/** That a live run has said nothing for minutes; nothing before that. */
export function Quiet({ since }: { since: number | null }) {
  const now = useNow();
  if (since === null || now - since < QUIET_MS) return null;
  return <span className="quiet-run">No output for {age(now - since)}</span>;
}

/** How long there is still. */
export function Countdown({ to }: { to: number }) {
  const left = to - useNow();
  return (
    <span className={left < 60_000 ? "countdown soon" : "countdown"}>{left <= 0 ? "due" : span(left)}</span>
  );
}

/** What was spent: `≥` when a part of it is unknown, which is not zero, and `≈` when a part of it was worked out. */
export function Money({ spent }: { spent: Spent }) {
  if (spent.cost_usd != null) {
    if (!spent.estimated) return <span className="money">{money(spent.cost_usd)}</span>;
    return (
      <span
        className="money"
        title="A part of this was worked out, because a call broke off: it is at least so much"
      >
        ≈ {money(spent.cost_usd)}
      </span>
    );
  }
  const words = spent.known_cost_usd > 0 ? `≥ ${money(spent.known_cost_usd)}` : "cost unknown";
  return (
    <span className="money" title="The cost of a part of this is unknown">
      {words}
    </span>
  );
}

/** Lines that were added and removed. */
export function PlusMinus({ lines }: { lines: { added: number; removed: number } }) {
  return (
    <span className="plus-minus">
      <span className="plus">+{lines.added}</span> <span className="minus">−{lines.removed}</span>
    </span>
  );
}
