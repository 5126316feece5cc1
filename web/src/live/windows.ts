// Windows on run logs: each holds a stretch of events without gaps; together they hold at most so many.
import { api, take } from "../api/client";
import { asProblem } from "../api/problem";
import type { Delta, RunEvent } from "../api/words";
import { join, settled } from "./deltas";
import type { Frame } from "./frames";
import { type Stretch, unread } from "./stretch";

/**
 * Events that all windows hold together. What draws them holds on to up to two older stretches for a while, so that up to
 * three times as many are in memory, and never more than 5,000.
 */
export const MOST_EVENTS = 1_300;
/** Events that are read at once. */
const PAGE = 200;
/** Events that are read at once when somebody scrolls on. */
const MORE = 500;

export interface WindowsEvents {
  changed(): void;
  /** These runs are to be followed, each after a place. */
  watch(runs: Map<string, string | null>): void;
}

interface Page {
  events: RunEvent[];
  next: string;
  end: boolean;
  first?: number | null;
}

interface Window extends Stretch {
  users: number;
  /** The place after the last event that was heard, to follow from. */
  cursor: string | null;
  busy: Promise<void> | null;
}

export class Windows {
  private readonly open = new Map<string, Window>();

  constructor(private readonly events: WindowsEvents) {}

  get(run: string): Stretch | undefined {
    return this.open.get(run);
  }

  /** Opens the end of a run's log, or joins who looks at it already. Call what it returns when done. */
  use(run: string): () => void {
    const known = this.open.get(run);
    if (known) known.users += 1;
    else {
      this.put(fresh(run));
      void this.toEnd(run);
    }
    return () => this.leave(run);
  }

  private leave(run: string): void {
    const window = this.open.get(run);
    if (!window) return;
    window.users -= 1;
    if (window.users > 0) return;
    this.open.delete(run);
    this.events.watch(this.wanted());
  }

  /** The runs that this tab follows. */
  wanted(): Map<string, string | null> {
    const known = [...this.open.values()].filter((window) => window.cursor !== null && !window.over);
    return new Map(known.map((window) => [window.run, window.cursor]));
  }

  /** The leader follows these; if it did so before, this tab may have missed some events, and reads them. */
  watching(runs: Set<string>): void {
    for (const window of this.open.values()) {
      if (runs.has(window.run) && window.atEnd) void this.newer(window.run);
    }
  }

  /** Reads the end of the log anew. */
  toEnd(run: string): Promise<void> {
    return this.read(run, async (window) => {
      const page = await this.page(run, { last: PAGE });
      const head = Math.max(seqOf(page.next), this.open.get(run)?.head ?? window.head);
      const first = page.first ?? window.first;
      this.change(run, { events: page.events, cursor: page.next, first, head, atEnd: page.end });
      this.events.watch(this.wanted());
      if (!page.end) await this.fill(run);
    });
  }

  /** Reads what stands before the stretch. */
  older(run: string): Promise<void> {
    return this.read(run, async (window) => {
      const first = window.events[0]?.seq ?? 1;
      if (first <= window.first) return;
      const page = await this.page(run, { before: first, limit: MORE });
      // A page may be shorter than was asked for because its events are long, but never has a hole before `first`.
      const before = page.events;
      if (before.length === 0 || before.at(-1)?.seq !== first - 1) {
        this.change(run, { first });
        return;
      }
      const now = this.open.get(run);
      if (!now || now.events[0]?.seq !== first) return;
      const { events, cut } = this.trim([...before, ...now.events], "end");
      this.change(run, { events, first: page.first ?? now.first, atEnd: now.atEnd && !cut });
    });
  }

  /** Reads what stands after the stretch. */
  newer(run: string): Promise<void> {
    return this.read(run, () => this.fill(run, 1));
  }

  /** Opens the stretch around an event. */
  jump(run: string, seq: number): Promise<void> {
    const known = this.open.get(run);
    if (known?.events.some((event) => event.seq === seq)) return Promise.resolve();
    return this.read(run, async (window) => {
      const page = await this.page(run, { after: place(window, Math.max(0, seq - PAGE / 2)), limit: PAGE });
      const head = Math.max(this.open.get(run)?.head ?? window.head, seqOf(page.next));
      if (page.events.length > 0) this.change(run, { events: page.events, atEnd: page.end, head });
    });
  }

