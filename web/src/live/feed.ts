// The one connection to the server: reads the feed, and comes back where it was when it breaks.
import { asProblem, type Problem, ProblemError, readProblem } from "../api/problem";
import { lose } from "../api/token";
import { type Frame, FrameReader } from "./frames";

/** The server says something every 15 s; whoever is silent for much longer is gone. */
const SILENCE = 40_000;
const FIRST_WAIT = 250;
const LONGEST_WAIT = 8_000;

export interface FeedEvents {
  frames(frames: Frame[]): void;
  /** The connection stands, though nothing may have been said. */
  beat(): void;
  opened(): void;
  lost(problem: Problem): void;
  refused(problem: Problem): void;
}

/** Follows the feed until it is closed. */
export class Feed {
  /** Where it goes on: the id of the last frame. */
  lastId: string | null = null;
  private runs = new Map<string, string | null>();
  private abort: AbortController | null = null;
  private closed = false;
  private wake: (() => void) | null = null;
  /** The end of a connection that was wanted, to change what it follows, is no loss. */
  private turning = false;

  constructor(
    private readonly token: () => string | null,
    private readonly events: FeedEvents,
  ) {}

  /** Follows these runs, each after a place in its log, from now on. */
  watch(runs: Map<string, string | null>): void {
    const same = runs.size === this.runs.size && [...runs.keys()].every((run) => this.runs.has(run));
    for (const [run, cursor] of this.runs) if (runs.has(run)) runs.set(run, cursor);
    this.runs = runs;
    if (same) return;
    this.turning = true;
    this.abort?.abort();
  }

  watched(): ReadonlyMap<string, string | null> {
    return this.runs;
  }

  /** Tries at once instead of waiting, as when the network is back. */
  hurry(): void {
    this.wake?.();
  }

  close(): void {
    this.closed = true;
    this.abort?.abort();
    this.wake?.();
  }

  async run(): Promise<void> {
    let wait = FIRST_WAIT;
    while (!this.closed) {
      this.turning = false;
      try {
        await this.once(() => {
          wait = FIRST_WAIT;
        });
        if (!this.closed && !this.turning) this.events.lost(asProblem(new TypeError()));
      } catch (error) {
        if (this.closed) return;
        if (!this.turning) {
          const problem = asProblem(error);
          if (problem.status === 401) {
            this.events.refused(problem);
            return;
          }
          this.events.lost(problem);
        }
      }
      if (this.turning || this.closed) continue;
      await this.pause(wait * (0.75 + Math.random() / 2));
      wait = Math.min(wait * 2, LONGEST_WAIT);
    }
  }

  private async once(heard: () => void): Promise<void> {
    const token = this.token();
    const abort = new AbortController();
    this.abort = abort;
    const headers: Record<string, string> = { accept: "text/event-stream" };
    if (token !== null) headers.authorization = `Bearer ${token}`;
    if (this.lastId !== null) headers["last-event-id"] = this.lastId;
    let quiet = setTimeout(() => abort.abort(), SILENCE);
    try {
      const reply = await fetch(this.address(), { headers, signal: abort.signal, cache: "no-store" });
      if (!reply.ok || reply.body === null) {
        const problem = await readProblem(reply);
        if (reply.status === 401) lose(token ?? "", problem.detail);
        throw new ProblemError(problem);
      }
      this.events.opened();
      heard();
      const reader = new FrameReader();
      const pieces = reply.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await pieces.read();
        if (done) return;
        clearTimeout(quiet);
        quiet = setTimeout(() => abort.abort(), SILENCE);
        this.take(reader.push(value));
      }
    } finally {
      clearTimeout(quiet);
    }
  }

  private take(frames: Frame[]): void {
    this.events.beat();
    if (frames.length === 0) return;
    for (const frame of frames) {
      if (frame.id !== undefined) this.lastId = frame.id;
      const place = frame.data as { run?: string; id?: string; cursor?: string } | null;
      if (frame.event === "run" && place?.run && place.id) this.runs.set(place.run, place.id);
      if (frame.event === "reset" && place?.run && place.cursor) this.runs.set(place.run, place.cursor);
    }
    this.events.frames(frames);
  }

  private address(): string {
    const runs = [...this.runs].map(([run, after]) => (after === null ? run : `${run}:${after}`));
    const query = runs.length === 0 ? "" : `?deltas=1&runs=${runs.join(",")}`;
    return `/api/v1/feed${query}`;
  }

  private pause(ms: number): Promise<void> {
    return new Promise((done) => {
      const timer = setTimeout(done, ms);
      this.wake = () => {
        clearTimeout(timer);
        done();
      };
    });
  }
}
