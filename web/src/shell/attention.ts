// Calls a person when an agent needs one: a sound and a notice while nobody looks, words for those who listen.
import { serverNow } from "../live/clock";
import { store } from "../live/store";
import { blocks, type Item, inboxItems } from "../pages/inbox/items";
import { asked } from "../ui/asked";
import { oneLine } from "../ui/plain";

/** What a person can be called for. */
export type CallKind = "approval" | "question" | "failed" | "finished";

export interface Notices {
  sound: boolean;
  notice: boolean;
  /** No sound and no notice from one hour of the day to another, such as 22 to 7. */
  quiet: { from: number; to: number } | null;
  /** For what. */
  kinds: Record<CallKind, boolean>;
}

const KINDS: Notices["kinds"] = { approval: true, question: true, failed: true, finished: false };

const KEY = "musher.notices";
const FOCUS = "musher.focus";
/** A timer of a browser cannot be set for longer; it is set again then. */
const MOST_WAIT = 2 ** 31 - 1;

export function notices(): Notices {
  const fallback: Notices = { sound: true, notice: true, quiet: null, kinds: KINDS };
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Notices>;
    return { ...fallback, ...kept, kinds: { ...KINDS, ...kept.kinds } };
  } catch {
    return fallback;
  }
}

export function setNotices(next: Notices): void {
  localStorage.setItem(KEY, JSON.stringify(next));
}

/** Whether the clock says that nobody wants to be called. */
export function isQuiet(quiet: Notices["quiet"], hour: number): boolean {
  if (quiet === null || quiet.from === quiet.to) return false;
  const { from, to } = quiet;
  return from < to ? hour >= from && hour < to : hour >= from || hour < to;
}

/** Two soft tones, made here, so that nothing has to be fetched. */
export function chime(): void {
  try {
    const audio = new AudioContext();
    const now = audio.currentTime;
    [660, 880].forEach((pitch, at) => {
      const tone = audio.createOscillator();
      const volume = audio.createGain();
      tone.frequency.value = pitch;
      volume.gain.setValueAtTime(0.0001, now + at * 0.14);
      volume.gain.exponentialRampToValueAtTime(0.12, now + at * 0.14 + 0.02);
      volume.gain.exponentialRampToValueAtTime(0.0001, now + at * 0.14 + 0.3);
      tone.connect(volume).connect(audio.destination);
      tone.start(now + at * 0.14);
      tone.stop(now + at * 0.14 + 0.32);
    });
    setTimeout(() => void audio.close(), 1_000);
  } catch {
    // A browser that plays nothing before somebody has clicked.
  }
}

/** A notice of the system, if somebody has allowed it. */
export function notify(title: string, body: string, path: string): void {
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  const notice = new Notification(title, { body, tag: path });
  notice.onclick = () => {
    window.focus();
    history.pushState(null, "", path);
    dispatchEvent(new PopStateEvent("popstate"));
    notice.close();
  };
}

export interface AttentionEvents {
  /** Words for the live region. */
  say(words: string): void;
}

