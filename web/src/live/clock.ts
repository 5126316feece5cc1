// One clock for all ages and countdowns of a page, by the server's time.
import { useSyncExternalStore } from "react";
import { store } from "./store";

const watchers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;
let now = Date.now();

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher);
  if (timer === null) {
    tick();
    timer = setInterval(tick, 1_000);
  }
  return () => {
    watchers.delete(watcher);
    if (watchers.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

function tick(): void {
  now = serverNow();
  for (const watcher of watchers) watcher();
}

/** What the server's clock shows, Unix milliseconds. */
export function serverNow(): number {
  return Date.now() + store.link.skew;
}

/** The server's time, once a second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}
