// The one store of a tab: the world, the link, and the windows on run logs, fed by this tab's own feed or the leader's.
import { api, take } from "../api/client";
import { onToken, token } from "../api/token";
import type { Run } from "../api/words";
import { Feed } from "./feed";
import type { Frame } from "./frames";
import { type Link, Team, type Word } from "./team";
import { Windows } from "./windows";
import { apply, emptyWorld, newOpening, type Opening, putRun, type World } from "./world";

/** Watch lists of several tabs that change together open the feed once. */
const GATHER = 30;
/** A project is read again at most this often; it holds the cost of the day. */
const PROJECT_EVERY = 3_000;
/** Facts after which the numbers of the project are others. */
const COSTS = new Set(["usage_counted", "run_ended", "run_finished", "caps_set"]);

export class Store {
  world: World = emptyWorld();
  link: Link = { state: "connecting", heard: Date.now(), epoch: 0, problem: null, build: null, skew: 0 };
  /** Grows with every change; what was selected from the world holds as long as it stays. */
  version = 0;
  readonly windows: Windows;
  private readonly team: Team;
  private readonly watchers = new Set<() => void>();
  private opening: Opening | null = null;
  private feed: Feed | null = null;
  private lastId: string | null = null;
  /** What the tabs watch; used by the leader. */
  private readonly wanted = new Map<string, Map<string, string | null>>();
  private gathering: ReturnType<typeof setTimeout> | null = null;
  private projectAt = 0;
  private projectTimer: ReturnType<typeof setTimeout> | null = null;

  constructor() {
    this.windows = new Windows({
      changed: () => this.tell(),
      watch: (runs) => this.watch(runs),
    });
    this.team = new Team({ heard: (word) => this.heard(word), lead: (signal) => this.lead(signal) });
  }

  start(): void {
    this.team.start();
    onToken(() => {
      if (token() !== null) this.feed?.hurry();
    });
    window.addEventListener("online", () => this.feed?.hurry());
  }

  subscribe = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  /** A run that was asked for, as when an old one is opened. */
  addRun(run: Run): void {
    const known = this.world.runs.get(run.id);
    if (known && known.phase === "over" && run.phase !== "over") return;
    putRun(this.world, run);
    this.tell();
  }

  /** Something that was asked for failed; who asked looks again. */
  addProblem(): void {
    this.tell();
  }

  /** Asks the server for the project's numbers now, as after a change to them. */
  refreshProject(): void {
    this.projectAt = 0;
    this.readProject();
  }

  tryNow(): void {
    this.feed?.hurry();
  }

  get leads(): boolean {
    return this.team.leads;
  }

  private tell(): void {
    this.version += 1;
    for (const watcher of this.watchers) watcher();
  }

  private setLink(change: Partial<Link>): void {
    this.link = { ...this.link, ...change };
    this.tell();
  }

  private heard(word: Word): void {
    switch (word.t) {
      case "hello":
        if (!this.team.leads) return;
        this.team.say({
          t: "snapshot",
          to: word.tab,
          world: this.world,
          link: this.link,
          lastId: this.lastId,
        });
        return;
      case "bye":
        if (this.wanted.delete(word.tab)) this.gather();
        return;
      case "watch":
        if (!this.team.leads) return;
        this.wanted.set(word.tab, new Map(word.runs));
        this.gather();
        return;
      case "lead":
        this.watch(this.windows.wanted());
        if (!this.world.ready) this.team.say({ t: "hello", tab: this.team.tab });
        return;
      case "watching":
        this.windows.watching(new Set(word.runs));
        return;
      case "snapshot":
        if (word.to !== this.team.tab || this.team.leads) return;
        this.world = word.world;
        this.lastId = word.lastId;
        this.setLink(word.link);
        return;
      case "frames":
        if (this.team.leads) return;
        this.lastId = word.lastId;
        this.take(word.frames);
        return;
      case "link":
        if (!this.team.leads) this.setLink(word.link);
        return;
    }
  }

  /** What this tab follows; the leader gathers it from all tabs. */
  private watch(runs: Map<string, string | null>): void {
    if (this.team.leads) {
      this.wanted.set(this.team.tab, runs);
      this.gather();
    } else {
      this.team.say({ t: "watch", tab: this.team.tab, runs: [...runs] });
    }
  }

