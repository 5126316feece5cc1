// A stretch of one run's log, as pages see it.
import type { Problem } from "../api/problem";
import type { Delta, RunEvent } from "../api/words";

/** Each change makes a new one. */
export interface Stretch {
  run: string;
  events: readonly RunEvent[];
  /** The number of the first event that the log still has: not 1 when old ones were cleaned away. */
  first: number;
  /** The number of the last event in the log, as far as is known. */
  head: number;
  /** Whether the stretch reaches to the end of the log and grows with it. */
  atEnd: boolean;
  loading: boolean;
  problem: Problem | null;
  /** Whether the run is over and its log whole. */
  over: boolean;
  /** Text in flight, by item. */
  deltas: ReadonlyMap<string, Delta>;
}

/** A log of which nothing is known yet. */
export function unread(run: string): Stretch {
  const deltas = new Map();
  return {
    run,
    events: [],
    first: 1,
    head: 0,
    atEnd: false,
    loading: true,
    problem: null,
    over: false,
    deltas,
  };
}
