// The items as they are drawn: what was settled elsewhere keeps its place until the person moves.
import { useMemo, useRef, useState } from "react";
import { answeredHere } from "./answers";
import { byUrgency, type Item, wasHandledHere } from "./items";

export interface Drawn {
  items: readonly Item[];
  /** Those that no longer wait. */
  gone: ReadonlySet<string>;
  /** The person moves: what is gone leaves, but for the item that is named. */
  tidy(but: string | null): void;
}

const NONE: ReadonlySet<string> = new Set();

export function useKept(live: readonly Item[]): Drawn {
  const drawn = useRef<readonly Item[]>([]);
  const [turn, next] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a turn is when somebody tidied up.
  const made = useMemo(() => {
    const here = new Set(live.map((item) => item.key));
    const answered = answeredHere();
    const left = drawn.current.filter(({ key }) => {
      return !here.has(key) && !answered.has(key) && !wasHandledHere(key);
    });
    if (left.length === 0) return { items: live, gone: NONE };
    const items = [...live, ...left].sort(byUrgency);
    return { items, gone: new Set(left.map((item) => item.key)) };
  }, [live, turn]);
  drawn.current = made.items;
  const tidy = (but: string | null) => {
    const stays = made.items.filter(({ key }) => key === but || !made.gone.has(key));
    if (stays.length === made.items.length) return;
    drawn.current = stays;
    next((n) => n + 1);
  };
  return { ...made, tidy };
}
