// The story that somebody is writing: one draft for the line on the board and for the dialog, kept until it is sent.
import { useSyncExternalStore } from "react";
import { unsent } from "../unsent";
import { USUAL_PRIORITY } from "./spec";

export interface Draft {
  title: string;
  text: string;
  priority: number;
  labels: string[];
  after: string[];
  /** Sent again with the same key, it is added once. */
  key: string;
}

const KEY = "musher.new-story";
/** Longer texts are not kept over a reload. */
const LONGEST = 200_000;

const watchers = new Set<() => void>();
let draft = read();

function fresh(): Draft {
  return { title: "", text: "", priority: USUAL_PRIORITY, labels: [], after: [], key: crypto.randomUUID() };
}

function read(): Draft {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as Partial<Draft>;
    return { ...fresh(), ...kept };
  } catch {
    return fresh();
  }
}

function put(next: Draft): void {
  draft = next;
  const whole = JSON.stringify(next);
  const empty = next.title === "" && next.text === "" && !asksForMore(next);
  if (empty) sessionStorage.removeItem(KEY);
  else if (whole.length <= LONGEST) sessionStorage.setItem(KEY, whole);
  for (const watcher of watchers) watcher();
}

/** Whether it names more than words. */
export function asksForMore({ priority, labels, after }: Draft): boolean {
  return priority !== USUAL_PRIORITY || labels.length > 0 || after.length > 0;
}

/** Another text is another story, with a key of its own. */
export function setDraft(change: Partial<Omit<Draft, "key">>): void {
  put({ ...draft, ...change, key: crypto.randomUUID() });
}

/** Takes away what was sent. */
export function draftSent(sent: Draft): void {
  put({ ...fresh(), title: unsent(draft.title, sent.title), text: unsent(draft.text, sent.text) });
}

export function useDraft(): Draft {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => draft,
  );
}

/** Several lines that were pasted into one: the first is the title, the others the text. */
export function takeLines(pasted: string): boolean {
  const lines = pasted.trim().split(/\r?\n/);
  if (lines.length < 2) return false;
  const rest = lines.slice(1).join("\n").trim();
  const title = `${draft.title} ${lines[0]}`.trim();
  setDraft({ title, text: [draft.text, rest].filter((part) => part !== "").join("\n\n") });
  return true;
}
