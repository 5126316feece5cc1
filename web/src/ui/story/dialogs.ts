// Which dialog about a story is open. Any page can open one; the shell shows it.
import { useSyncExternalStore } from "react";
import type { Problem } from "../../api/problem";
import type { Question } from "../Confirm";

export type StoryDialog =
  | { kind: "new" }
  | { kind: "start"; story: string; given?: { agent?: string; problem?: Problem } }
  | { kind: "finish"; story: string }
  | { kind: "sure"; question: Question };

let open: StoryDialog | null = null;
const watchers = new Set<() => void>();

export function show(dialog: StoryDialog | null): void {
  open = dialog;
  for (const watcher of watchers) watcher();
}

/** One line for a new story, and more if somebody wants. */
export function newStory(): void {
  show({ kind: "new" });
}

/** Who is to work on a story. */
export function startStory(story: string, given?: { agent?: string; problem?: Problem }): void {
  show({ kind: "start", story, ...(given === undefined ? {} : { given }) });
}

/** How a story is to end: merged, or without that. */
export function finishStory(story: string): void {
  show({ kind: "finish", story });
}

/** Asks once more, and says what will happen. */
export function ask(question: Question): void {
  show({ kind: "sure", question });
}

export function useStoryDialog(): StoryDialog | null {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => open,
  );
}
