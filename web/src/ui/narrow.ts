// Whether the screen has no room for two things beside each other; unless told otherwise, as narrow as a phone's.
import { useSyncExternalStore } from "react";

export function useNarrow(pixels = 640): boolean {
  const query = `(max-width: ${pixels}px)`;
  return useSyncExternalStore(
    (watcher) => {
      const media = matchMedia(query);
      media.addEventListener("change", watcher);
      return () => media.removeEventListener("change", watcher);
    },
    () => matchMedia(query).matches,
  );
}
