// Answers on their way: each waits a moment, in which it can be taken back, and is then sent once.
import { useSyncExternalStore } from "react";
import { api, take } from "../../api/client";
import { asProblem } from "../../api/problem";
import { token } from "../../api/token";
import { type Answer, type Ask, askKey } from "../../api/words";
import { serverNow } from "../../live/clock";
import { store } from "../../live/store";
import { complain, dismiss, say } from "../../ui/toast";
import { dropDraft } from "./drafts";

/** How long an answer can be taken back. */
const HOLD = 3_000;
/** An ask that is due sooner than this is answered at once. */
const HASTE = 10_000;
/** An answer that was sent leaves the list by the feed; if that does not come, the ask is shown again. */
const SETTLED = 15_000;

/** A key that is pressed so soon after was meant for the item before. */
const STARTLED = 700;

interface Held {
  ask: Ask;
  answer: Answer;
  timer: ReturnType<typeof setTimeout>;
  toast: number;
}

const waiting = new Map<string, Held>();
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

/** Answers an ask, with a moment to take it back. */
export function give(ask: Ask, answer: Answer, words: string): void {
  const key = askKey(ask);
  if (waiting.has(key)) return;
  if (Date.now() - changedAt < STARTLED) {
    say("Another item took this place just now. Look at it, and press again.");
    return;
  }
  show(key, false);
  if (ask.deadline != null && ask.deadline - serverNow() < HASTE) {
    void send(ask, answer);
    return;
  }
  const toast = say(words, { undo: () => takeBack(key), ms: HOLD });
  const timer = setTimeout(() => flush(key), HOLD);
  waiting.set(key, { ask, answer, timer, toast });
}

function takeBack(key: string): void {
  const held = waiting.get(key);
  if (!held) return;
  clearTimeout(held.timer);
  waiting.delete(key);
  show(key, true);
}

function flush(key: string): void {
  const held = waiting.get(key);
  if (!held) return;
  clearTimeout(held.timer);
  waiting.delete(key);
  dismiss(held.toast);
  void send(held.ask, held.answer);
}

async function send(ask: Ask, answer: Answer): Promise<void> {
  const key = askKey(ask);
  const path = { run: ask.run, ask: ask.ask };
  try {
    const body = { answer, shown: ask.digest };
    await take(api.POST("/api/v1/runs/{run}/asks/{ask}/answer", { params: { path }, body }));
    dropDraft(key);
    setTimeout(() => show(key, true), SETTLED);
  } catch (error) {
    show(key, true);
    const { code } = asProblem(error);
    if (code === "already_answered" || code === "ask_closed" || code === "no_such_ask") {
      dropDraft(key);
      say("Somebody else was first: this was answered already. Your answer was not used.", {
        tone: "bad",
        ms: 12_000,
      });
    } else {
      complain(error);
    }
  }
}

/** A page that goes away sends what it holds; the browser does it after the page is gone. */
function sendAll(): void {
  for (const [key, { ask, answer, timer }] of waiting) {
    clearTimeout(timer);
    waiting.delete(key);
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

window.addEventListener("pagehide", sendAll);

/** Tells when an ask that is being looked at was settled by somebody else. */
export function watchElsewhere(ask: Ask): () => void {
  const key = askKey(ask);
  return store.subscribe(() => {
    if (!store.world.ready || store.world.asks.has(key) || hidden.has(key) || told.has(key)) return;
    told.add(key);
    changedAt = Date.now();
    say(`What ${ask.agent} asked was settled elsewhere.`);
  });
}

const told = new Set<string>();
/** When an item went away under somebody's hand, so that another stood in its place. */
let changedAt = 0;