  private gather(): void {
    if (this.gathering !== null) return;
    this.gathering = setTimeout(() => {
      this.gathering = null;
      void this.settle();
    }, GATHER);
  }

  private async settle(): Promise<void> {
    const there = await this.team.tabs();
    if (there) for (const tab of this.wanted.keys()) if (!there.has(tab)) this.wanted.delete(tab);
    const feed = this.feed;
    if (feed === null) return;
    const known = new Set(feed.watched().keys());
    const all = new Map<string, string | null>();
    for (const runs of this.wanted.values()) {
      for (const [run, after] of runs) if (!all.has(run)) all.set(run, after);
    }
    const few = new Map([...all].slice(-32));
    feed.watch(new Map(few));
    this.team.say({ t: "watching", runs: [...few.keys()] });
    // What was followed already may have gone on since this tab read its part.
    this.windows.watching(new Set([...few.keys()].filter((run) => known.has(run))));
  }

  private async lead(signal: AbortSignal): Promise<void> {
    this.wanted.set(this.team.tab, this.windows.wanted());
    // Another tab may have a word to say about what it watches before the connection is made.
    await new Promise((done) => setTimeout(done, GATHER));
    while (!signal.aborted) {
      await this.follow(signal);
      // The token was refused; another one may come.
      await new Promise<void>((done) => {
        const stop = onToken(() => {
          if (token() === null) return;
          stop();
          done();
        });
        signal.addEventListener("abort", () => done());
        if (token() !== null && this.link.state !== "refused") done();
      });
      if (!signal.aborted) this.share({ state: "connecting", problem: null });
    }
  }

  private async follow(signal: AbortSignal): Promise<void> {
    let lost = this.link.epoch > 0 || this.lastId !== null;
    const feed = new Feed(token, {
      opened: () => {
        this.opening = newOpening();
        this.readProject();
      },
      beat: () => {
        this.link = { ...this.link, heard: Date.now() };
        this.team.say({ t: "link", link: this.link });
      },
      frames: (frames) => {
        this.lastId = feed.lastId;
        this.team.say({ t: "frames", frames, lastId: feed.lastId });
        this.take(frames);
        const ready = frames.find((frame) => frame.event === "ready");
        if (ready === undefined) return;
        const epoch = this.link.epoch + (lost ? 1 : 0);
        lost = false;
        this.share({ state: "live", epoch, problem: null, build: this.build(ready) });
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
    this.gather();
    await feed.run();
    signal.removeEventListener("abort", stop);
    this.feed = null;
  }

  private build(ready: Frame): Link["build"] {
    const now = (ready.data as { build?: string }).build ?? this.world.project?.build;
    return now === undefined ? this.link.build : { first: this.link.build?.first ?? now, now };
  }

  private share(change: Partial<Link>): void {
    this.setLink(change);
    this.team.say({ t: "link", link: this.link });
  }

  private take(frames: Frame[]): void {
    let costs = false;
    for (const frame of frames) {
      apply(this.world, frame, this.opening);
      if (frame.event === "ready") this.opening = null;
      if (frame.event === "fact") {
        const fact = (frame.data as { fact?: { type?: string } }).fact?.type;
        if (fact !== undefined && COSTS.has(fact)) costs = true;
      }
      this.windows.take(frame);
    }
    if (costs && this.team.leads) this.readProject();
    this.tell();
  }

  /** Reads the project's numbers, soon but not often. */
  private readProject(): void {
    if (this.projectTimer !== null || !token()) return;
    const wait = Math.max(0, this.projectAt + PROJECT_EVERY - Date.now());
    this.projectTimer = setTimeout(async () => {
      this.projectTimer = null;
      this.projectAt = Date.now();
      try {
        const asked = Date.now();
        const project = await take(api.GET("/api/v1/project"));
        const frames = [{ event: "project", data: project }];
        this.team.say({ t: "frames", frames, lastId: this.lastId });
        this.take(frames);
        this.share({ skew: project.now - (asked + Date.now()) / 2 });
      } catch {
        // The feed tells whether the server is there; the numbers come with the next change.
      }
    }, wait);
  }
}

export const store = new Store();
