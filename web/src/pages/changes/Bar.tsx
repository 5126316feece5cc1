// The bar over the changes: how much there is, from when it counts, how it is shown, and what can be done with it.
import { isLive, type Run } from "../../api/words";
import { useLive } from "../../live/hooks";
import { Button } from "../../ui/Button";
import { Choice } from "../../ui/Choice";
import { PlusMinus } from "../../ui/Numbers";
import { oneLine } from "../../ui/plain";
import type { Diff, Since } from "./data";
import { countOf } from "./Send";

interface Props {
  run: Run;
  diff: Diff;
  viewed: number;
  since: Since;
  view: "unified" | "split";
  narrow: boolean;
  /** A file fills a narrow screen. */
  reading: boolean;
  stale: boolean;
  comments: number;
  onSince(since: Since): void;
  onView(view: "unified" | "split"): void;
  onRefresh(): void;
  onSend(): void;
  onMerge(): void;
}

export function Bar(props: Props) {
  const { run, diff, viewed, since, view, narrow, reading, stale, comments } = props;
  const base = useLive((world) => oneLine(world.project?.base_branch ?? "the base", 24));
  const merged = useLive((world) => world.stories.get(run.story)?.merged != null);
  const files = diff.files.length;
  return (
    <div className={reading ? "changes-bar reading" : "changes-bar"}>
      <span className="changes-sum">
        <strong>
          {files.toLocaleString("en")} {files === 1 ? "file" : "files"}
        </strong>{" "}
        <PlusMinus lines={diff} />
        {files > 0 && (
          <span className="quiet">
            {" "}
            {viewed} of {files.toLocaleString("en")} viewed
          </span>
        )}
      </span>
      <Choice
        label="Changes since"
        value={since}
        options={[
          { id: "base", words: `Since ${base}`, about: "Everything on the branch" },
          { id: "start", words: "Since the run began", about: "Only what this run has done" },
        ]}
        onChange={props.onSince}
      />
      {!narrow && (
        <Choice
          label="How lines are shown"
          value={view}
          options={[
            { id: "unified", words: "Unified", about: "The new below the old (u)" },
            { id: "split", words: "Side by side", about: "The new beside the old (u)" },
          ]}
          onChange={props.onView}
        />
      )}
      <span className="grow" />
      {stale && (
        <Button hint="R" onPress={props.onRefresh}>
          {isLive(run) ? "Show newer changes" : "Show the last changes"}
        </Button>
      )}
      <Button
        kind={comments > 0 ? "primary" : "normal"}
        hint="S"
        isDisabled={comments === 0}
        onPress={props.onSend}
      >
        {comments === 0 ? "No comments yet" : `Send ${countOf(comments)}`}
      </Button>
      {!merged && (
        <Button hint="M" onPress={props.onMerge}>
          Merge…
        </Button>
      )}
      {diff.truncated && (
        <p className="changes-note" role="status">
          There is more than can be shown: some files or lines are left out. Use git in the worktree for all
          of it.
        </p>
      )}
      {diff.uncommitted && isLive(run) && <p className="unseen">Includes uncommitted changes.</p>}
    </div>
  );
}
