// What the server tells of a run's changes: the list of files first, then one file at a time.
import { takeRaw } from "../../api/client";
import { type Query, useQuery } from "../../api/query";

/** What the changes are counted from: where the branch left the project's own, or where this run began. */
export type Since = "base" | "start";

export interface DiffLine {
  kind: "context" | "added" | "removed" | string;
  text: string;
  no_newline?: boolean;
  /** Its end is missing, because it is too long to be read. */
  cut?: boolean;
  /** Which words differ, in UTF-16 units. */
  marks?: [number, number][];
}

export interface DiffHunk {
  old_start: number;
  old_lines: number;
  new_start: number;
  new_lines: number;
  section: string;
  lines: DiffLine[];
}

export interface ChangedFile {
  path: string;
  old_path?: string | null;
  status: string;
  old_mode: string;
  new_mode: string;
  added: number;
  removed: number;
  binary: boolean;
  /** What agents' programs do with it: `executes` or `obeys`. */
  effect?: string | null;
  hunks: DiffHunk[];
}

export interface Diff {
  branch: string;
  uncommitted: boolean;
  added: number;
  removed: number;
  files: ChangedFile[];
  truncated: boolean;
}

/** As many lines around a change as a file can have. */
const WHOLE = 200_000;

export function readFile(run: string, since: Since, path: string, whole = false): Promise<Diff> {
  const query = new URLSearchParams({ since, path });
  if (whole) query.set("context", String(WHOLE));
  return takeRaw<Diff>(`/runs/${encodeURIComponent(run)}/diff?${query}`);
}

/** Every file with its numbers and without its lines; `turn` asks for the same again. */
export function useFiles(run: string, since: Since, turn: number): Query<Diff> {
  return useQuery(`${run} ${since} ${turn}`, () =>
    takeRaw<Diff>(`/runs/${encodeURIComponent(run)}/diff?since=${since}&files=only`),
  );
}

export interface Wanted {
  run: string;
  since: Since;
  path: string | null;
  whole: boolean;
  turn: number;
}

export function useFile({ run, since, path, whole, turn }: Wanted): Query<ChangedFile | undefined> {
  const key = path === null ? null : `${run} ${since} ${turn} ${whole} ${path}`;
  return useQuery(key, async () => (await readFile(run, since, path ?? "", whole)).files[0]);
}
