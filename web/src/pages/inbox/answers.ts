// Answers on their way: each carries the digest of what was shown, waits a moment in which it can be taken back, and is
// then sent once.
import { useSyncExternalStore } from "react";
import { api, take } from "../../api/client";
import { asProblem } from "../../api/problem";
import { token } from "../../api/token";
import { type Answer, type Ask, askKey } from "../../api/words";
import { serverNow } from "../../live/clock";
import { store } from "../../live/store";
import { askSubject } from "../../ui/asked";
import { oneLine } from "../../ui/plain";
import { sentence } from "../../ui/states";
import { complain, dismiss, say } from "../../ui/toast";
import { dropDraft } from "./drafts";

/** How long an answer can be taken back. */
const HOLD = 3_000;
/** An ask that is due sooner than this is answered at once. */
const HASTE = 10_000;
/** An answer that was sent leaves the list by the feed; if that does not come, the ask is shown again. */
const SETTLED = 15_000;
/** So much of a command is named in a notice. */
const NAMED = 90;

/** An answer to one ask, as that was shown. */
export interface Given {
  ask: Ask;
  answer: Answer;
}

interface Held extends Given {
  /** What was given together is taken back together. */
  group: number;
}

const waiting = new Map<string, Held>();
const groups = new Map<number, { timer: ReturnType<typeof setTimeout>; toast: number }>();
let groupCount = 0;
let hidden: ReadonlySet<string> = new Set();
const watchers = new Set<() => void>();

function show(key: string, shown: boolean): void {
  const next = new Set(hidden);
  if (shown) next.delete(key);
  else next.add(key);
  hidden = next;
  for (const watcher of watchers) watcher();
}

/** The asks that were answered here and are not settled yet. */
export function answeredHere(): ReadonlySet<string> {
  return hidden;
}

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

export function useAnsweredHere(): ReadonlySet<string> {
  return useSyncExternalStore(subscribe, answeredHere);
}

/** The asks whose answer by this tab was taken. */
const mine = new Set<string>();

export function isMine(key: string): boolean {
  return mine.has(key);
}

/** Answers an ask, with a moment to take it back. Gives whether it could be. */
export function give(ask: Ask, answer: Answer, verb: string): boolean {
  return giveAll([{ ask, answer }], verb);
}

/** Answers several asks, each for itself, with one moment to take all of them back. */
export function giveAll(all: readonly Given[], verb: string): boolean {
  const fit = all.filter(({ ask }) => stands(ask));
  if (fit.length === 0) return false;
  const [first] = fit;
  const named = oneLine(first === undefined ? "" : askSubject(first.ask), NAMED);
  const words = fit.length === 1 ? `${verb}: ${named}` : `${verb} ${fit.length} asks: ${named}, …`;
  for (const { ask } of fit) show(askKey(ask), false);
  const due = Math.min(...fit.map(({ ask }) => ask.deadline ?? Number.POSITIVE_INFINITY));
  if (due - serverNow() < HASTE) {
    say(words, { ms: HOLD });
    for (const one of fit) void send(one);
    return true;
  }
  groupCount += 1;
  const group = groupCount;
  const toast = say(words, { undo: () => takeBack(group), ms: HOLD });
  groups.set(group, { toast, timer: setTimeout(() => flush(group), HOLD) });
  for (const one of fit) waiting.set(askKey(one.ask), { ...one, group });
  return true;
}

/** Whether an ask is still open, and is what was shown; if not, that is said. */
function stands(ask: Ask): boolean {
  const key = askKey(ask);
  if (waiting.has(key) || hidden.has(key)) return false;
  const now = store.world.asks.get(key);
  if (store.world.ready && now?.state !== "open") {
    sayAnswered(ask);
    return false;
  }
  if (now !== undefined && now.digest !== ask.digest) {
    say("Not sent, because what is asked has changed. Check it, then answer again.", { tag: "steady" });
    return false;
  }
  return true;
}

export function sayAnswered(ask: Ask): void {
  say(`Not sent, because it is answered already: ${oneLine(askSubject(ask), NAMED)}`, { tag: "steady" });
}

/** The answers of a group that have not been sent, which are then no longer held. */
function release(group: number): Held[] {
  clearTimeout(groups.get(group)?.timer);
  groups.delete(group);
  const found = [...waiting].filter(([, held]) => held.group === group);
  for (const [key] of found) waiting.delete(key);
  return found.map(([, held]) => held);
}

function takeBack(group: number): void {
  for (const { ask } of release(group)) show(askKey(ask), true);
}

function flush(group: number): void {
  const toast = groups.get(group)?.toast;
  if (toast !== undefined) dismiss(toast);
  for (const held of release(group)) void send(held);
}

async function send({ ask, answer }: Given): Promise<void> {
  const key = askKey(ask);
  const path = { run: ask.run, ask: ask.ask };
  try {
    const body = { answer, shown: ask.digest };
    await take(api.POST("/api/v1/runs/{run}/asks/{ask}/answer", { params: { path }, body }));
    mine.add(key);
    dropDraft(key);
    setTimeout(() => show(key, true), SETTLED);
  } catch (error) {
    show(key, true);
    const { code, detail, hint } = asProblem(error);
    const what = oneLine(askSubject(ask), NAMED);
    if (code === "already_answered" || code === "ask_closed" || code === "no_such_ask") {
      dropDraft(key);
      const words = `Your answer was not used, it was answered elsewhere first: ${what}. ${sentence(detail)}`;
      say(words, { tone: "bad", ms: 12_000 });
    } else if (code === "ask_not_shown") {
      say(`Not sent: ${what}. ${sentence(detail)} ${sentence(hint)}`, { tone: "bad", ms: 12_000 });
    } else if (code === "unreachable") {
      const words = `Not sent, because the server cannot be reached: ${what}. It waits for your answer again.`;
      say(words, { tone: "bad", ms: 12_000 });
    } else {
      complain(error);
    }
  }
}

/** A page that goes away sends what it holds; the browser does it after the page is gone. */
function sendAll(): void {
  for (const group of [...groups.keys()]) {
    for (const { ask, answer } of release(group)) {
      void fetch(`/api/v1/runs/${ask.run}/asks/${encodeURIComponent(ask.ask)}/answer`, {
        method: "POST",
        keepalive: true,
        headers: {
          authorization: `Bearer ${token()}`,
          "content-type": "application/json",
          "idempotency-key": crypto.randomUUID(),
        },
        body: JSON.stringify({ answer, shown: ask.digest }),
      });
    }
  }
}

window.addEventListener("pagehide", sendAll);
