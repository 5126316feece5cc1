// What waits for a person, by what it blocks: open asks, then failures, then finished work; of each the oldest first.
import { useSyncExternalStore } from "react";
import type { Ask, Run, Story } from "../../api/words";
import { useLive } from "../../live/hooks";
import type { World } from "../../live/world";
import { answeredHere, useAnsweredHere } from "./answers";

export type Item =
  | { kind: "ask"; key: string; at: number; story: string; ask: Ask }
  | {
      kind: "ended";
      key: string;
      at: number;
      story: string;
      run: string;
      agent: string;
      failed: boolean;
      outcome: string;
      /** Why it failed, as far as that is known. */
      why: string | null;
    };

const KEY = "musher.looked-at";
/** So many ended runs are remembered as looked at; older ones belong to stories that went on. */
const REMEMBERED = 500;

const watchers = new Set<() => void>();
let looked = read();

function read(): ReadonlySet<string> {
  try {
    return new Set(JSON.parse(localStorage.getItem(KEY) ?? "[]") as string[]);
  } catch {
    return new Set();
  }
}

function tell(next: ReadonlySet<string>): void {
  looked = next;
  for (const watcher of watchers) watcher();
}

/** What this tab has acted on, which needs no mark when it leaves. */
const handled = new Set<string>();

export function handledHere(key: string): void {
  handled.add(key);
}

export function wasHandledHere(key: string): boolean {
  return handled.has(key);
}

/** Takes an ended run out of the inbox, or puts it back. */
export function lookAt(run: string, seen = true): void {
  handledHere(run);
  const next = new Set(looked);
  if (seen) next.add(run);
  else next.delete(run);
  localStorage.setItem(KEY, JSON.stringify([...next].slice(-REMEMBERED)));
  tell(next);
}

if (typeof window !== "undefined") {
  window.addEventListener("storage", (event) => {
    if (event.key === KEY) tell(read());
  });
}

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

type Latest = Pick<Run, "agent" | "phase" | "outcome" | "ended_at"> & { run: string };

/** The newest run of a story, as far as it is known. */
function latest(world: World, story: Story, ended: ReadonlyMap<string, Run>): Latest | null {
  const heard = ended.get(story.id);
  const told = story.latest;
  if (heard && (!told || (heard.ended_at ?? 0) >= (told.ended_at ?? 0))) return { ...heard, run: heard.id };
  if (!told) return null;
  const run = world.runs.get(told.run);
  return run ? { ...run, run: run.id } : told;
}

export function inboxItems(world: World, seen = looked, answered = answeredHere()): Item[] {
  const items: Item[] = [];
  for (const [key, ask] of world.asks) {
    if (ask.state !== "open" || answered.has(key)) continue;
    items.push({ kind: "ask", key, at: ask.opened_at, story: ask.story, ask });
  }
  const ended = new Map<string, Run>();
  for (const run of world.runs.values()) {
    if (run.phase === "over" && run.line === "main") {
      const other = ended.get(run.story);
      if (!other || (other.ended_at ?? 0) <= (run.ended_at ?? 0)) ended.set(run.story, run);
    }
  }
  for (const story of world.stories.values()) {
    if (story.state !== "open" || story.runs.live > 0 || story.merged != null) continue;
    const last = latest(world, story, ended);
    if (last?.phase !== "over" || last.ended_at == null) continue;
    const outcome = last.outcome ?? "lost";
    // Who stopped a run knows that it ended.
    if (outcome === "stopped" || seen.has(last.run)) continue;
    const failed = outcome !== "completed";
    items.push({
      kind: "ended",
      key: last.run,
      at: last.ended_at,
      story: story.id,
      run: last.run,
      agent: last.agent,
      failed,
      outcome,
      why: story.latest?.run === last.run ? (story.latest.error ?? null) : null,
    });
  }
  return items.sort(byUrgency);
}

/** An ask keeps an agent from going on; a failure, a story; finished work can wait. */
function urgency(item: Item): number {
  if (item.kind === "ask") return 0;
  return item.failed ? 1 : 2;
}

/** Whether something stands still until a person has acted. */
export function blocks(item: Item): boolean {
  return urgency(item) < 2;
}

export function byUrgency(a: Item, b: Item): number {
  return urgency(a) - urgency(b) || a.at - b.at || a.key.localeCompare(b.key);
}

/** Asks keep their item as long as the ask is the same, so that a list of them is not drawn anew for nothing. */
function same(a: Item[], b: Item[]): boolean {
  return (
    a.length === b.length &&
    a.every((item, at) => {
      const other = b[at];
      return (
        other !== undefined &&
        item.key === other.key &&
        item.kind === other.kind &&
        (item.kind === "ask" ? other.kind === "ask" && item.ask === other.ask : sameEnd(item, other))
      );
    })
  );
}

function sameEnd(a: Item, b: Item): boolean {
  return a.kind === "ended" && b.kind === "ended" && a.why === b.why;
}

export function useInbox(): Item[] {
  const seen = useSyncExternalStore(subscribe, () => looked);
  const answered = useAnsweredHere();
  return useLive((world) => inboxItems(world, seen, answered), same);
}

/** How many items block something. */
export function useBlocking(): number {
  return useInbox().filter(blocks).length;
}
