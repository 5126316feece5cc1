// What is typed or chosen, kept in this browser under a name until it is no longer wanted.
import { useCallback, useState } from "react";

function read(key: string, fallback: string): string {
  try {
    return localStorage.getItem(key) ?? fallback;
  } catch {
    return fallback;
  }
}

export function useKept(name: string, fallback = ""): [string, (next: string) => void] {
  const key = `musher.kept.${name}`;
  const [value, setValue] = useState(() => read(key, fallback));
  const put = useCallback(
    (next: string) => {
      setValue(next);
      try {
        if (next === fallback) localStorage.removeItem(key);
        else localStorage.setItem(key, next);
      } catch {
        // The browser has no more room; it stays in the page.
      }
    },
    [key, fallback],
  );
  return [value, put];
}
