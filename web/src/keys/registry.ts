// Every action that can be done now, with its key and its words: pages add theirs while they are shown.
import { useEffect, useRef, useSyncExternalStore } from "react";
import { moved } from "./hand";

export interface Action {
  /** A name that stays, such as `inbox.approve`. */
  id: string;
  /** What it does, in a few words. */
  words: string;
  /** The keys that do it: `a`, `A`, `?`, `Enter`, `Mod+k`, or two in a row as `g i`. */
  keys?: string[];
  /** How the keys are written where they are shown, if not one by one. */
  shown?: string;
  /** It cannot be done now, and is not offered. */
  off?: boolean;
  /** It goes on while the key is held down. */
  repeat?: boolean;
  /** It works while somebody types. */
  typing?: boolean;
  /** It is about what is shown, and leads nowhere else. */
  stays?: boolean;
  run(key: string): void;
}

export interface Group {
  /** Where it belongs, such as `Inbox`. */
  name: string;
  actions: Action[];
  /** It works inside a dialog, where nothing else does. */
  modal: boolean;
}

const groups = new Set<{ current: Group }>();
let list: readonly Group[] = [];
const watchers = new Set<() => void>();

function changed(): void {
  list = [...groups].map((group) => group.current);
  for (const watcher of watchers) watcher();
}

/** Offers actions as long as the component is there. What was offered last is heard first. */
export function useActions(name: string, actions: Action[], options: { modal?: boolean } = {}): void {
  const group = useRef<Group>({ name, actions, modal: false });
  group.current = { name, actions, modal: options.modal ?? false };
  const words = actions.map((action) => `${action.id}|${action.words}|${action.off ?? false}`).join();
  useEffect(() => {
    groups.add(group);
    return () => {
      groups.delete(group);
      changed();
    };
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the sheet and the palette show the words.
  useEffect(changed, [words, name]);
}

/** All groups, the latest last. */
export function useGroups(): readonly Group[] {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => list,
  );
}

export function findAction(id: string): Action | undefined {
  for (const { current } of groups) {
    const found = current.actions.find((action) => action.id === id);
    if (found) return found;
  }
  return undefined;
}

/** How a key is written on the screen. */
export function keyLabel(action: Action): string {
  return action.shown ?? action.keys?.map(label).join(" / ") ?? "";
}

function label(key: string): string {
  const mac = typeof navigator !== "undefined" && /Mac|iP/.test(navigator.platform);
  return key
    .replace("Mod+", mac ? "⌘" : "Ctrl+")
    .replace("Escape", "Esc")
    .replace("ArrowUp", "↑")
    .replace("ArrowDown", "↓");
}

/** The second key of two in a row comes within this. */
const PAUSE = 1_200;
let prefix: { key: string; at: number } | null = null;
/** A key that does something by itself and may also be the first of two waits this long for the second. */
const DOUBT = 400;
let waiting: { id: string; key: string; timer: ReturnType<typeof setTimeout> } | null = null;

/** Does what waits for a second key, unless that has come. */
function settle(wanted: boolean): void {
  if (waiting === null) return;
  const { id, key, timer } = waiting;
  waiting = null;
  prefix = null;
  clearTimeout(timer);
  if (wanted) act(findAction(id), key);
}

/** Finds what a key does and does it. */
export function press(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const name = (event.ctrlKey || event.metaKey ? "Mod+" : "") + event.key;
  if (["Shift", "Control", "Meta", "Alt"].includes(event.key)) return;
  const target = event.target instanceof HTMLElement ? event.target : null;
  const typing = target?.closest("input, textarea, select, [contenteditable=true], [role=combobox]") != null;
  const native = target?.closest("button, a, summary, [role=menuitem], [role=option]") != null;
  if (native && (name === "Enter" || name === " ")) return;
  const modal = document.querySelector(".overlay, .popover") !== null;
  // By when the keys were pressed: a busy page hears the second one late.
  const before = prefix !== null && event.timeStamp - prefix.at < PAUSE ? prefix.key : null;
  prefix = null;
  const open = [...groups]
    .reverse()
    .map((group) => group.current)
    .filter((group) => !modal || group.modal);
  const actions = open.flatMap((group) => group.actions).filter((action) => !action.off);
  const fits = (action: Action, key: string) => {
    return action.keys?.includes(key) && (!typing || action.typing) && (!event.repeat || action.repeat);
  };
  const pair = before === null ? undefined : actions.find((action) => fits(action, `${before} ${name}`));
  settle(pair === undefined);
  const found = pair ?? actions.find((action) => fits(action, name));
  const first = !typing && actions.some((action) => action.keys?.some((key) => key.startsWith(`${name} `)));
  if (found) event.preventDefault();
  if (pair === undefined && first) {
    prefix = { key: name, at: event.timeStamp };
    if (found) waiting = { id: found.id, key: name, timer: setTimeout(() => settle(true), DOUBT) };
  } else act(found, name);
}

function act(action: Action | undefined, key: string): void {
  if (action === undefined) return;
  if (action.stays !== true) moved();
  action.run(key);
}
