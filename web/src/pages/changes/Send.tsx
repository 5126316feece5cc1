// The last look at all comments before they go to the agent, with what will become of them.
import { useState } from "react";
import { useLocation } from "wouter";
import { isLive, type Receipt, type Run } from "../../api/words";
import { useActions } from "../../keys/registry";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { plain } from "../../ui/plain";
import { prompt } from "../../ui/story/commands";
import { attempt, say } from "../../ui/toast";
import {
  asPrompt,
  clearReview,
  placeOf,
  removeComment,
  review,
  setSummary,
  useReview,
  written,
} from "./comments";

export function Send({ run, open, onClose }: { run: Run; open: boolean; onClose(): void }) {
  return (
    <Dialog title={`Send comments to ${plain(run.agent)}`} open={open} onClose={onClose} wide>
      {open && <Inside run={run} onClose={onClose} />}
    </Dialog>
  );
}

/** What sending does, as the run stands. */
function effect(run: Run): string {
  if (isLive(run)) return "The agent gets them as one prompt, once its running turn is over.";
  return "The run has ended: a new run continues its session and gets them as one prompt.";
}

export function countOf(comments: number): string {
  return comments === 1 ? "1 comment" : `${comments} comments`;
}

function Inside({ run, onClose }: { run: Run; onClose(): void }) {
  const now = useReview(run.id);
  const comments = written(now);
  const [, go] = useLocation();
  const [busy, setBusy] = useState(false);
  const ready = comments.length > 0 && !busy;
  const send = async () => {
    if (!ready) return;
    setBusy(true);
    let receipt: Receipt | undefined;
    const worked = await attempt(async () => {
      receipt = await prompt(run.id, asPrompt(review(run.id)), "Your review");
    });
    setBusy(false);
    if (!worked) return;
    clearReview(run.id);
    onClose();
    const next = receipt !== undefined && receipt.status === "queued" ? receipt.run : null;
    say(
      `Sent ${countOf(comments.length)} to ${run.agent}.${next === null ? "" : ` Run ${next} continues with them.`}`,
    );
    if (next !== null) go(`/runs/${next}`);
  };
  useActions(
    "Send comments",
    [
      {
        id: "changes.send-now",
        words: "Send the comments",
        keys: ["Mod+Enter"],
        typing: true,
        run: () => void send(),
      },
    ],
    { modal: true },
  );
  return (
    <>
      <ol className="send-list">
        {comments.map((comment) => (
          <li key={comment.id}>
            <div className="send-place">
              <code>{plain(comment.path)}</code> <span className="quiet">{placeOf(comment)}</span>
              <span className="grow" />
              <Button
                kind="icon"
                label={`Remove the comment on ${placeOf(comment)} of ${plain(comment.path)}`}
                onPress={() => removeComment(run.id, comment.id)}
              >
                ✕
              </Button>
            </div>
            <pre className="comment-quote">{plain(comment.quote)}</pre>
            <p className="comment-text">{plain(comment.text)}</p>
          </li>
        ))}
      </ol>
      {comments.length === 0 && <p className="quiet">There is no comment to send.</p>}
      <label className="send-summary">
        Overall comment (optional)
        <textarea rows={2} value={now.summary} onChange={(event) => setSummary(run.id, event.target.value)} />
      </label>
      <div className="dialog-foot">
        <Button kind="primary" hint="Ctrl+Enter" isDisabled={!ready} onPress={() => void send()}>
          {busy ? "Sending…" : `Send ${countOf(comments.length)}`}
        </Button>
        <Button kind="quiet" hint="Esc" onPress={onClose}>
          Back
        </Button>
        <span className="quiet">{effect(run)}</span>
      </div>
    </>
  );
}
