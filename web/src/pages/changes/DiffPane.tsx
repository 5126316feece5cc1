// The lines of one file, with a cursor for the keys and comments where they belong.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useActions } from "../../keys/registry";
import { usePainter } from "../../ui/colours";
import { plain } from "../../ui/plain";
import { Empty } from "../../ui/states";
import { type ListHandle, VirtualList } from "../../ui/VirtualList";
import { CommentBox } from "./CommentBox";
import { addComment, type Comment, review } from "./comments";
import { LineRow } from "./DiffRow";
import type { ChangedFile } from "./data";
import { type Anchor, anchorOf, type DiffRow, fileRows, placeBetween, rowIsAt, withComments } from "./rows";

interface Props {
  run: string;
  file: ChangedFile;
  split: boolean;
  comments: readonly Comment[];
}

/** Where the keys are, and from where on lines are chosen with them. */
interface Cursor {
  at: Anchor;
  from: Anchor | null;
}

function anchorOfRow(row: DiffRow | undefined): Anchor | null {
  if (row?.t !== "line") return null;
  const cell = row.cells[1] ?? row.cells[0];
  return cell == null ? null : anchorOf(cell);
}

export function DiffPane({ run, file, split, comments }: Props) {
  const list = useRef<ListHandle>(null);
  const [cursor, setCursor] = useState<Cursor | null>(null);
  const [byKeys, setByKeys] = useState(false);
  const [open, setOpen] = useState<string | null>(null);
  const painter = usePainter(file.path);
  const lines = useMemo(() => fileRows(file, split), [file, split]);
  const rows = useMemo(() => withComments(lines, comments), [lines, comments]);
  const at = cursor === null ? -1 : rows.findIndex((row) => rowIsAt(row, cursor.at));
  const start = cursor?.from ? rows.findIndex((row) => rowIsAt(row, cursor.from ?? cursor.at)) : at;
  const show = (index: number) => list.current?.scrollToIndex(index, { align: "auto" });

  const move = (step: number, more: boolean) => {
    let next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step;
    while (rows[next] !== undefined && rows[next]?.t !== "line") next += step;
    const anchor = anchorOfRow(rows[next]);
    if (anchor === null) return;
    setByKeys(true);
    setCursor({ at: anchor, from: more ? (cursor?.from ?? cursor?.at ?? anchor) : null });
    show(next);
  };
  const moveHunk = (step: number) => {
    let next = at < 0 ? -1 : at;
    if (step < 0) while (next > 0 && rows[next]?.t !== "hunk") next -= 1;
    do next += step;
    while (rows[next] !== undefined && rows[next]?.t !== "hunk");
    const line = rows.findIndex((row, index) => index > next && row.t === "line");
    const anchor = anchorOfRow(rows[line]);
    if (next < 0 || anchor === null) return;
    setByKeys(true);
    setCursor({ at: anchor, from: null });
    list.current?.scrollToIndex(next, { align: "start" });
  };
  const comment = useCallback(
    (to: Anchor, from: Anchor) => {
      const place = placeBetween(lines, from, to);
      if (place === null) return;
      const known = review(run).comments.find(
        (one) =>
          one.path === file.path && one.side === place.side && one.to === place.to && one.from === place.from,
      );
      const id = known?.id ?? crypto.randomUUID();
      if (known === undefined) addComment(run, { id, path: file.path, ...place, text: "" });
      setOpen(id);
    },
    [lines, run, file.path],
  );
  const pick = useCallback(
    (anchor: Anchor, more: boolean) => {
      const from = more && cursor !== null ? (cursor.from ?? cursor.at) : anchor;
      setByKeys(false);
      setCursor({ at: anchor, from: more ? from : null });
      comment(anchor, from);
    },
    [comment, cursor],
  );
  // A comment that is being written comes into sight.
  useEffect(() => {
    if (open === null) return;
    const index = rows.findIndex((row) => row.t === "comment" && row.key === open);
    if (index >= 0) list.current?.scrollToIndex(index, { align: "auto" });
  }, [open, rows]);
  const lineKeys = { repeat: true, off: rows.length === 0 };
  useActions("Changes", [
    {
      id: "changes.line-next",
      words: "Next line",
      keys: ["j", "ArrowDown"],
      ...lineKeys,
      run: () => move(1, false),
    },
    {
      id: "changes.line-last",
      words: "Line before",
      keys: ["k", "ArrowUp"],
      ...lineKeys,
      run: () => move(-1, false),
    },
    {
      id: "changes.more",
      words: "Choose the next line too",
      keys: ["J"],
      ...lineKeys,
      run: () => move(1, true),
    },
    {
      id: "changes.less",
      words: "Choose the line before too",
      keys: ["K"],
      ...lineKeys,
      run: () => move(-1, true),
    },
    {
      id: "changes.hunk-next",
      words: "Next change in the file",
      keys: ["]"],
      ...lineKeys,
      run: () => moveHunk(1),
    },
    { id: "changes.hunk-last", words: "Change before", keys: ["["], ...lineKeys, run: () => moveHunk(-1) },
    {
      id: "changes.comment",
      words: "Comment on the line or the chosen lines",
      keys: ["c"],
      off: cursor === null,
      run: () => cursor && comment(cursor.at, cursor.from ?? cursor.at),
    },
  ]);
  if (rows.length === 0) return <NoLines file={file} />;
  const first = rows.findIndex((row) => row.t === "line");
  const [low, high] = [Math.min(at, start), Math.max(at, start)];
  return (
    <VirtualList
      items={rows}
      id={(row) => row.key}
      estimate={20}
      label={split ? "Lines, the old beside the new" : "Lines"}
      className="diff-list"
      handle={list}
      row={(row, index) => {
        if (row.t === "hunk") return <div className="diff-hunk">{plain(row.words)}</div>;
        if (row.t === "comment") {
          const opened = open === row.key || row.comment.text === "";
          return (
            <CommentBox run={run} comment={row.comment} adrift={row.adrift} open={opened} onOpen={setOpen} />
          );
        }
        const here = index === at;
        const chosen = low !== high && low >= 0 && index >= low && index <= high;
        // Without a cursor the first line is where the keyboard comes in.
        return (
          <LineRow
            row={row}
            cursor={here}
            stop={here || (at < 0 && index === first)}
            chosen={chosen}
            focus={here && byKeys}
            painter={painter}
            onPick={pick}
          />
        );
      }}
    />
  );
}

function NoLines({ file }: { file: ChangedFile }) {
  if (file.binary)
    return <Empty title="This file is not text">Its bytes have changed; there are no lines to show.</Empty>;
  if (file.status === "renamed")
    return <Empty title="Only the name has changed">The content is the same.</Empty>;
  if (file.old_mode !== file.new_mode && file.status === "modified") {
    return (
      <Empty title="Only the mode has changed">
        From {file.old_mode} to {file.new_mode}.
      </Empty>
    );
  }
  return <Empty title="The file is empty">There are no lines to show.</Empty>;
}
