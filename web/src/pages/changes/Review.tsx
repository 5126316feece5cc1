// The review itself: which files, which of them is looked at, how it is shown, and what is done with it.
import { useEffect, useMemo, useState } from "react";
import { useSearchParams } from "wouter";
import { isLive, type Run } from "../../api/words";
import { useActions } from "../../keys/registry";
import { useLive } from "../../live/hooks";
import { Button } from "../../ui/Button";
import { useKept } from "../../ui/kept";
import { useNarrow } from "../../ui/narrow";
import { Empty, Loading, ProblemBox } from "../../ui/states";
import { Bar } from "./Bar";
import { useReview, written } from "./comments";
import { DiffPane } from "./DiffPane";
import { type ChangedFile, type Diff, readFile, type Since, useFile, useFiles } from "./data";
import { FileHead } from "./FileHead";
import { FileTree } from "./FileTree";
import { Merge } from "./Merge";
import { Send } from "./Send";
import { sorted } from "./tree";
import { contentHash, isViewed, settle, setViewed, useViewed } from "./viewed";

/** So many marks are held against the files as they are now, when the list is read. */
const SETTLED = 60;

export function Review({ run }: { run: Run }) {
  const [query, setQuery] = useSearchParams();
  const [turn, setTurn] = useState(0);
  const since: Since = query.get("since") === "start" ? "start" : "base";
  const list = useFiles(run.id, since, turn);
  // The list that was shown stays until the new one is there.
  const [last, setLast] = useState<{ since: Since; diff: Diff; stamp: string } | null>(null);
  const stamp = useLive((world) => {
    const lines = world.activity.get(run.id)?.lines ?? run.lines;
    return `${isLive(run)} ${lines?.added} ${lines?.removed}`;
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the stamp is that of the moment at which the list came.
  useEffect(() => {
    if (list.data !== undefined) setLast({ since, diff: list.data, stamp });
  }, [list.data]);
  const diff = list.data ?? (last?.since === since ? last.diff : undefined);
  const stale = last !== null && last.stamp !== stamp && list.data !== undefined;
  const empty = diff?.files.length === 0;
  // Where nothing is shown, nothing can be lost by reading again.
  useEffect(() => {
    if (empty && stale) setTurn((n) => n + 1);
  }, [empty, stale]);
  const choose = (change: { file?: string | null; since?: Since }) => {
    const next = new URLSearchParams(query);
    if (change.file !== undefined) {
      if (change.file === null) next.delete("file");
      else next.set("file", change.file);
    }
    if (change.since !== undefined) next.set("since", change.since);
    setQuery(next, { replace: change.file !== null });
  };
  if (diff === undefined) {
    if (list.problem?.code === "not_started") {
      return <Empty title="Nothing has changed yet">The run is queued and has not started.</Empty>;
    }
    if (list.problem) return <ProblemBox problem={list.problem} retry={list.reload} />;
    return <Loading what="the changes" />;
  }
  return (
    <Files
      run={run}
      diff={diff}
      since={since}
      turn={turn}
      stale={stale}
      chosen={query.get("file")}
      onFile={(file) => choose({ file })}
      onSince={(next) => choose({ since: next, file: null })}
      onRefresh={() => setTurn((n) => n + 1)}
    />
  );
}

interface Props {
  run: Run;
  diff: Diff;
  since: Since;
  turn: number;
  stale: boolean;
  chosen: string | null;
  onFile(path: string | null): void;
  onSince(since: Since): void;
  onRefresh(): void;
}

function Files({ run, diff, since, turn, stale, chosen, onFile, onSince, onRefresh }: Props) {
  const narrow = useNarrow(760);
  const [view, setView] = useKept("diff-view", "unified");
  const [whole, setWhole] = useState(false);
  const [dialog, setDialog] = useState<"send" | "merge" | null>(null);
  const name = `${run.id} ${since}`;
  const marks = useViewed(name);
  const now = useReview(run.id);
  const files = useMemo(() => sorted(diff.files), [diff]);
  const told = files.find((file) => file.path === chosen) ?? (narrow ? undefined : files[0]);
  const path = told?.path ?? null;
  const file = useFile({ run: run.id, since, path, whole, turn });
  const split = view === "split" && !narrow;
  const counts = useMemo(() => {
    const found = new Map<string, number>();
    for (const comment of now.comments) found.set(comment.path, (found.get(comment.path) ?? 0) + 1);
    return found;
  }, [now]);
  const viewed = files.filter((one) => isViewed(marks, one)).length;

  const view1 = (one: ChangedFile, on: boolean) => {
    const lines = file.data?.path === one.path ? file.data : null;
    setViewed(name, one, on, lines === null ? null : contentHash(lines));
    if (!on || lines !== null) return;
    readFile(run.id, since, one.path).then(
      (found) => found.files[0] && settle(name, found.files[0]),
      () => {},
    );
  };
  useEffect(() => {
    if (file.data) settle(name, file.data);
  }, [file.data, name]);
  useSettled(run.id, since, name, files, turn);

  const step = (by: number) => {
    const next = files[files.findIndex((one) => one.path === path) + by];
    if (next !== undefined) onFile(next.path);
  };
  const toggleView = () => {
    if (told === undefined) return;
    const on = !isViewed(marks, told);
    view1(told, on);
    if (!on) return;
    const at = files.indexOf(told);
    const after = [...files.slice(at + 1), ...files.slice(0, at)].find((one) => !isViewed(marks, one));
    if (after !== undefined) onFile(after.path);
  };
  const ready = written(now).length;
  useActions("Changes", [
    { id: "changes.next", words: "Next file", keys: ["n"], repeat: true, run: () => step(1) },
    { id: "changes.last", words: "File before", keys: ["p"], repeat: true, run: () => step(-1) },
    { id: "changes.viewed", words: "Mark the file as viewed, or not", keys: ["v"], run: toggleView },
    {
      id: "changes.view",
      words: "Show the old and the new beside or below each other",
      keys: ["u"],
      off: narrow,
      run: () => setView(split ? "unified" : "split"),
    },
    {
      id: "changes.whole",
      words: "Show the whole file, or only its changes",
      keys: ["x"],
      run: () => setWhole(!whole),
    },
    { id: "changes.refresh", words: "Read the changes again", keys: ["R"], run: onRefresh },
    {
      id: "changes.send",
      words: "Send the comments to the agent",
      keys: ["S"],
      off: ready === 0,
      run: () => setDialog("send"),
    },
    { id: "changes.merge", words: "Merge the story", keys: ["M"], run: () => setDialog("merge") },
  ]);
  const bar = (
    <Bar
      run={run}
      diff={diff}
      viewed={viewed}
      since={since}
      view={split ? "split" : "unified"}
      narrow={narrow}
      reading={narrow && told !== undefined}
      stale={stale}
      comments={ready}
      onSince={onSince}
      onView={setView}
      onRefresh={onRefresh}
      onSend={() => setDialog("send")}
      onMerge={() => setDialog("merge")}
    />
  );
  const dialogs = (
    <>
      <Send run={run} open={dialog === "send"} onClose={() => setDialog(null)} />
      <Merge run={run} files={files} lines={diff} open={dialog === "merge"} onClose={() => setDialog(null)} />
    </>
  );
  if (files.length === 0) {
    return (
      <>
        {bar}
        <Empty title="Nothing has changed" action={<Button onPress={onRefresh}>Refresh</Button>}>
          {since === "start" ? "This run has changed nothing since it began." : "The branch has no changes."}
        </Empty>
        {dialogs}
      </>
    );
  }
  const tree = (
    <FileTree
      files={files}
      chosen={path}
      viewed={(one) => isViewed(marks, one)}
      comments={counts}
      onChoose={onFile}
      onView={view1}
    />
  );
  return (
    <>
      {bar}
      <div className="changes-body">
        {(!narrow || told === undefined) && tree}
        {told !== undefined && (
          <section className="changes-file" aria-label="The file">
            <FileHead
              run={run}
              file={told}
              viewed={isViewed(marks, told)}
              whole={whole}
              onBack={narrow ? () => onFile(null) : null}
              onView={toggleView}
              onWhole={() => setWhole(!whole)}
            />
            {file.data ? (
              <DiffPane
                key={path}
                run={run.id}
                file={file.data}
                split={split}
                comments={now.comments.filter((comment) => comment.path === path)}
              />
            ) : file.problem ? (
              <ProblemBox
                problem={file.problem}
                retry={file.problem.code === "no_such_file" ? onRefresh : file.reload}
              />
            ) : (
              <Loading what="the lines" />
            )}
          </section>
        )}
      </div>
      {dialogs}
    </>
  );
}

/** Holds the marks against the files as they are now, one after the other, each time the list was read. */
function useSettled(
  run: string,
  since: Since,
  name: string,
  files: readonly ChangedFile[],
  turn: number,
): void {
  const marks = useViewed(name);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a mark that was just made needs no second look.
  useEffect(() => {
    let wanted = true;
    const some = files.filter((file) => isViewed(marks, file) && !file.binary).slice(0, SETTLED);
    const look = async () => {
      for (const { path } of some) {
        const found = wanted ? (await readFile(run, since, path)).files[0] : undefined;
        if (wanted && found) settle(name, found);
      }
    };
    look().catch(() => {});
    return () => {
      wanted = false;
    };
  }, [run, since, name, files, turn]);
}