/** Watches for new asks. Call what it returns to end it. */
export function watchAttention(events: AttentionEvents): () => void {
  let known: Set<string> | null = null;
  const reminded = new Set<string>();
  let reminder: ReturnType<typeof setTimeout> | undefined;
  const focused = new Set<string>();
  const me = crypto.randomUUID();
  const channel = "BroadcastChannel" in window ? new BroadcastChannel(FOCUS) : null;
  const tell = () => channel?.postMessage({ tab: me, focused: document.hasFocus() });
  // A page that is left in front is not told that it loses the focus.
  const leave = () => channel?.postMessage({ tab: me, focused: false });
  if (channel) {
    channel.onmessage = ({ data }: MessageEvent<{ tab: string; focused: boolean }>) => {
      if (data.focused) focused.add(data.tab);
      else focused.delete(data.tab);
    };
  }
  window.addEventListener("focus", tell);
  window.addEventListener("blur", tell);
  window.addEventListener("pagehide", leave);
  window.addEventListener("pageshow", tell);
  tell();
  const look = () => {
    const items = inboxItems(store.world);
    paint(items.filter(blocks).length);
    if (!store.world.ready) return;
    // What was known once is never new again, also when it comes back into the inbox.
    const first = known === null;
    const fresh = known === null ? [] : items.filter((item) => !known?.has(item.key));
    known ??= new Set();
    for (const item of items) known.add(item.key);
    const late = overdue(items);
    // Who opens the page sees what has waited.
    const all = first ? [] : [...fresh, ...late.filter((item) => !fresh.includes(item))];
    if (all.length === 0) return;
    events.say(words(all));
    const looked = document.hasFocus() || focused.size > 0;
    if (store.leads && !looked) call(all);
  };
  /** The asks whose reminder is due, each once; looks again when the next one is. */
  const overdue = (items: Item[]): Item[] => {
    clearTimeout(reminder);
    const waiting = items.filter((item) => !reminded.has(item.key) && remindAt(item) !== null);
    const now = serverNow();
    const late = waiting.filter((item) => (remindAt(item) ?? 0) <= now);
    for (const item of late) reminded.add(item.key);
    const next = Math.min(...waiting.map((item) => remindAt(item) ?? 0).filter((at) => at > now));
    if (Number.isFinite(next)) reminder = setTimeout(look, Math.min(next - now, MOST_WAIT));
    return late;
  };
  const stop = store.subscribe(look);
  look();
  return () => {
    stop();
    clearTimeout(reminder);
    leave();
    channel?.close();
    window.removeEventListener("focus", tell);
    window.removeEventListener("blur", tell);
    window.removeEventListener("pagehide", leave);
    window.removeEventListener("pageshow", tell);
  };
}

/** When a person is reminded of it, if at all. */
function remindAt(item: Item): number | null {
  return item.kind === "ask" ? (item.ask.remind_at ?? null) : null;
}

export function kindOf(item: Item): CallKind {
  if (item.kind === "ended") return item.failed ? "failed" : "finished";
  return item.ask.body?.kind === "approval" ? "approval" : "question";
}

function call(all: Item[]): void {
  const wanted = notices();
  const fresh = all.filter((item) => wanted.kinds[kindOf(item)]);
  const first = fresh[0];
  if (first === undefined || isQuiet(wanted.quiet, new Date().getHours())) return;
  if (wanted.sound) chime();
  if (!wanted.notice) return;
  const path = fresh.length === 1 ? `/inbox/${first.key}` : "/inbox";
  notify(fresh.length === 1 ? title(first) : `${fresh.length} things need you`, words(fresh), path);
}

function title(item: Item): string {
  if (item.kind === "ask") return `${item.ask.agent} needs you`;
  return `Story ${item.story}: a run has ${item.failed ? "failed" : "finished"}`;
}

function words(fresh: Item[]): string {
  const first = fresh[0];
  if (first === undefined) return "";
  const more = fresh.length > 1 ? `, and ${fresh.length - 1} more` : "";
  const about =
    first.kind === "ask"
      ? `${first.ask.agent} asks: ${oneLine(asked(first.ask), 120)}`
      : `Run ${first.run} on story ${first.story}: ${first.outcome.replaceAll("_", " ")}`;
  return `${about}${more}`;
}

let painted = -1;

/** The count in the title and in the icon: what blocks, and nothing else. */
function paint(count: number): void {
  if (count === painted) return;
  painted = count;
  const dot = count === 0 ? "" : '<circle cx="24" cy="8" r="8" fill="#d92d20"/>';
  const number =
    count === 0
      ? ""
      : `<text x="24" y="12" font-size="12" font-family="sans-serif" text-anchor="middle" fill="#fff">${count > 9 ? "9+" : count}</text>`;
  const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#2f5d8a"/><path d="M8 24V10l8 8 8-8v14" fill="none" stroke="#fff" stroke-width="3" stroke-linejoin="round" stroke-linecap="round"/>${dot}${number}</svg>`;
  const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  if (link) link.href = `data:image/svg+xml,${encodeURIComponent(icon)}`;
  retitle();
}

let page = "Musher";

/** What the page is called; the count goes before it. */
export function setPageTitle(words: string): void {
  page = words;
  retitle();
}

function retitle(): void {
  document.title = `${painted > 0 ? `(${painted}) ` : ""}${page === "Musher" ? page : `${page} · Musher`}`;
}
