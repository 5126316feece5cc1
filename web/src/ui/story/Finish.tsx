// The end of a story: its branch merged into the project's own, or only called done; what that means is shown first.
import { useState } from "react";
import { Link } from "wouter";
import { api, take, takeRaw } from "../../api/client";
import { asProblem, type Problem } from "../../api/problem";
import { useQuery } from "../../api/query";
import type { FileDiff, Run } from "../../api/words";
import { useLive, useStory } from "../../live/hooks";
import { Phase } from "../Badge";
import { Button } from "../Button";
import { Heeded } from "../Heeded";
import { PlusMinus } from "../Numbers";
import { ProblemLine } from "../ProblemLine";
import { oneLine } from "../plain";
import { Loading } from "../states";
import { Line } from "../Text";
import { say } from "../toast";
import { branchNumber, done, merge, reopen } from "./commands";
import { ConflictNote } from "./conflict";

interface Branch {
  n: number;
  name: string;
  /** The newest run on it. */
  run: Run;
}

/** The branches that agents have worked on, the newest work first. */
function branchesOf(runs: readonly Run[]): Branch[] {
  const found = new Map<number, Branch>();
  const newest = [...runs].sort((a, b) => b.queued_at - a.queued_at);
  for (const run of newest) {
    const n = branchNumber(run.branch ?? "");
    if (run.branch != null && n !== null && !found.has(n)) found.set(n, { n, name: run.branch, run });
  }
  return [...found.values()];
}

export function Finish({ story: id, onClose }: { story: string; onClose(): void }) {
  const story = useStory(id);
  const base = useLive((world) => world.project?.base_branch ?? "the base branch");
  const query = useQuery(`runs of ${id}`, () =>
    take(api.GET("/api/v1/runs", { params: { query: { story: id, state: "all" } } })),
  );
  const [picked, pick] = useState<number | null>(null);
  const [busy, setBusy] = useState<"merge" | "done" | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const branches = branchesOf((query.data?.runs ?? []) as Run[]);
  const chosen = branches.find((branch) => branch.n === picked) ?? branches[0];
  const empty = chosen?.run.lines != null && chosen.run.lines.added + chosen.run.lines.removed === 0;
  const looked = chosen === undefined || empty ? null : chosen.run.id;
  const diff = useQuery(looked === null ? null : `files of ${looked}`, () =>
    takeRaw<{ files: FileDiff[] }>(`/runs/${encodeURIComponent(looked ?? "")}/diff?files=only`),
  );
  const leaks = problem?.code === "secrets_found";
  const send = async (what: "merge" | "done") => {
    if (busy !== null) return;
    setBusy(what);
    setProblem(null);
    try {
      if (what === "done") {
        await done(id);
        say(`Done: ${oneLine(story?.title ?? id, 80)}`, { undo: () => void reopen(id).catch(() => {}) });
      } else {
        await merge(id, chosen?.n ?? null, leaks ? "seen" : "refuse");
        say(`Merged ${chosen?.name ?? id} into ${base}.`);
      }
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(null);
    }
  };
  return (
    <div className="story-form">
      <p className="story-about">
        <Line text={story?.title ?? id} longest={160} />
      </p>
      {query.loading && <Loading what="its branches" />}
      {query.problem !== undefined && <ProblemLine problem={query.problem} />}
      {branches.length > 0 && (
        <fieldset className="agent-choice">
          <legend className="quiet">
            {branches.length === 1 ? "Its branch" : "Its branches; one of them is merged"}
          </legend>
          {branches.map((branch) => (
            <BranchRow
              key={branch.n}
              branch={branch}
              alone={branches.length === 1}
              chosen={branch.n === chosen?.n}
              choose={() => pick(branch.n)}
              onClose={onClose}
            />
          ))}
        </fieldset>
      )}
      {query.data !== undefined && (
        <p className="quiet">
          {branches.length === 0
            ? "No agent has worked on it, so there is nothing to merge."
            : empty
              ? "Nothing was changed, so there is nothing to merge."
              : `Merging makes one commit on ${base} in your repository. Without merging, the branch stays as it is.`}
        </p>
      )}
      {diff.data !== undefined && <Heeded files={diff.data.files} />}
      {diff.problem !== undefined && <ProblemLine problem={diff.problem} />}
      <ProblemLine problem={problem} />
      {story !== undefined && <ConflictNote story={story} run={chosen?.run.id} />}
      <div className="story-buttons">
        {branches.length > 0 && !empty && (
          <Button
            kind={story?.conflict == null ? "primary" : "normal"}
            autoFocus
            isDisabled={busy !== null}
            onPress={() => void send("merge")}
          >
            {busy === "merge"
              ? "Merging…"
              : leaks
                ? "Merge with these secrets"
                : `Merge into ${oneLine(base, 30)}`}
          </Button>
        )}
        {story?.state !== "done" && (
          <Button
            kind={empty ? "primary" : "normal"}
            isDisabled={busy !== null}
            onPress={() => void send("done")}
          >
            {branches.length > 0 && !empty ? "Done without merging" : "It is done"}
          </Button>
        )}
        <Button kind="quiet" hint="Esc" onPress={onClose}>
          Back
        </Button>
      </div>
    </div>
  );
}

interface RowProps {
  branch: Branch;
  alone: boolean;
  chosen: boolean;
  choose(): void;
  onClose(): void;
}

function BranchRow({ branch, alone, chosen, choose, onClose }: RowProps) {
  const { name, run } = branch;
  const inside = (
    <>
      <span className="agent-option-name">
        <code>{oneLine(name, 100)}</code>
        <span className="quiet">
          <Line text={run.agent} longest={40} /> <Phase run={run} />
        </span>
      </span>
      {run.lines != null && <PlusMinus lines={run.lines} />}
      <Link href={`/runs/${run.id}/changes`} onClick={onClose}>
        See changes
      </Link>
    </>
  );
  if (alone) return <div className="agent-option">{inside}</div>;
  return (
    <label className="agent-option">
      <input type="radio" name="branch" checked={chosen} onChange={choose} />
      {inside}
    </label>
  );
}
