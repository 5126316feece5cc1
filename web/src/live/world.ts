// The project as it is now: stories, runs, asks and what each run is at, folded from the frames of the feed.
import { type Activity, type Ask, askKey, type Project, type Run, type Story } from "../api/words";
import type { Frame } from "./frames";

/** How many runs that are over are kept; older ones are asked for when they are looked at. */
const ENDED = 1000;
/** How many asks that are closed are kept. */
const SETTLED = 200;

export interface World {
  stories: Map<string, Story>;
  runs: Map<string, Run>;
  asks: Map<string, Ask>;
  /** The asks that were closed last, for those who still look at one. */
  settled: Map<string, Ask>;
  activity: Map<string, Activity>;
  project: Project | null;
  /** Whether the whole of it was heard. */
  ready: boolean;
}

/** What an opening has told so far; what it did not tell is gone. */
export interface Opening {
  stories: Set<string>;
  asks: Set<string>;
}

export function emptyWorld(): World {
  return {
    stories: new Map(),
    runs: new Map(),
    asks: new Map(),
    settled: new Map(),
    activity: new Map(),
    project: null,
    ready: false,
  };
}

export function newOpening(): Opening {
  return { stories: new Set(), asks: new Set() };
}

/** Takes one frame in. An opening is given until its `ready`. */
export function apply(world: World, frame: Frame, opening: Opening | null): void {
  switch (frame.event) {
    case "headline":
      headline(world, frame.data as Headline, opening);
      return;
    case "reset":
      if (!("run" in (frame.data as object))) forget(world);
      return;
    case "ready":
      if (opening !== null) sweep(world, opening);
      world.ready = true;
      return;
    case "project":
      world.project = frame.data as Project;
      return;
    default:
      return;
  }
}

type Headline = { story?: Story; run?: Run; ask?: Ask; activity?: Activity; merge?: Mergeable };
/** Whether the finished work of a story would merge, told alone. */
type Mergeable = { story: string; conflict: Story["conflict"] };

function headline(world: World, told: Headline, opening: Opening | null): void {
  if (told.story) {
    opening?.stories.add(told.story.id);
    if (told.story.state === "archived") world.stories.delete(told.story.id);
    else world.stories.set(told.story.id, told.story);
  }
  if (told.merge) {
    const story = world.stories.get(told.merge.story);
    if (story) world.stories.set(story.id, { ...story, conflict: told.merge.conflict });
  }
  if (told.run) putRun(world, told.run);
  if (told.ask) {
    opening?.asks.add(askKey(told.ask));
    putAsk(world, told.ask);
  }
  if (told.activity && world.runs.get(told.activity.run)?.phase !== "over") {
    world.activity.set(told.activity.run, told.activity);
  }
}

/** A run, also one that was asked for. What is over is kept for a while, in the order in which it was heard. */
export function putRun(world: World, run: Run): void {
  world.runs.delete(run.id);
  world.runs.set(run.id, run);
  if (run.phase !== "over") return;
  world.activity.delete(run.id);
  if (world.runs.size <= ENDED) return;
  for (const [id, old] of world.runs) {
    if (old.phase === "over") {
      world.runs.delete(id);
      return;
    }
  }
}

/** A closed ask never opens again, so an older word about it that comes late says nothing. */
function putAsk(world: World, ask: Ask): void {
  const key = askKey(ask);
  const closed = world.settled.get(key);
  if (isOver(ask)) settle(world, key, ask);
  else if (closed === undefined || closed.opened_at !== ask.opened_at || !isOver(closed)) {
    world.settled.delete(key);
    world.asks.set(key, ask);
  }
}

function isOver(ask: Ask): boolean {
  return ask.state === "closed" || ask.state === "answered";
}

/** What was asked is kept as it was shown: a log may be cleaned away by the time at which an ask is closed. */
function settle(world: World, key: string, ask: Ask): void {
  const shown = world.asks.get(key) ?? world.settled.get(key);
  world.asks.delete(key);
  world.settled.delete(key);
  world.settled.set(
    key,
    shown === undefined || ask.body != null ? ask : { ...ask, body: shown.body ?? null },
  );
  for (const old of world.settled.keys()) {
    if (world.settled.size <= SETTLED) return;
    world.settled.delete(old);
  }
}

function forget(world: World): void {
  world.stories.clear();
  world.runs.clear();
  world.asks.clear();
  world.settled.clear();
  world.activity.clear();
  world.ready = false;
}

function sweep(world: World, opening: Opening): void {
  for (const id of world.stories.keys()) if (!opening.stories.has(id)) world.stories.delete(id);
  // What was closed while nobody listened; who closed it is not told by an opening.
  for (const [key, ask] of [...world.asks]) if (!opening.asks.has(key)) settle(world, key, ask);
}
