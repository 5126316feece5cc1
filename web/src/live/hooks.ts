// How components read the store: a selector, and a new render only when what it selects has changed.
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { api, take } from "../api/client";
import type { Ask, Run, Story } from "../api/words";
import { type Part, store } from "./store";
import { type Stretch, unread } from "./stretch";
import type { Link } from "./team";
import type { World } from "./world";

/** Equal, or lists and plain objects of the same things. */
export function shallow(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, at) => Object.is(item, b[at]));
  }
  if (!isPlain(a) || !isPlain(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.is(a[name], b[name]));
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function useSelected<T>(part: Part, select: () => T, same: (a: T, b: T) => boolean): T {
  const last = useRef<{ version: number; select: () => T; value: T } | null>(null);
  const get = () => {
    const known = last.current;
    const version = store.versions[part];
    if (known && known.version === version && known.select === select) return known.value;
    const value = select();
    const kept = known && same(known.value, value) ? known.value : value;
    last.current = { version, select, value: kept };
    return kept;
  };
  return useSyncExternalStore(store.subscribe, get);
}

/** Something of the world, such as `useLive((world) => world.stories.get(id))`. */
export function useLive<T>(select: (world: World) => T, same: (a: T, b: T) => boolean = shallow): T {
  return useSelected("world", () => select(store.world), same);
}

/** Something of the connection. */
export function useLink<T>(select: (link: Link) => T): T {
  return useSelected("link", () => select(store.link), shallow);
}

export function useStory(id: string): Story | undefined {
  return useLive((world) => world.stories.get(id));
}

/** A run; one that the store does not know, because it is long over, is asked for. */
export function useRun(id: string): { run: Run | undefined; problem: unknown } {
  const run = useLive((world) => world.runs.get(id));
  const ready = useLive((world) => world.ready);
  const missing = ready && run === undefined;
  const [failed, setFailed] = useState<{ id: string; error: unknown } | null>(null);
  useEffect(() => {
    if (!missing) return;
    let wanted = true;
    take(api.GET("/api/v1/runs/{run}", { params: { path: { run: id } } })).then(
      (found) => store.addRun(found as Run),
      (error: unknown) => wanted && setFailed({ id, error }),
    );
    return () => {
      wanted = false;
    };
  }, [id, missing]);
  // What a run has changed is counted after its end.
  const fresh = run?.phase === "over" && Date.now() - (run.ended_at ?? 0) < 60_000;
  useEffect(() => {
    if (!fresh) return;
    const timer = setTimeout(() => {
      const read = take(api.GET("/api/v1/runs/{run}", { params: { path: { run: id } } }));
      read.then(
        (found) => store.addRun(found as Run),
        () => {},
      );
    }, 1_500);
    return () => clearTimeout(timer);
  }, [id, fresh]);
  return { run, problem: failed?.id === id ? failed.error : null };
}

/** What waits for a person, the oldest first. */
export function useOpenAsks(): Ask[] {
  return useLive(openAsks);
}

/** The oldest ask of a run that waits for a person. */
export function useWaiting(run: string): Ask | undefined {
  return useLive((world) => openAsks(world).find((ask) => ask.run === run));
}

export function openAsks(world: World): Ask[] {
  const open = [...world.asks.values()].filter((ask) => ask.state === "open");
  return open.sort((a, b) => a.opened_at - b.opened_at);
}

export interface Transcript extends Stretch {
  older(): void;
  newer(): void;
  toEnd(): void;
  jump(seq: number): Promise<void>;
}

/** A stretch of a run's log, live at its end, as long as the component is there. */
export function useEvents(run: string): Transcript {
  useEffect(() => store.windows.use(run), [run]);
  const stretch = useSelected("windows", () => store.windows.get(run), Object.is);
  const older = useCallback(() => void store.windows.older(run), [run]);
  const newer = useCallback(() => void store.windows.newer(run), [run]);
  const toEnd = useCallback(() => void store.windows.toEnd(run), [run]);
  const jump = useCallback((seq: number) => store.windows.jump(run, seq), [run]);
  return { ...(stretch ?? unread(run)), older, newer, toEnd, jump };
}
