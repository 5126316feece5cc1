// Several asks answered at once: all of them are listed once more, and each is sent with the digest of what was shown.
import { useState } from "react";
import type { Answer, Ask } from "../../api/words";
import { askKey } from "../../api/words";
import { useSteady } from "../../keys/hand";
import { useActions } from "../../keys/registry";
import { useStory } from "../../live/hooks";
import { askSubject } from "../../ui/asked";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Line, Lines } from "../../ui/Text";
import { giveAll } from "./answers";
import type { Selection } from "./selection";

export function Together({ selection }: { selection: Selection }) {
  const [open, setOpen] = useState(false);
  const many = selection.asks.length;
  const show = () => setOpen(true);
  useActions("Inbox", [
    {
      id: "inbox.together",
      words: "Answer the selected asks together…",
      keys: ["Mod+Enter"],
      shown: "Ctrl+Enter",
      off: many === 0,
      stays: true,
      run: show,
    },
    {
      id: "inbox.unselect",
      words: "Clear the selection",
      keys: ["Escape"],
      off: many === 0,
      stays: true,
      run: selection.clear,
    },
  ]);
  return (
    <div className="together" role="status">
      {many > 0 && (
        <>
          <span className="grow">{many === 1 ? "1 selected" : `${many} selected`}</span>
          <Button hint="Ctrl+Enter" onPress={show}>
            Answer together…
          </Button>
          <Button kind="quiet" hint="Esc" onPress={selection.clear}>
            Clear
          </Button>
        </>
      )}
      <Dialog
        title={`Answer ${many} ${many === 1 ? "ask" : "asks"} together`}
        open={open}
        onClose={() => setOpen(false)}
        wide
      >
        <Inside selection={selection} onClose={() => setOpen(false)} />
      </Dialog>
    </div>
  );
}

function Inside({ selection, onClose }: { selection: Selection; onClose(): void }) {
  const { asks } = selection;
  const [reason, setReason] = useState("");
  // One that is answered elsewhere meanwhile changes what the buttons hit.
  const steady = useSteady(asks.map((ask) => ask.digest).join());
  const send = (answer: Answer, verb: string) => {
    if (asks.length === 0 || !steady.check()) return;
    if (
      !giveAll(
        asks.map((ask) => ({ ask, answer })),
        verb,
      )
    )
      return;
    selection.clear();
    onClose();
  };
  const approve = () => send({ decision: "allow" }, "Approved");
  const deny = () => send({ decision: "deny", reason: reason.trim() || "Denied by a person." }, "Denied");
  return (
    <>
      <ul className="together-list">
        {asks.map((ask) => (
          <One key={askKey(ask)} ask={ask} />
        ))}
      </ul>
      {asks.length === 0 && <p>All of them were answered elsewhere.</p>}
      <label className="confirm-words">
        Reason, if you deny them (optional)
        <input value={reason} onChange={(event) => setReason(event.target.value)} />
      </label>
      <div className="dialog-foot" data-steady={steady.ready}>
        <Button kind="primary" autoFocus isDisabled={asks.length === 0} onPress={approve}>
          Approve {asks.length}
        </Button>
        <Button kind="danger" isDisabled={asks.length === 0} onPress={deny}>
          Deny {asks.length}
        </Button>
        <Button kind="quiet" hint="Esc" onPress={onClose}>
          Back
        </Button>
      </div>
    </>
  );
}

function One({ ask }: { ask: Ask }) {
  const story = useStory(ask.story);
  return (
    <li>
      <strong>
        <Line text={story?.title ?? ask.story} longest={120} />
      </strong>{" "}
      <span className="quiet">{ask.agent}</span>
      <Lines text={askSubject(ask)} lines={12} />
    </li>
  );
}
