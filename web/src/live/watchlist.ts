// What all tabs together watch: the leader gathers it and follows the union of it.

/** Lists of several tabs that change together are settled once. */
const GATHER = 30;
/** A feed follows at most so many runs. */
const MOST_RUNS = 32;

/** Runs, each with the last event that is known of it. */
export type Watched = Map<string, string | null>;

export interface WatchlistEvents {
  /** The tabs that are there, or null if nobody can say. */
  tabs(): Promise<ReadonlySet<string> | null>;
  settled(union: Watched): void;
}

export class Watchlist {
  private readonly wanted = new Map<string, Watched>();
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly events: WatchlistEvents) {}

  /** A tab watches these runs now. */
  put(tab: string, runs: Watched): void {
    this.wanted.set(tab, runs);
    this.settle();
  }

  drop(tab: string): void {
    if (this.wanted.delete(tab)) this.settle();
  }

  /** Tells the union, soon. */
  settle(): void {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      void this.now();
    }, GATHER);
  }

  private async now(): Promise<void> {
    const there = await this.events.tabs();
    // A tab that crashed said no good-bye.
    if (there) for (const tab of this.wanted.keys()) if (!there.has(tab)) this.wanted.delete(tab);
    const union: Watched = new Map();
    for (const runs of this.wanted.values()) {
      for (const [run, after] of runs) if (!union.has(run)) union.set(run, after);
    }
    this.events.settled(new Map([...union].slice(-MOST_RUNS)));
  }
}
