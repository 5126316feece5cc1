// Asks once more before something is done, and says in a sentence what that will be.
import { type ReactNode, useState } from "react";
import { asProblem, type Problem } from "../api/problem";
import { useActions } from "../keys/registry";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { useKept } from "./kept";
import { ProblemLine } from "./ProblemLine";

export interface Question {
  title: string;
  /** What will happen, in whole sentences. */
  about: ReactNode;
  /** What the button says. */
  yes: string;
  danger?: boolean;
  /** Words that go along, if some can. */
  words?: { label: string; needed?: boolean };
  /** Does it. What goes wrong is told in the dialog, which keeps what was typed. */
  run(words: string): Promise<unknown>;
  /** A problem that the person may overrule once it was read. */
  despite?: { code: string; yes: string; run(): Promise<unknown> };
}

export function Confirm({ question, onClose }: { question: Question | null; onClose(): void }) {
  return (
    <Dialog title={question?.title ?? ""} open={question !== null} onClose={onClose}>
      {question !== null && <Sure key={question.title} question={question} onClose={onClose} />}
    </Dialog>
  );
}

/** What stands in the dialog. */
export function Sure({ question, onClose }: { question: Question; onClose(): void }) {
  const [words, setWords] = useKept(`confirm.${question.title}`);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const missing = question.words?.needed === true && words.trim() === "";
  const despite = problem?.code === question.despite?.code ? question.despite : undefined;
  const yes = async () => {
    if (busy || missing) return;
    setBusy(true);
    setProblem(null);
    try {
      await (despite === undefined ? question.run(words.trim()) : despite.run());
      setWords("");
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };
  useActions(
    "Confirm",
    [{ id: "confirm.yes", words: despite?.yes ?? question.yes, keys: ["Mod+Enter"], typing: true, run: yes }],
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
      <ProblemLine problem={problem} />
      <div className="dialog-foot">
        <Button
          kind={question.danger ? "danger" : "primary"}
          autoFocus={question.words === undefined}
          isDisabled={busy || missing}
          onPress={yes}
          {...(question.words === undefined ? {} : { hint: "Ctrl+Enter" })}
        >
          {despite?.yes ?? question.yes}
        </Button>
        <Button kind="quiet" hint="Esc" onPress={onClose}>
          Back
        </Button>
      </div>
    </>
  );
}
