// Light or dark: as the system says, unless somebody chose.
export type Theme = "system" | "light" | "dark";

const KEY = "musher.theme";

export function theme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function setTheme(next: Theme): void {
  if (next === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, next);
  applyTheme();
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme();
}

/** The other of the two that are seen. */
export function toggleTheme(): void {
  const dark = theme() === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : theme() === "dark";
  setTheme(dark ? "light" : "dark");
}