  /** Takes in what the feed says of the runs that are open. */
  take(frames: Frame[]): void {
    const grown = new Map<string, [RunEvent, string][]>();
    const settle = (run: string) => {
      const window = this.open.get(run);
      const list = grown.get(run);
      grown.delete(run);
      if (window && list) this.grow(window, list);
    };
    for (const frame of frames) {
      const data = frame.data as {
        run?: string;
        id?: string;
        event?: RunEvent;
        delta?: Delta;
        cursor?: string;
      } | null;
      if (data?.run === undefined || !this.open.has(data.run)) continue;
      if (frame.event === "run" && data.event && data.id) {
        const list = grown.get(data.run) ?? [];
        list.push([data.event, data.id]);
        grown.set(data.run, list);
        continue;
      }
      // What is no event of the log must find the events before it in their place.
      settle(data.run);
      const window = this.open.get(data.run);
      if (!window) continue;
      if (frame.event === "delta" && data.delta) this.delta(window, data.delta);
      else if (frame.event === "end") this.put({ ...window, over: true, deltas: new Map() });
      else if (frame.event === "reset" && data.cursor) this.reset(window, data.cursor);
    }
    for (const run of [...grown.keys()]) settle(run);
  }

  /** Events of one run, in their order. Those that are known already are heard again after a connection was lost. */
  private grow(window: Window, list: [RunEvent, string][]): void {
    let last = window.events.at(-1)?.seq ?? window.head;
    let { head, cursor, over, deltas } = window;
    const fresh: RunEvent[] = [];
    let gap = false;
    for (const [event, at] of list) {
      head = Math.max(head, event.seq);
      cursor = at;
      over = over || event.type === "session_ended";
      deltas = settled(deltas, event);
      if (!window.atEnd || event.seq <= last) continue;
      if (event.seq === last + 1 || (last === 0 && window.events.length === 0)) {
        fresh.push(event);
        last = event.seq;
      } else {
        gap = true;
      }
    }
    const events =
      fresh.length === 0 ? window.events : this.trim([...window.events, ...fresh], "start").events;
    this.put({ ...window, events, head, cursor, over, deltas });
    // Something is missing in between; it is read from where the stretch ends.
    if (gap) void this.newer(window.run);
  }

  private delta(window: Window, delta: Delta): void {
    const deltas = new Map(window.deltas);
    const joined = join(deltas.get(delta.item), delta);
    if (joined === null) deltas.delete(delta.item);
    else deltas.set(delta.item, joined);
    this.put({ ...window, deltas });
  }

  private reset(window: Window, cursor: string): void {
    const head = seqOf(cursor);
    const events = window.events.filter((event) => event.seq <= head);
    this.put({ ...window, events, head, cursor, deltas: new Map() });
    if (events.length === 0) void this.toEnd(window.run);
  }

  /** Reads on until the end of the log, at most so many pages. */
  private async fill(run: string, pages = 4): Promise<void> {
    for (let turn = 0; turn < pages; turn += 1) {
      const window = this.open.get(run);
      if (!window) return;
      const last = window.events.at(-1)?.seq ?? 0;
      const page = await this.page(run, { after: place(window, last), limit: MORE });
      const now = this.open.get(run);
      if (!now || (now.events.at(-1)?.seq ?? 0) !== last) return;
      const { events } = this.trim([...now.events, ...page.events], "start");
      const end = events.at(-1)?.seq ?? 0;
      const head = Math.max(now.head, end);
      this.change(run, { events, head, atEnd: page.end && end >= head, cursor: now.cursor ?? page.next });
      if (page.end) return;
    }
  }

  private page(run: string, query: { last?: number; after?: string; before?: number; limit?: number }) {
    const read = api.GET("/api/v1/runs/{run}/events", { params: { path: { run }, query } });
    return take(read as Promise<{ data?: Page; error?: unknown; response: Response }>);
  }

  /** One reading at a time for each run; who comes meanwhile waits for it and then takes a turn. */
  private async read(run: string, work: (window: Window) => Promise<void>): Promise<void> {
    const busy = this.open.get(run)?.busy;
    if (busy) await busy;
    const window = this.open.get(run);
    if (!window) return;
    const reading = work(window).then(
      () => this.change(run, { loading: false, problem: null, busy: null }),
      (error: unknown) => this.change(run, { loading: false, problem: asProblem(error), busy: null }),
    );
    this.change(run, { loading: true, busy: reading });
    await reading;
  }

  private trim(events: RunEvent[], from: "start" | "end"): { events: RunEvent[]; cut: boolean } {
    const most = Math.floor(MOST_EVENTS / Math.max(1, this.open.size));
    if (events.length <= most) return { events, cut: false };
    return { events: from === "start" ? events.slice(-most) : events.slice(0, most), cut: true };
  }

  private change(run: string, change: Partial<Window>): void {
    const window = this.open.get(run);
    if (window) this.put({ ...window, ...change });
  }

  private put(window: Window): void {
    const users = this.open.get(window.run)?.users ?? window.users;
    this.open.set(window.run, { ...window, users });
    this.events.changed();
  }
}

function fresh(run: string): Window {
  return {
    ...unread(run),
    users: 1,
    cursor: null,
    busy: null,
  };
}

/** The place right after an event. Its epoch is the log's latest, which knows all that came before it. */
function place(window: Window, seq: number): string {
  return `${window.cursor?.split(".")[0] ?? "1"}.${seq}`;
}

function seqOf(cursor: string): number {
  return Number(cursor.split(".")[1] ?? 0);
}
