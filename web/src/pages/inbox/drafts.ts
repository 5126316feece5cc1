// Answers that are being written, by their ask: a row that is scrolled away, a reload or a lost token takes none of them.
import { useCallback, useSyncExternalStore } from "react";
import { type Ask, askKey } from "../../api/words";

/** What is typed and chosen for one ask. */
interface Draft {
  /** Why not. */
  reason?: string;
  /** To each question, in their order. */
  replies?: Reply[];
  /** The fields of a form. */
  fields?: Record<string, string | boolean>;
  /** A form that has no simple fields. */
  json?: string;
}

export interface Reply {
  chosen: string[];
  text: string;
}

const KEY = "musher.answers";
/** So many asks are remembered; older ones were answered by somebody else. */
const REMEMBERED = 100;

const watchers = new Set<() => void>();
let drafts = read();

function read(): ReadonlyMap<string, Draft> {
  try {
    return new Map(JSON.parse(localStorage.getItem(KEY) ?? "[]") as [string, Draft][]);
  } catch {
    return new Map();
  }
}

function tell(next: ReadonlyMap<string, Draft>): void {
  drafts = next;
  for (const watcher of watchers) watcher();
}

function put(next: Map<string, Draft>): void {
  try {
    if (next.size === 0) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, JSON.stringify([...next].slice(-REMEMBERED)));
  } catch {
    // The browser has no more room; it stays in the page.
  }
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

/** The answer was taken, or came too late. */
export function dropDraft(key: string): void {
  if (!drafts.has(key)) return;
  const next = new Map(drafts);
  next.delete(key);
  put(next);
}

const NOTHING: Draft = {};

/** The draft for an ask, and how to change it. */
export function useDraft(ask: Ask): [Draft, (change: Draft) => void] {
  const key = askKey(ask);
  const draft = useSyncExternalStore(subscribe, () => drafts.get(key) ?? NOTHING);
  const change = useCallback(
    (part: Draft) => {
      const next = new Map(drafts);
      next.delete(key);
      put(next.set(key, { ...drafts.get(key), ...part }));
    },
    [key],
  );
  return [draft, change];
}
