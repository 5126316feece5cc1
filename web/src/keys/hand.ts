// What a person's hand does: whether it moved on, and whether what it would hit has stood still for long enough.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { say } from "../ui/toast";

/** What is pressed so soon after a change was meant for what stood there before. */
export const STEADY_MS = 400;

const watchers = new Set<() => void>();

/** The person turns to something else. */
export function moved(): void {
  for (const watcher of watchers) watcher();
}

/** Calls back when the person moves: by a key that leads elsewhere, by scrolling, or by pressing outside of `box`. */
export function onMoved(box: string, call: () => void): () => void {
  const press = (event: Event) => {
    if (!(event.target instanceof Element) || event.target.closest(box) === null) call();
  };
  watchers.add(call);
  window.addEventListener("wheel", call, { passive: true });
  window.addEventListener("pointerdown", press);
  return () => {
    watchers.delete(call);
    window.removeEventListener("wheel", call);
    window.removeEventListener("pointerdown", press);
  };
}

export interface Steady {
  /** Whether it has stood there for long enough; if not, that is said. */
  check(): boolean;
  /** The same, to be drawn. */
  ready: boolean;
}

/** Watches what keys and buttons would hit; null while they hit nothing. */
export function useSteady(what: string | null): Steady {
  const since = useRef(Number.POSITIVE_INFINITY);
  const [ready, setReady] = useState<string | null>(null);
  useLayoutEffect(() => {
    since.current = what === null ? Number.POSITIVE_INFINITY : performance.now();
  }, [what]);
  useEffect(() => {
    if (what === null) return;
    const timer = setTimeout(() => setReady(what), STEADY_MS);
    return () => clearTimeout(timer);
  }, [what]);
  const check = useCallback(() => {
    if (performance.now() - since.current >= STEADY_MS) return true;
    say("This came up just now. Check it, then press again.", { tag: "steady", ms: 3_000 });
    return false;
  }, []);
  return { check, ready: what !== null && ready === what };
}
