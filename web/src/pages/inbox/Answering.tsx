// What an ask says and the ways to answer it, with their keys; the same in the inbox and in a transcript.
import { type ReactNode, useEffect, useState } from "react";
import type { Ask } from "../../api/words";
import { useActions } from "../../keys/registry";
import { Button } from "../../ui/Button";
import { Always } from "./Always";
import { give, watchElsewhere } from "./answers";
import { Body } from "./Body";
import { Deny } from "./Deny";
import { FormAsk } from "./FormAsk";
import { QuestionForm } from "./QuestionForm";

export function Answering(props: {
  ask: Ask;
  /** The heading under which the sheet of keys names them. */
  group: "Inbox" | "Ask";
  /** Whether the keys mean this one. */
  active?: boolean;
  /** More buttons. */
  children?: ReactNode;
}) {
  const { ask, group, active = true, children } = props;
  const [open, setOpen] = useState<"deny" | "always" | null>(null);
  const body = ask.body;
  const yesOrNo = body?.kind === "approval" || body?.kind === "plan" || body == null;
  const approve = () => give(ask, { decision: "allow" }, `Approved for ${ask.agent}.`);
  const id = group.toLowerCase();
  useEffect(() => watchElsewhere(ask), [ask]);
  useActions(group, [
    { id: `${id}.approve`, words: "Approve", keys: ["a"], off: !active || !yesOrNo, run: approve },
    {
      id: `${id}.deny`,
      words: "Deny, with a reason",
      keys: ["d"],
      off: !active,
      run: () => setOpen("deny"),
    },
    {
      id: `${id}.always`,
      words: "Always allow the like of it",
      keys: ["A"],
      off: !active || body?.kind !== "approval",
      run: () => setOpen("always"),
    },
  ]);
  return (
    <>
      {body?.kind === "question" ? (
        <QuestionForm ask={ask} questions={body.questions} group={group} active={active} />
      ) : body?.kind === "form" ? (
        <FormAsk ask={ask} form={body} group={group} active={active} />
      ) : (
        <Body ask={ask} />
      )}
      {open === "deny" ? (
        <Deny ask={ask} onClose={() => setOpen(null)} />
      ) : (
        <div className="ask-buttons">
          {yesOrNo && (
            <Button kind="primary" hint="a" onPress={approve}>
              Approve
            </Button>
          )}
          <Button kind="danger" hint="d" onPress={() => setOpen("deny")}>
            Deny…
          </Button>
          {body?.kind === "approval" && (
            <Button hint="A" onPress={() => setOpen("always")}>
              Always…
            </Button>
          )}
          {children}
        </div>
      )}
      <Always ask={ask} open={open === "always"} onClose={() => setOpen(null)} />
    </>
  );
}
