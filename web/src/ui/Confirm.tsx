// Asks once more before something is done, and says in a sentence what that will be.
import { type ReactNode, useState } from "react";
import { useActions } from "../keys/registry";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { useKept } from "./kept";

export interface Question {
  title: string;
  /** What will happen, in whole sentences. */
  about: ReactNode;
  /** What the button says. */
  yes: string;
  danger?: boolean;
  /** Words that go along, if some can. */
  words?: { label: string; needed?: boolean };
  /** Does it; gives whether it worked, so that a failure keeps what was typed. */
  run(words: string): Promise<boolean>;
}

export function Confirm({ question, onClose }: { question: Question | null; onClose(): void }) {
  return (
    <Dialog title={question?.title ?? ""} open={question !== null} onClose={onClose}>
      {question !== null && <Inside key={question.title} question={question} onClose={onClose} />}
    </Dialog>
  );
}

function Inside({ question, onClose }: { question: Question; onClose(): void }) {
  const [words, setWords] = useKept(`confirm.${question.title}`);
  const [busy, setBusy] = useState(false);
  const missing = question.words?.needed === true && words.trim() === "";
  const yes = async () => {
    if (busy || missing) return;
    setBusy(true);
    const worked = await question.run(words.trim());
    setBusy(false);
    if (!worked) return;
    setWords("");
    onClose();
  };
  useActions(
    "Confirm",
    [{ id: "confirm.yes", words: question.yes, keys: ["Mod+Enter"], typing: true, run: yes }],
    {
      modal: true,
    },
  );
  return (
    <>
      <div className="confirm-about">{question.about}</div>
      {question.words !== undefined && (
        <label className="confirm-words">
          {question.words.label}
          {/* biome-ignore lint/a11y/noAutofocus: the dialog was opened to say this. */}
          <textarea rows={3} autoFocus value={words} onChange={(event) => setWords(event.target.value)} />
        </label>
      )}
      <div className="confirm-buttons">
        <Button
          kind={question.danger ? "danger" : "primary"}
          autoFocus={question.words === undefined}
          isDisabled={busy || missing}
          onPress={yes}
          {...(question.words === undefined ? {} : { hint: "Ctrl+Enter" })}
        >
          {question.yes}
        </Button>
        <Button kind="quiet" hint="Esc" onPress={onClose}>
          Back
        </Button>
      </div>
    </>
  );
}
