// Which files somebody has looked at: a mark holds as long as the file's changes are the same.
import { useSyncExternalStore } from "react";
import type { ChangedFile } from "./data";

interface Mark {
  /** What the list of files tells, which is known without the lines. */
  numbers: string;
  /** Of the lines; absent until they were read. */
  hash: string | null;
}

type Marks = Readonly<Record<string, Mark>>;

const KEY = "musher.viewed";
/** The marks of so many runs are kept. */
const RUNS = 40;
const NONE: Marks = {};

let all = read();
const watchers = new Set<() => void>();

function read(): ReadonlyMap<string, Marks> {
  try {
    return new Map(JSON.parse(localStorage.getItem(KEY) ?? "[]") as [string, Marks][]);
  } catch {
    return new Map();
  }
}

function tell(): void {
  for (const watcher of watchers) watcher();
}

function put(name: string, marks: Marks): void {
  const next = new Map(all);
  next.delete(name);
  if (Object.keys(marks).length > 0) next.set(name, marks);
  all = new Map([...next].slice(-RUNS));
  try {
    localStorage.setItem(KEY, JSON.stringify([...all]));
  } catch {
    // The browser has no more room; the marks stay in the page.
  }
  tell();
}

if (typeof window !== "undefined") {
  window.addEventListener("storage", (event) => {
    if (event.key !== KEY) return;
    all = read();
    tell();
  });
}

function numbers(file: ChangedFile): string {
  return `${file.status} ${file.old_mode} ${file.new_mode} ${file.old_path ?? ""} ${file.added} ${file.removed}`;
}

/** A hash of the lines that changed. Those around them do not count, for more or fewer of them may be shown. */
export function contentHash(file: ChangedFile): string {
  let [a, b] = [0x811c9dc5, 0x1b873593];
  for (const hunk of file.hunks) {
    for (const line of hunk.lines) {
      if (line.kind === "context") continue;
      const text = `${line.kind[0]}${line.text}\n`;
      for (let at = 0; at < text.length; at += 1) {
        const code = text.charCodeAt(at);
        a = Math.imul(a ^ code, 0x01000193);
        b = Math.imul((b << 5) - b + code, 0x85ebca6b) ^ (b >>> 13);
      }
    }
  }
  return (a >>> 0).toString(36) + (b >>> 0).toString(36);
}

export function isViewed(marks: Marks, file: ChangedFile): boolean {
  return marks[file.path]?.numbers === numbers(file);
}

/** Marks a file, or takes the mark away. Lines that are not known yet are settled by `settle`. */
export function setViewed(name: string, file: ChangedFile, viewed: boolean, hash: string | null): void {
  const { [file.path]: _, ...others } = all.get(name) ?? NONE;
  put(name, viewed ? { ...others, [file.path]: { numbers: numbers(file), hash } } : others);
}

/** Holds a mark against the lines as they are now: it goes if they are others than those that were looked at. */
export function settle(name: string, file: ChangedFile): void {
  const mark = all.get(name)?.[file.path];
  if (mark === undefined) return;
  const hash = contentHash(file);
  if (mark.hash === null && mark.numbers === numbers(file)) setViewed(name, file, true, hash);
  else if (mark.hash !== hash) setViewed(name, file, false, null);
}

export function useViewed(name: string): Marks {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => all.get(name) ?? NONE,
  );
}
