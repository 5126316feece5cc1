// Asks that are to be answered together: only what was shown can be chosen, and it is answered as it was shown.
import { useState } from "react";
import { type Ask, askKey } from "../../api/words";
import { useLive } from "../../live/hooks";

export interface Selection {
  /** Those that still wait, each as it was shown. */
  asks: readonly Ask[];
  has(key: string): boolean;
  /** Takes one in or out; gives whether it could. */
  toggle(ask: Ask): void;
  clear(): void;
}

/** Whether an ask is answered with a plain yes or no, so that one answer fits several. */
export function isYesOrNo(ask: Ask): boolean {
  return ask.body?.kind === "approval" || ask.body?.kind === "plan";
}

export function useSelection(): Selection {
  const [chosen, set] = useState<ReadonlyMap<string, Ask>>(new Map());
  // What was answered elsewhere, or is no longer what was shown, falls out by itself.
  const asks = useLive((world) => {
    return [...chosen].flatMap(([key, ask]) => {
      const now = world.asks.get(key);
      return now?.state === "open" && now.digest === ask.digest ? [ask] : [];
    });
  });
  return {
    asks,
    has: (key) => asks.some((ask) => askKey(ask) === key),
    toggle: (ask) => {
      const next = new Map(asks.map((one) => [askKey(one), one]));
      if (!next.delete(askKey(ask))) next.set(askKey(ask), ask);
      set(next);
    },
    clear: () => set(new Map()),
  };
}
