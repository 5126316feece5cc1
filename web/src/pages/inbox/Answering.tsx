// What an ask says and the ways to answer it, with their keys; the same in the inbox and in a transcript.
import { type ReactNode, useState } from "react";
import { type Answer, type Ask, askKey } from "../../api/words";
import { type Steady, useSteady } from "../../keys/hand";
import { useActions } from "../../keys/registry";
import { Button } from "../../ui/Button";
import { Always } from "./Always";
import { give, sayAnswered } from "./answers";
import { Body } from "./Body";
import { Deny } from "./Deny";
import { FormAsk } from "./FormAsk";
import { QuestionForm } from "./QuestionForm";
import { SettledMark } from "./SettledMark";
import { useSettled } from "./settled";

/** Answers the ask that is shown; gives whether the answer was taken. `verb` says what was done, as in `Approved`. */
export type Give = (answer: Answer, verb: string) => boolean;

export function Answering(props: {
  ask: Ask;
  /** The heading under which the sheet of keys names them. */
  group: "Inbox" | "Ask";
  /** Whether the keys mean this one. */
  active?: boolean;
  /** Goes on to what follows, once this was settled elsewhere. */
  onward?(): void;
  /** More buttons. */
  children?: ReactNode;
}) {
  const { ask, group, active = true, onward, children } = props;
  const [open, setOpen] = useState<"deny" | "always" | null>(null);
  const settled = useSettled(ask);
  const over = settled !== null;
  // What is pressed counts only once this very ask has stood here for a moment; keys, once they have meant it for so long.
  const shown = useSteady(`${askKey(ask)} ${ask.digest} ${over}`);
  const aimed = useSteady(`${askKey(ask)} ${ask.digest} ${over} ${active}`);
  const body = ask.body;
  const yesOrNo = body?.kind === "approval" || body?.kind === "plan" || body == null;
  const answer: Give = (what, verb) => aimed.check() && give(ask, what, verb);
  const approve = (steady: Steady) =>
    void (steady.check() && give(ask, { decision: "allow" }, `Approved for ${ask.agent}`));
  const show = (what: "deny" | "always", steady: Steady) => {
    if (!steady.check()) return;
    if (over) sayAnswered(ask);
    else setOpen(what);
  };
  const id = group.toLowerCase();
  const kind = (wanted: "primary" | "danger" | "normal") => (over ? "quiet" : wanted);
  const hint = (key: string) => (active && !over ? { hint: key } : {});
  useActions(group, [
    {
      id: `${id}.approve`,
      words: "Approve",
      keys: ["a"],
      off: !active || !yesOrNo,
      stays: true,
      run: () => approve(aimed),
    },
    {
      id: `${id}.deny`,
      words: "Deny, with a reason",
      keys: ["d"],
      off: !active,
      stays: true,
      run: () => show("deny", aimed),
    },
    {
      id: `${id}.always`,
      words: "Always allow similar…",
      keys: ["A"],
      off: !active || body?.kind !== "approval",
      stays: true,
      run: () => show("always", aimed),
    },
  ]);
  return (
    <div className="answering" data-steady={aimed.ready}>
      <SettledMark settled={settled} onward={onward} />
      {body?.kind === "question" ? (
        <QuestionForm ask={ask} questions={body.questions} group={group} active={active} give={answer} />
      ) : body?.kind === "form" ? (
        <FormAsk ask={ask} form={body} group={group} active={active} give={answer} />
      ) : (
        <Body ask={ask} />
      )}
      {open === "deny" ? (
        <Deny ask={ask} give={answer} onClose={() => setOpen(null)} />
      ) : (
        // They stay when the ask is settled elsewhere, so that neither the focus nor anything below them jumps.
        <div className="ask-buttons">
          {yesOrNo && (
            <Button kind={kind("primary")} {...hint("a")} onPress={() => approve(shown)}>
              Approve
            </Button>
          )}
          <Button kind={kind("danger")} {...hint("d")} onPress={() => show("deny", shown)}>
            Deny…
          </Button>
          {body?.kind === "approval" && (
            <Button kind={kind("normal")} {...hint("A")} onPress={() => show("always", shown)}>
              Always allow similar…
            </Button>
          )}
          {children}
        </div>
      )}
      <Always ask={ask} give={answer} open={open === "always"} onClose={() => setOpen(null)} />
    </div>
  );
}
