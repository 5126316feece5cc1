// Short words at the edge of the page about what was done, with a way back while there is one.
import { useSyncExternalStore } from "react";
import { asProblem } from "../api/problem";
import { Button } from "./Button";
import { plain } from "./plain";
import { capital } from "./states";

export interface Toast {
  id: number;
  words: string;
  tone: "plain" | "bad";
  undo?: () => void;
  /** Another one with the same tag takes its place. */
  tag?: string;
}

const SHOWN = 6_000;
let toasts: readonly Toast[] = [];
let count = 0;
const watchers = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const watcher of watchers) watcher();
}

export function dismiss(id: number): void {
  set(toasts.filter((toast) => toast.id !== id));
}

/** Says something in passing. */
export function say(
  words: string,
  options: { tone?: Toast["tone"]; undo?: () => void; ms?: number; tag?: string } = {},
): number {
  count += 1;
  const id = count;
  const { tone = "plain", undo, ms = SHOWN, tag } = options;
  const others = tag === undefined ? toasts : toasts.filter((toast) => toast.tag !== tag);
  const toast = {
    id,
    words,
    tone,
    ...(undo === undefined ? {} : { undo }),
    ...(tag === undefined ? {} : { tag }),
  };
  set([...others.slice(-3), toast]);
  setTimeout(() => dismiss(id), ms);
  return id;
}

/** Says what went wrong and what to do about it. */
export function complain(error: unknown): void {
  const problem = asProblem(error);
  say(`${capital(problem.detail)}. ${capital(problem.hint)}.`, { tone: "bad", ms: 12_000 });
}

/** Does something, and complains if it fails. Gives whether it worked. */
export async function attempt(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}

/** How long something can be taken back before it is sent. */
export const UNDO_MS = 5_000;

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

export function Toasts() {
  const all = useSyncExternalStore(subscribe, () => toasts);
  return (
    <section className="toasts" aria-label="Notices">
      {all.map((toast) => (
        <div
          key={toast.id}
          className={`toast ${toast.tone}`}
          role={toast.tone === "bad" ? "alert" : "status"}
        >
          <span>{plain(toast.words)}</span>
          {toast.undo && (
            <Button
              kind="quiet"
              hint="z"
              onPress={() => {
                toast.undo?.();
                dismiss(toast.id);
              }}
            >
              Undo
            </Button>
          )}
          <Button kind="icon" label="Close" onPress={() => dismiss(toast.id)}>
            ✕
          </Button>
        </div>
      ))}
    </section>
  );
}

/** Takes back what can be taken back, the latest first. */
export function undoLast(): void {
  const last = toasts.findLast((toast) => toast.undo !== undefined);
  if (!last) return;
  last.undo?.();
  dismiss(last.id);
}
