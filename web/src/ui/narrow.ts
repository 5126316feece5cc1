// Whether the screen is as narrow as a phone's, as the style sheets have it.
import { useSyncExternalStore } from "react";

const NARROW = "(max-width: 640px)";

export function useNarrow(): boolean {
  return useSyncExternalStore(
    (watcher) => {
      const query = matchMedia(NARROW);
      query.addEventListener("change", watcher);
      return () => query.removeEventListener("change", watcher);
    },
    () => matchMedia(NARROW).matches,
  );
}
