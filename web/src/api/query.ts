// What a page reads once, and again when the connection was lost in between.
import { useCallback, useEffect, useRef, useState } from "react";
import { useLink } from "../live/hooks";
import { asProblem, type Problem } from "./problem";

export interface Query<T> {
  data: T | undefined;
  problem: Problem | undefined;
  loading: boolean;
  reload(): void;
}

/** Reads something under a key; a new key reads anew, and a late reply to an old key is dropped. */
export function useQuery<T>(key: string | null, read: () => Promise<T>): Query<T> {
  const [state, set] = useState<{ key: string | null; data?: T; problem?: Problem }>({ key: null });
  const [turn, next] = useState(0);
  const epoch = useLink((link) => link.epoch);
  const latest = useRef(read);
  latest.current = read;
  // The reader is a new function at each render; the key says when it reads something else.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` and `epoch` ask for the same again.
  useEffect(() => {
    if (key === null) return;
    let wanted = true;
    latest.current().then(
      (data) => wanted && set({ key, data }),
      (error: unknown) => {
        if (wanted)
          set((old) => ({ key, data: old.key === key ? old.data : undefined, problem: asProblem(error) }));
      },
    );
    return () => {
      wanted = false;
    };
  }, [key, turn, epoch]);
  const reload = useCallback(() => next((n) => n + 1), []);
  const current = state.key === key ? state : { key };
  return {
    data: current.data,
    problem: current.problem,
    loading: key !== null && current.data === undefined && current.problem === undefined,
    reload,
  };
}
