// The changed files as a tree of folders, in rows: folders that hold nothing but one folder share a row.
import type { ChangedFile } from "./data";

export type TreeRow =
  | { kind: "folder"; key: string; name: string; depth: number; open: boolean; files: number }
  | { kind: "file"; key: string; name: string; depth: number; file: ChangedFile };

interface Folder {
  path: string;
  folders: Map<string, Folder>;
  files: ChangedFile[];
  count: number;
}

function folder(path: string): Folder {
  return { path, folders: new Map(), files: [], count: 0 };
}

function grown(files: readonly ChangedFile[]): Folder {
  const root = folder("");
  for (const file of files) {
    let at = root;
    at.count += 1;
    for (const name of file.path.split("/").slice(0, -1)) {
      const path = at.path === "" ? name : `${at.path}/${name}`;
      const next = at.folders.get(name) ?? folder(path);
      at.folders.set(name, next);
      next.count += 1;
      at = next;
    }
    at.files.push(file);
  }
  return root;
}

/** Names as people sort them: case does not matter, unless nothing else does. */
function byName(a: string, b: string): number {
  const [x, y] = [a.toLowerCase(), b.toLowerCase()];
  return x < y ? -1 : x > y ? 1 : a < b ? -1 : a > b ? 1 : 0;
}

/** The files in the order in which the tree shows them. */
export function sorted(files: readonly ChangedFile[]): ChangedFile[] {
  return treeRows(files, new Set()).flatMap((row) => (row.kind === "file" ? [row.file] : []));
}

/** The rows of the tree without what lies in closed folders. */
export function treeRows(files: readonly ChangedFile[], closed: ReadonlySet<string>): TreeRow[] {
  const rows: TreeRow[] = [];
  const walk = (at: Folder, depth: number) => {
    for (const [name, first] of [...at.folders].sort(([a], [b]) => byName(a, b))) {
      let [next, words] = [first, name];
      while (next.files.length === 0 && next.folders.size === 1) {
        for (const [inner, only] of next.folders) [next, words] = [only, `${words}/${inner}`];
      }
      const open = !closed.has(next.path);
      rows.push({ kind: "folder", key: `${next.path}/`, name: words, depth, open, files: next.count });
      if (open) walk(next, depth + 1);
    }
    for (const file of [...at.files].sort((a, b) => byName(a.path, b.path))) {
      const name = file.path.slice(file.path.lastIndexOf("/") + 1);
      rows.push({ kind: "file", key: file.path, name, depth, file });
    }
  };
  walk(grown(files), 0);
  return rows;
}

/** The files whose path has all the words in it. */
export function matching(files: readonly ChangedFile[], words: string): readonly ChangedFile[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return files;
  return files.filter((file) => {
    const path = `${file.path} ${file.old_path ?? ""}`.toLowerCase();
    return wanted.every((word) => path.includes(word));
  });
}
