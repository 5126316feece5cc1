// The head of one file: where it is, what happened to it, and what can be done with it.
import type { Run } from "../../api/words";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { copy } from "../../ui/copy";
import { editor } from "../../ui/editor";
import { EffectBadge } from "../../ui/Heeded";
import { PlusMinus } from "../../ui/Numbers";
import { plain } from "../../ui/plain";
import { Line } from "../../ui/Text";
import type { ChangedFile } from "./data";

interface Props {
  run: Run;
  file: ChangedFile;
  viewed: boolean;
  whole: boolean;
  /** On a narrow screen the list of files is behind this. */
  onBack: (() => void) | null;
  onView(): void;
  onWhole(): void;
}

export function FileHead({ run, file, viewed, whole, onBack, onView, onWhole }: Props) {
  const opens = editor();
  const mode = file.old_mode !== file.new_mode && !["added", "deleted"].includes(file.status);
  return (
    <header className="file-head">
      {onBack !== null && (
        <Button kind="icon" label="Back to the files" onPress={onBack}>
          ←
        </Button>
      )}
      <h3 title={plain(file.path)}>
        {file.old_path != null && file.old_path !== file.path && (
          <>
            <Line text={file.old_path} /> <span aria-hidden="true">→</span>
            <span className="unseen">is now</span>{" "}
          </>
        )}
        <Line text={file.path} />
      </h3>
      {file.status !== "modified" && <Badge>{file.status.replaceAll("_", " ")}</Badge>}
      {mode && (
        <Badge>
          mode {file.old_mode} → {file.new_mode}
        </Badge>
      )}
      <EffectBadge effect={file.effect} />
      {file.binary ? <Badge>binary</Badge> : <PlusMinus lines={file} />}
      <span className="grow" />
      <span className="file-deeds">
        <Button kind="quiet" onPress={() => void copy(file.path, "the path")}>
          Copy path
        </Button>
        {opens !== null && run.worktree != null && file.status !== "deleted" && (
          <a className="button quiet" href={opens.address(`${run.worktree}/${file.path}`)}>
            Open in {opens.name}
          </a>
        )}
        {!file.binary && file.status === "modified" && (
          <Button kind="quiet" hint="x" onPress={onWhole}>
            {whole ? "Changes only" : "Whole file"}
          </Button>
        )}
      </span>
      <button
        type="button"
        role="checkbox"
        aria-checked={viewed}
        className="button viewed-box"
        onClick={onView}
      >
        <span className="tick" aria-hidden="true">
          {viewed ? "✓" : ""}
        </span>
        Viewed
        <kbd aria-hidden="true">v</kbd>
      </button>
    </header>
  );
}
