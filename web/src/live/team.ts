// The tabs of one browser: one of them leads and holds the connection, the others hear from it.
import type { Frame } from "./frames";
import type { World } from "./world";

/** What tabs say to each other. */
export type Word =
  | { t: "hello"; tab: string }
  | { t: "bye"; tab: string }
  | { t: "lead"; tab: string }
  /** The runs that a tab follows, with the last event that it has of each. */
  | { t: "watch"; tab: string; runs: [string, string | null][] }
  /** The runs that the leader follows now. */
  | { t: "watching"; runs: string[] }
  | { t: "frames"; frames: Frame[]; lastId: string | null }
  | { t: "snapshot"; to: string; world: World; link: Link; lastId: string | null }
  | { t: "link"; link: Link }
  /** Somebody wants to reach the server at once. */
  | { t: "hurry" };

/** How the project is reached. */
export interface Link {
  state: "connecting" | "live" | "reconnecting" | "refused";
  /** When the server was heard last, by this machine's clock. */
  heard: number;
  /** How often the feed was opened after it had been lost. */
  epoch: number;
  /** Why it is not live. */
  problem: string | null;
  /** The build that was heard first, and the one that serves now. */
  build: { first: string; now: string } | null;
  /** The server's clock minus ours. */
  skew: number;
}

const CHANNEL = "musher.live";
const LEADER = "musher.leader";
/** A leader that says nothing for so long is frozen, and a tab that is looked at takes over. */
const FROZEN = 45_000;
/** A new tab that hears nothing at all waits no longer than this. */
const UNHEARD = 8_000;

/** What only a leader says of the world. */
const OF_THE_LEADER = new Set<Word["t"]>(["frames", "link", "watching", "snapshot"]);

export interface TeamEvents {
  heard(word: Word): void;
  /** This tab leads until the promise that it returns is settled or `signal` is raised. */
  lead(signal: AbortSignal): Promise<void>;
}

export class Team {
  readonly tab: string = crypto.randomUUID();
  private readonly channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(CHANNEL) : null;
  private leaderHeard = Date.now();
  /** Whether a leader has answered to this tab. */
  private joined = false;
  private leading = false;
  private ended = false;
  private stop: AbortController | null = null;

  constructor(private readonly events: TeamEvents) {
    if (this.channel) {
      this.channel.onmessage = ({ data }: MessageEvent<Word>) => {
        if (data.t === "snapshot" && data.to === this.tab) this.joined = true;
        // Before the leader's answer this tab could make nothing of what it hears.
        if (!this.joined && !this.leading && OF_THE_LEADER.has(data.t)) return;
        if (OF_THE_LEADER.has(data.t)) this.leaderHeard = Date.now();
        if (data.t === "lead" && !this.joined) this.say({ t: "hello", tab: this.tab });
        this.events.heard(data);
      };
    }
  }

  get leads(): boolean {
    return this.leading;
  }

  say(word: Word): void {
    if (!this.ended) this.channel?.postMessage(word);
  }

  start(): void {
    const locks = navigator.locks;
    if (!locks || !this.channel) {
      void this.leadNow();
      return;
    }
    // Held as long as the tab lives, so that the leader can see who is still there.
    void locks.request(`${LEADER}.tab.${this.tab}`, () => new Promise<void>(() => {}));
    void this.stand({});
    setInterval(() => {
      const frozen = Date.now() - this.leaderHeard > (this.joined ? FROZEN : UNHEARD);
      if (frozen && !this.leading && document.visibilityState === "visible") {
        this.leaderHeard = Date.now();
        void this.stand({ steal: true });
      }
    }, 5_000);
    window.addEventListener("pagehide", () => {
      this.say({ t: "bye", tab: this.tab });
    });
    this.say({ t: "hello", tab: this.tab });
  }

  /** The tabs that are there, or null if nobody can say. */
  async tabs(): Promise<Set<string> | null> {
    const query = await navigator.locks?.query?.();
    const held = query?.held?.map((lock) => lock.name ?? "") ?? null;
    const prefix = `${LEADER}.tab.`;
    return held && new Set(held.filter((n) => n.startsWith(prefix)).map((n) => n.slice(prefix.length)));
  }

  private async stand(options: LockOptions): Promise<void> {
    for (;;) {
      try {
        await navigator.locks.request(LEADER, options, () => this.leadNow());
        return;
      } catch {
        // Another tab took over because this one was frozen; it stands in line again.
        this.stop?.abort();
        options = {};
      }
    }
  }

  private async leadNow(): Promise<void> {
    this.stop?.abort();
    const stop = new AbortController();
    this.stop = stop;
    this.leading = true;
    this.joined = true;
    this.say({ t: "lead", tab: this.tab });
    try {
      await this.events.lead(stop.signal);
    } finally {
      if (this.stop === stop) this.leading = false;
    }
  }

  end(): void {
    this.ended = true;
    this.stop?.abort();
    this.channel?.close();
  }
}
