// The one store of a tab: the world, the link, and the windows on run logs, fed by this tab's own feed or the leader's.
import { api, take } from "../api/client";
import { onToken, token } from "../api/token";
import type { Run } from "../api/words";
import { Feed } from "./feed";
import type { Frame } from "./frames";
import { type Link, Team, type Word } from "./team";
import { type Watched, Watchlist } from "./watchlist";
import { Windows } from "./windows";
import { apply, emptyWorld, newOpening, type Opening, putRun, type World } from "./world";

/** Other tabs are told that the server lives, but not with every piece that it sends. */
const BEAT = 5_000;
/** A project is read again at most this often; it holds the cost of the day. */
const PROJECT_EVERY = 3_000;
/** Text in flight changes the windows faster than anybody reads. */
const FRAME = 30;
/** Facts after which the numbers of the project are others. */
const COSTS = new Set(["usage_counted", "run_ended", "run_finished"]);

/** The parts of the store that change apart from each other. */
export type Part = "world" | "link" | "windows";

export class Store {
  world: World = emptyWorld();
  link: Link = { state: "connecting", heard: Date.now(), epoch: 0, problem: null, build: null, skew: 0 };
  /** Each grows with every change of its part; what was selected holds as long as it stays. */
  readonly versions: Record<Part, number> = { world: 0, link: 0, windows: 0 };
  readonly windows: Windows;
  private readonly team: Team;
  private readonly watchlist: Watchlist;
  private readonly watchers = new Set<() => void>();
  private opening: Opening | null = null;
  private feed: Feed | null = null;
  private lastId: string | null = null;
  private beatAt = 0;
  private soon: ReturnType<typeof setTimeout> | null = null;
  private projectAt = 0;
  private projectTimer: ReturnType<typeof setTimeout> | null = null;

  constructor() {
    this.windows = new Windows({ changed: () => this.tellSoon(), watch: (runs) => this.watch(runs) });
    this.team = new Team({ heard: (word) => this.heard(word), lead: (signal) => this.lead(signal) });
    this.watchlist = new Watchlist({ tabs: () => this.team.tabs(), settled: (union) => this.follow(union) });
  }

