// A text that is being written, kept in the browser until it was sent, so that nothing takes it away.
import { useCallback, useEffect, useState } from "react";

/** The draft under a name, and how to change it. Another tab that shows the same name sees the change. */
export function useDraft(name: string): [string, (text: string) => void] {
  const key = `musher.draft.${name}`;
  const [text, setText] = useState(() => localStorage.getItem(key) ?? "");
  useEffect(() => {
    setText(localStorage.getItem(key) ?? "");
    const heard = (event: StorageEvent) => {
      if (event.key === key) setText(event.newValue ?? "");
    };
    window.addEventListener("storage", heard);
    return () => window.removeEventListener("storage", heard);
  }, [key]);
  const put = useCallback(
    (next: string) => {
      setText(next);
      try {
        if (next === "") localStorage.removeItem(key);
        else localStorage.setItem(key, next);
      } catch {
        // The browser has no more room; the text stays in the page.
      }
    },
    [key],
  );
  return [text, put];
}
