// Comments on a run's changes: gathered in the browser, where nothing loses them, and sent to the agent as one prompt.
import { useCallback, useSyncExternalStore } from "react";
import type { Side } from "./rows";

export interface Comment {
  id: string;
  path: string;
  side: Side;
  from: number;
  to: number;
  /** The lines it is about, with the signs of a diff. */
  quote: string;
  text: string;
}

export interface Review {
  comments: readonly Comment[];
  /** Words for all of them. */
  summary: string;
}

const NONE: Review = { comments: [], summary: "" };
const PREFIX = "musher.review.";
const kept = new Map<string, Review>();
const watchers = new Set<() => void>();

function read(run: string): Review {
  try {
    const found = JSON.parse(localStorage.getItem(PREFIX + run) ?? "null") as Review | null;
    return found !== null && Array.isArray(found.comments) ? { ...NONE, ...found } : NONE;
  } catch {
    return NONE;
  }
}

export function review(run: string): Review {
  const known = kept.get(run) ?? read(run);
  kept.set(run, known);
  return known;
}

function put(run: string, next: Review): void {
  kept.set(run, next);
  try {
    if (next.comments.length === 0 && next.summary === "") localStorage.removeItem(PREFIX + run);
    else localStorage.setItem(PREFIX + run, JSON.stringify(next));
  } catch {
    // The browser has no more room; the comments stay in the page.
  }
  for (const watcher of watchers) watcher();
}

if (typeof window !== "undefined") {
  window.addEventListener("storage", (event) => {
    if (event.key === null || !event.key.startsWith(PREFIX)) return;
    kept.delete(event.key.slice(PREFIX.length));
    for (const watcher of watchers) watcher();
  });
}

export function addComment(run: string, comment: Comment): void {
  const now = review(run);
  put(run, { ...now, comments: [...now.comments, comment] });
}

export function editComment(run: string, id: string, text: string): void {
  const now = review(run);
  put(run, { ...now, comments: now.comments.map((one) => (one.id === id ? { ...one, text } : one)) });
}

export function removeComment(run: string, id: string): void {
  const now = review(run);
  put(run, { ...now, comments: now.comments.filter((one) => one.id !== id) });
}

export function setSummary(run: string, summary: string): void {
  put(run, { ...review(run), summary });
}

/** Forgets what was sent. */
export function clearReview(run: string): void {
  put(run, NONE);
}

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

export function useReview(run: string): Review {
  return useSyncExternalStore(
    subscribe,
    useCallback(() => review(run), [run]),
  );
}

/** Those that say something. */
export function written(now: Review): Comment[] {
  return now.comments.filter((comment) => comment.text.trim() !== "");
}

/** Where a comment is, in words. */
export function placeOf(comment: Comment): string {
  const lines = comment.from === comment.to ? `line ${comment.to}` : `lines ${comment.from}–${comment.to}`;
  return comment.side === "old" ? `${lines} before the change` : lines;
}

/** A fence that nothing in the text can close. */
function fence(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map((found) => found[0].length));
  return "`".repeat(Math.max(3, longest + 1));
}

/** The one prompt that tells an agent all comments. */
export function asPrompt(now: Review): string {
  const comments = written(now);
  const order = [...comments].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.to - b.to));
  const parts = order.map((comment, at) => {
    const marks = fence(comment.quote);
    return `${at + 1}. ${comment.path}, ${placeOf(comment)}\n${marks}diff\n${comment.quote}\n${marks}\n${comment.text.trim()}`;
  });
  const count = comments.length === 1 ? "a comment" : `${comments.length} comments`;
  const head = `I have reviewed your changes and have ${count}. Please address each of them.`;
  return [head, ...(now.summary.trim() === "" ? [] : [now.summary.trim()]), ...parts].join("\n\n");
}