  start(): void {
    this.team.start();
    window.addEventListener("online", () => this.feed?.hurry());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible" && this.link.state === "reconnecting") this.tryNow();
    });
  }

  subscribe = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  /** A run that was asked for, as when an old one is opened. */
  addRun(run: Run): void {
    const known = this.world.runs.get(run.id);
    if (known?.phase === "over" && run.phase !== "over") return;
    putRun(this.world, run);
    this.tell("world");
  }

  /** Asks the server for the project's numbers now, as after a change to them. */
  refreshProject(): void {
    this.projectAt = 0;
    this.readProject();
  }

  /** Tries to reach the server at once. */
  tryNow(): void {
    this.feed?.hurry();
    if (!this.team.leads) this.team.say({ t: "hurry" });
  }

  /** Whether this tab holds the connection for all. */
  get leads(): boolean {
    return this.team.leads;
  }

  private tell(part: Part): void {
    this.versions[part] += 1;
    for (const watcher of this.watchers) watcher();
  }

  private tellSoon(): void {
    this.soon ??= setTimeout(() => {
      this.soon = null;
      this.tell("windows");
    }, FRAME);
  }

  private setLink(change: Partial<Link>): void {
    this.link = { ...this.link, ...change };
    this.tell("link");
  }

  /** What the leader knows of the connection, for all tabs. */
  private share(change: Partial<Link>): void {
    this.setLink(change);
    this.team.say({ t: "link", link: this.link });
  }

  private heard(word: Word): void {
    const { leads, tab } = this.team;
    switch (word.t) {
      case "hello":
        if (!leads) return;
        this.team.say({
          t: "snapshot",
          to: word.tab,
          world: this.world,
          link: this.link,
          lastId: this.lastId,
        });
        return;
      case "bye":
        this.watchlist.drop(word.tab);
        return;
      case "watch":
        if (leads) this.watchlist.put(word.tab, new Map(word.runs));
        return;
      case "lead":
        this.watch(this.windows.wanted());
        return;
      case "watching":
        if (!leads) this.windows.watching(new Set(word.runs));
        return;
      case "snapshot":
        if (word.to !== tab || leads) return;
        this.world = word.world;
        this.lastId = word.lastId;
        this.tell("world");
        this.setLink(word.link);
        return;
      case "frames":
        if (leads) return;
        this.lastId = word.lastId;
        this.take(word.frames);
        return;
      case "link":
        if (!leads) this.setLink(word.link);
        return;
      case "hurry":
        this.feed?.hurry();
        return;
    }
  }

  /** What this tab follows; the leader gathers it from all tabs. */
  private watch(runs: Watched): void {
    if (this.team.leads) this.watchlist.put(this.team.tab, runs);
    else this.team.say({ t: "watch", tab: this.team.tab, runs: [...runs] });
  }

  private follow(union: Watched): void {
    const feed = this.feed;
    if (feed === null) return;
    const known = new Set(feed.watched().keys());
    feed.watch(new Map(union));
    this.team.say({ t: "watching", runs: [...union.keys()] });
    // What was followed already may have gone on since this tab read its part.
    this.windows.watching(new Set([...union.keys()].filter((run) => known.has(run))));
  }

  private async lead(signal: AbortSignal): Promise<void> {
    this.watchlist.put(this.team.tab, this.windows.wanted());
    while (!signal.aborted) {
      await this.connect(signal);
      if (signal.aborted) return;
      // The token was refused; another one may come.
      await new Promise<void>((done) => {
        const stop = onToken(() => {
          if (token() === null) return;
          stop();
          done();
        });
        signal.addEventListener("abort", () => done());
      });
      if (!signal.aborted) this.share({ state: "connecting", problem: null });
    }
  }

  private async connect(signal: AbortSignal): Promise<void> {
    let lost = this.lastId !== null;
    const pass = (frames: Frame[]) => {
      this.lastId = feed.lastId;
      this.team.say({ t: "frames", frames, lastId: feed.lastId });
      this.take(frames);
    };
    const feed = new Feed(token, {
      opened: () => {
        pass([{ event: "opened", data: null }]);
        this.readProject();
      },
      beat: () => this.beat(),
      frames: (frames) => {
        pass(frames);
        const ready = frames.find((frame) => frame.event === "ready");
        if (ready === undefined) return;
        const epoch = this.link.epoch + (lost ? 1 : 0);
        lost = false;
        this.share({ state: "live", epoch, problem: null, build: this.build(ready), heard: Date.now() });
      },
      lost: (problem) => {
        lost = true;
        this.share({ state: "reconnecting", problem: problem.detail });
      },
      refused: (problem) => this.share({ state: "refused", problem: problem.detail }),
    });
    feed.lastId = this.lastId;
    this.feed = feed;
    const stop = () => feed.close();
    signal.addEventListener("abort", stop);
    this.watchlist.settle();
    await feed.run();
    signal.removeEventListener("abort", stop);
    if (this.feed === feed) this.feed = null;
  }

  private beat(): void {
    const now = Date.now();
    this.link.heard = now;
    if (now - this.beatAt < BEAT) return;
    this.beatAt = now;
    this.share({ heard: now });
  }

  private build(ready: Frame): Link["build"] {
    const now = (ready.data as { build?: string }).build;
    return now === undefined ? this.link.build : { first: this.link.build?.first ?? now, now };
  }

  private take(frames: Frame[]): void {
    let costs = false;
    for (const frame of frames) {
      if (frame.event === "opened") this.opening = newOpening();
      apply(this.world, frame, this.opening);
      if (frame.event === "ready") this.opening = null;
      const fact =
        frame.event === "fact" ? (frame.data as { fact?: { type?: string } }).fact?.type : undefined;
      if (fact !== undefined && COSTS.has(fact)) costs = true;
    }
    this.windows.take(frames);
    if (costs && this.team.leads) this.readProject();
    this.tell("world");
  }

  /** Reads the project's numbers, soon but not often. */
  private readProject(): void {
    if (token() === null) return;
    const wait = Math.max(0, this.projectAt + PROJECT_EVERY - Date.now());
    this.projectTimer ??= setTimeout(async () => {
      this.projectTimer = null;
      this.projectAt = Date.now();
      try {
        const project = await take(api.GET("/api/v1/project"));
        const skew = project.now - (this.projectAt + Date.now()) / 2;
        const frames = [{ event: "project", data: project }];
        this.team.say({ t: "frames", frames, lastId: this.lastId });
        this.take(frames);
        this.share({ skew });
      } catch {
        // The feed tells whether the server is there; the numbers come with the next change.
      }
    }, wait);
  }
}

export const store = new Store();
