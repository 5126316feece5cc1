// The editor that opens folders and files of this machine, chosen by the person and kept in the browser.

const KEY = "musher.editor";

export interface Editor {
  id: string;
  name: string;
  /** The address that opens a path, which begins with a slash. */
  address(path: string): string;
}

function below(scheme: string) {
  return (path: string) => `${scheme}://file${encoded(path)}`;
}

function encoded(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

export const EDITORS: readonly Editor[] = [
  { id: "vscode", name: "VS Code", address: below("vscode") },
  { id: "cursor", name: "Cursor", address: below("cursor") },
  { id: "windsurf", name: "Windsurf", address: below("windsurf") },
  { id: "zed", name: "Zed", address: below("zed") },
  {
    id: "idea",
    name: "IntelliJ IDEA",
    address: (path) => `idea://open?file=${encodeURIComponent(path)}`,
  },
];

/** The chosen editor; none as long as nobody has chosen, because a link that opens nothing is worse than none. */
export function editor(): Editor | null {
  const id = localStorage.getItem(KEY);
  return EDITORS.find((one) => one.id === id) ?? null;
}

export function chooseEditor(id: string | null): void {
  if (id === null) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, id);
}
