// Merging a story: what it will do, and what keeps it from being done, with a way to hand that to the agent.
import { useState } from "react";
import { useLocation } from "wouter";
import { asProblem, type Problem } from "../../api/problem";
import type { Run } from "../../api/words";
import { useLive, useStory } from "../../live/hooks";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Heeded } from "../../ui/Heeded";
import { PlusMinus } from "../../ui/Numbers";
import { plain } from "../../ui/plain";
import { sentence } from "../../ui/states";
import { branchNumber, merge } from "../../ui/story/commands";
import { conflictWords, letResolve } from "../../ui/story/conflict";
import { attempt, say } from "../../ui/toast";
import type { ChangedFile } from "./data";

interface Props {
  run: Run;
  files: readonly ChangedFile[];
  lines: { added: number; removed: number };
  open: boolean;
  onClose(): void;
}

export function Merge(props: Props) {
  return (
    <Dialog title={`Merge story ${plain(props.run.story)}`} open={props.open} onClose={props.onClose}>
      {props.open && <Inside {...props} />}
    </Dialog>
  );
}

function Inside({ run, files, lines, onClose }: Props) {
  const base = useLive((world) => world.project?.base_branch ?? "the project's branch");
  const [, go] = useLocation();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const story = useStory(run.story);
  const known = story?.conflict?.files ?? [];
  const words = story === undefined ? null : conflictWords(story);
  const leaks = problem?.code === "secrets_found";
  const bring = async () => {
    setBusy(true);
    setProblem(null);
    const secrets = leaks ? "seen" : "refuse";
    try {
      await merge(run.story, null, secrets).catch((error: unknown) => {
        // The story has several branches; this is about the one that the run worked on.
        const several = ["which_branch", "secrets_found"].includes(asProblem(error).code);
        const own = several ? branchNumber(run.branch ?? "") : null;
        if (own === null) throw error;
        return merge(run.story, own, secrets);
      });
      say(`Merged story ${run.story} into ${base}.`);
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      setBusy(false);
    }
  };
  const hand = async () => {
    const worked = await attempt(async () => {
      const next = await letResolve(run.id, known, problem?.detail ?? "");
      if (next !== null) go(`/runs/${next}`);
    });
    if (worked) onClose();
  };
  const conflict = problem?.code === "merge_failed" || (problem === null && known.length > 0);
  return (
    <>
      <p>
        Brings <code>{plain(run.branch ?? "the story's branch")}</code> into <code>{plain(base)}</code>:{" "}
        {files.length} {files.length === 1 ? "file" : "files"}, <PlusMinus lines={lines} />. The story is done
        then. If anything conflicts, nothing is changed.
      </p>
      <Heeded files={files} />
      {problem === null && words !== null && <p className="merge-problem">{sentence(words)}</p>}
      {problem !== null && (
        <div className="merge-problem" role="alert">
          <strong>Not merged.</strong> {sentence(problem.detail)}
          <p className="quiet">{sentence(problem.hint)}</p>
        </div>
      )}
      <div className="dialog-foot">
        {conflict && (
          <Button kind="primary" autoFocus isDisabled={busy} onPress={() => void hand()}>
            Let {plain(run.agent)} resolve it
          </Button>
        )}
        <Button
          kind={conflict ? "normal" : "primary"}
          autoFocus={!conflict}
          isDisabled={busy}
          onPress={() => void bring()}
        >
          {busy
            ? "Merging…"
            : leaks
              ? "Merge with these secrets"
              : problem === null
                ? `Merge into ${plain(base)}`
                : "Try again"}
        </Button>
        <Button kind="quiet" hint="Esc" onPress={onClose}>
          Back
        </Button>
      </div>
    </>
  );
}
