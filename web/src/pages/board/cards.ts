// The cards of the board: one for each story, made anew only when something on it has changed.
import type { Activity, Ask, Run, Story } from "../../api/words";
import { useLive } from "../../live/hooks";
import type { World } from "../../live/world";
import { waitingFor } from "../../ui/asked";
import { heardAt } from "../../ui/Numbers";
import { conflictWords } from "../../ui/story/conflict";
import { openBefore } from "../../ui/story/spec";
import { type Column, columnOf } from "./columns";

export interface Card {
  id: string;
  title: string;
  column: Column;
  story: Story;
  /** Its runs that are not over. */
  live: readonly Run[];
  /** What its runs wait for. */
  asks: readonly Ask[];
  /** Who works on it, or did so last. */
  agents: readonly string[];
  /** What happens or happened last, in one line. */
  now: string;
  tone: "plain" | "warn" | "bad";
  lines: { added: number; removed: number } | null;
  /** When its run began, while it goes on. */
  since: number | null;
  /** When it ended. */
  ended: number | null;
  /** When its live run was last heard. */
  quiet: number | null;
  /** What its work conflicts with, before anybody merges it. */
  conflict: string | null;
  /** The open stories that must be done before its runs begin. */
  after: readonly string[];
}

interface Made {
  from: readonly unknown[];
  card: Card;
}

const OUTCOMES: Record<string, string> = {
  completed: "completed",
  failed: "failed",
  stopped: "stopped",
  interrupted: "interrupted",
  timed_out: "timed out",
  out_of_turns: "out of turns",
  out_of_budget: "out of budget",
  lost: "lost",
};

const PHASES: Record<string, string> = {
  queued: "Queued for a free slot",
  preparing: "Preparing its worktree",
  starting: "Starting",
  live: "Working…",
  closing: "Ending",
  finishing: "Saving its work",
};

/** Makes cards, and gives the same card again as long as nothing on it is new. */
export class Cards {
  private made = new Map<string, Made>();

  of(world: World): Card[] {
    const live = grouped([...world.runs.values()].filter((run) => run.phase !== "over"));
    const asks = grouped([...world.asks.values()].filter((ask) => ask.state === "open"));
    const made = new Map<string, Made>();
    for (const story of world.stories.values()) {
      const runs = live.get(story.id) ?? [];
      const open = asks.get(story.id) ?? [];
      const activities = runs.map((run) => world.activity.get(run.id));
      const last = story.latest == null ? undefined : world.runs.get(story.latest.run);
      const after = openBefore(story, world.stories);
      const from = [story, last, ...runs, ...open, ...activities, ...after];
      const before = this.made.get(story.id);
      const same = before !== undefined && equal(before.from, from);
      made.set(story.id, same ? before : { from, card: make(story, runs, open, activities, last, after) });
    }
    this.made = made;
    return [...made.values()].map(({ card }) => card).sort(inColumn);
  }
}

/**
 * The most urgent story first and then the newest, which does not jump while an agent works; of what is done, what was done
 * last, for nobody hurries with it any more.
 */
function inColumn(a: Card, b: Card): number {
  const [first, second] = [a.column === "done", b.column === "done"];
  if (first !== second) return first ? 1 : -1;
  if (first) return b.story.updated_at - a.story.updated_at;
  return b.story.priority - a.story.priority || b.story.n - a.story.n;
}

function grouped<T extends { story: string }>(items: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(item.story);
    if (group) group.push(item);
    else groups.set(item.story, [item]);
  }
  return groups;
}

function equal(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, at) => item === b[at]);
}

function make(
  story: Story,
  live: readonly Run[],
  asks: readonly Ask[],
  activities: readonly (Activity | undefined)[],
  last: Run | undefined,
  after: readonly string[],
): Card {
  const column = columnOf(story, live, asks);
  const working = live.map((run) => run.agent);
  const latest = story.latest;
  const agents = working.length > 0 ? [...new Set(working)] : latest == null ? [] : [latest.agent];
  const activity = activities.findLast((one) => one !== undefined);
  const lines = activity?.lines ?? last?.lines ?? latest?.lines ?? null;
  const starts = live.map((run) => run.started_at ?? run.queued_at);
  const only = live.length === 1 ? live[0] : undefined;
  const over = live.length === 0 ? (last?.ended_at ?? latest?.ended_at ?? null) : null;
  return {
    id: story.id,
    title: story.title ?? story.id,
    column,
    story,
    live,
    asks,
    agents,
    ...happening(story, column, live, asks, activity),
    lines: lines !== null && lines.added + lines.removed > 0 ? lines : null,
    since: starts.length > 0 ? Math.min(...starts) : null,
    ended: over,
    quiet: only === undefined ? null : heardAt(only, activity, asks.length > 0),
    conflict: live.length === 0 && story.merged == null ? conflictWords(story) : null,
    after: column === "done" ? [] : after,
  };
}

function happening(
  story: Story,
  column: Column,
  live: readonly Run[],
  asks: readonly Ask[],
  activity: Activity | undefined,
): Pick<Card, "now" | "tone"> {
  const [ask] = asks;
  if (ask !== undefined) {
    const more = asks.length > 1 ? ` (and ${asks.length - 1} more)` : "";
    return { now: `${waitingFor(ask)}${more}`, tone: "warn" };
  }
  const latest = story.latest;
  if (latest?.parked === true) return { now: "Lost too often. Restart?", tone: "warn" };
  if (column === "done") {
    return { now: story.merged == null ? "" : `merged as ${story.merged.slice(0, 8)}`, tone: "plain" };
  }
  const [run] = live;
  if (run !== undefined) {
    const text = run.note ?? (activity?.text || PHASES[run.phase]) ?? run.phase;
    return { now: text, tone: run.note == null ? "plain" : "warn" };
  }
  if (latest == null || column === "queued" || column === "running") return { now: "", tone: "plain" };
  const outcome = latest.outcome ?? "lost";
  const words = OUTCOMES[outcome] ?? outcome.replaceAll("_", " ");
  const bad = column === "needs";
  return { now: latest.error == null ? words : `${words}: ${latest.error}`, tone: bad ? "bad" : "plain" };
}

const cards = new Cards();

/** All cards, the most urgent story first and then the newest. */
export function useCards(): Card[] {
  return useLive((world) => cards.of(world));
}
