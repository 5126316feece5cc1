// A merge conflict that is known before anybody tries to merge, and the way out of it: the agent resolves it on its branch.
import { useState } from "react";
import { useLocation } from "wouter";
import type { Story } from "../../api/words";
import { store } from "../../live/store";
import { Badge } from "../Badge";
import { Button } from "../Button";
import { oneLine } from "../plain";
import { attempt } from "../toast";
import { prompt } from "./commands";

/** So many files are named. */
const NAMED = 3;

/** The files in which a story's branch conflicts with the base, in a few words; null if it does not. */
export function conflictWords(story: Story): string | null {
  const files = story.conflict?.files ?? [];
  if (files.length === 0) return null;
  const more = files.length > NAMED ? ` and ${files.length - NAMED} more` : "";
  return `Merge conflict in ${files.slice(0, NAMED).join(", ")}${more}`;
}

/** Tells the agent of a run what conflicts; gives the run that resolves it. */
export async function letResolve(run: string, files: readonly string[], why = ""): Promise<string | null> {
  const base = store.world.project?.base_branch ?? "the base branch";
  const where = files.length === 0 ? why : `both changed the same lines of ${files.join(", ")}`;
  const text = `Your branch does not merge into ${base}: ${where}.\n\nMerge ${base} into your branch, resolve the conflicts there, and see that everything still works.`;
  const receipt = await prompt(run, text, "Your message");
  return receipt.status === "queued" ? receipt.run : null;
}

/** The conflict of a story, with the button that most people want next. */
export function ConflictNote({ story, run }: { story: Story; run: string | undefined }) {
  const words = conflictWords(story);
  const [busy, setBusy] = useState(false);
  const [, go] = useLocation();
  if (words === null || story.merged != null || story.runs.live > 0) return null;
  const resolve = async () => {
    if (run === undefined || busy) return;
    setBusy(true);
    await attempt(async () => {
      const next = await letResolve(run, story.conflict?.files ?? []);
      if (next !== null) go(`/runs/${next}`);
    });
    setBusy(false);
  };
  return (
    <div className="conflict-note" role="status">
      {run !== undefined && (
        <Button kind="primary" isDisabled={busy} onPress={() => void resolve()}>
          Let the agent resolve it
        </Button>
      )}
      <Badge tone="warn">{oneLine(words, 200)}</Badge>
    </div>
  );
}
