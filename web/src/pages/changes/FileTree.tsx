// The changed files as a tree, each with its sign, its lines and whether it was viewed.
import { type CSSProperties, memo, useEffect, useMemo, useRef, useState } from "react";
import { useActions } from "../../keys/registry";
import { EffectBadge } from "../../ui/Heeded";
import { PlusMinus } from "../../ui/Numbers";
import { plain } from "../../ui/plain";
import { Line } from "../../ui/Text";
import { type ListHandle, VirtualList } from "../../ui/VirtualList";
import type { ChangedFile } from "./data";
import { matching, type TreeRow, treeRows } from "./tree";

const SIGNS: Record<string, [string, string]> = {
  added: ["A", "added"],
  deleted: ["D", "deleted"],
  modified: ["M", "modified"],
  renamed: ["R", "renamed"],
  copied: ["C", "copied"],
  type_changed: ["T", "another type"],
};

interface Props {
  files: readonly ChangedFile[];
  chosen: string | null;
  viewed(file: ChangedFile): boolean;
  comments: ReadonlyMap<string, number>;
  onChoose(path: string): void;
  onView(file: ChangedFile, viewed: boolean): void;
}

export function FileTree({ files, chosen, viewed, comments, onChoose, onView }: Props) {
  const [words, setWords] = useState("");
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const list = useRef<ListHandle>(null);
  const find = useRef<HTMLInputElement>(null);
  const rows = useMemo(() => treeRows(matching(files, words), closed), [files, words, closed]);
  useActions("Changes", [
    { id: "changes.find", words: "Find a changed file", keys: ["/"], run: () => find.current?.focus() },
  ]);
  // The chosen file is kept in sight, but the list stays where it is when something else changes.
  const latest = useRef(rows);
  latest.current = rows;
  useEffect(() => {
    const at = latest.current.findIndex((row) => row.kind === "file" && row.key === chosen);
    if (at >= 0) list.current?.scrollToIndex(at, { align: "auto" });
  }, [chosen]);
  const toggle = (folder: string) => {
    const next = new Set(closed);
    if (!next.delete(folder)) next.add(folder);
    setClosed(next);
  };
  return (
    <nav className="changes-files" aria-label="Changed files">
      <input
        ref={find}
        type="search"
        placeholder="Find a file"
        aria-label="Find a changed file"
        value={words}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          setWords("");
          event.currentTarget.blur();
        }}
      />
      {rows.length === 0 ? (
        <p className="quiet changes-none">No changed file is called that.</p>
      ) : (
        <VirtualList
          items={rows}
          id={(row) => row.key}
          estimate={28}
          label="Changed files"
          handle={list}
          row={(row) =>
            row.kind === "folder" ? (
              <Folder row={row} onToggle={() => toggle(row.key.slice(0, -1))} />
            ) : (
              <File
                row={row}
                chosen={row.key === chosen}
                viewed={viewed(row.file)}
                comments={comments.get(row.key) ?? 0}
                onChoose={onChoose}
                onView={onView}
              />
            )
          }
        />
      )}
    </nav>
  );
}

function depth(row: TreeRow): CSSProperties {
  return { paddingInlineStart: 8 + Math.min(row.depth, 12) * 14 };
}

function Folder({ row, onToggle }: { row: TreeRow & { kind: "folder" }; onToggle(): void }) {
  return (
    <button
      type="button"
      className="tree-row tree-folder"
      style={depth(row)}
      aria-expanded={row.open}
      onClick={onToggle}
    >
      <span aria-hidden="true">{row.open ? "▾" : "▸"}</span>
      <Line text={row.name} />
      {!row.open && <span className="quiet">{row.files}</span>}
    </button>
  );
}

interface FileProps {
  row: TreeRow & { kind: "file" };
  chosen: boolean;
  viewed: boolean;
  comments: number;
  onChoose(path: string): void;
  onView(file: ChangedFile, viewed: boolean): void;
}

const File = memo(function File({ row, chosen, viewed, comments, onChoose, onView }: FileProps) {
  const { file } = row;
  const [sign, words] = SIGNS[file.status] ?? ["M", file.status];
  return (
    <div
      className={`tree-row tree-file${chosen ? " chosen" : ""}${viewed ? " viewed" : ""}`}
      style={depth(row)}
    >
      <button
        type="button"
        role="checkbox"
        className="tick"
        aria-checked={viewed}
        aria-label={`Viewed ${plain(file.path)}`}
        title={viewed ? "Viewed" : "Not viewed yet"}
        onClick={() => onView(file, !viewed)}
      >
        {viewed ? "✓" : ""}
      </button>
      <button
        type="button"
        className="tree-name"
        aria-current={chosen ? "true" : undefined}
        title={plain(file.path)}
        onClick={() => onChoose(file.path)}
      >
        <span className={`tree-sign ${file.status}`} title={words}>
          <span aria-hidden="true">{sign}</span>
          <span className="unseen">{words} </span>
        </span>
        <Line text={row.name} />
        {comments > 0 && (
          <span className="tree-comments" title={`${comments} comments`}>
            <span aria-hidden="true">✎</span>
            {comments}
            <span className="unseen"> comments</span>
          </span>
        )}
        <EffectBadge effect={file.effect} />
        <span className="grow" />
        {file.binary ? (
          <span className="quiet">binary</span>
        ) : (
          file.added + file.removed > 0 && <PlusMinus lines={file} />
        )}
      </button>
    </div>
  );
});
