// An ask where it was put: open, it is answered in place with the keys of the inbox; closed, it says what was answered.
import { useEffect, useState } from "react";
import { type Ask, askKey } from "../../../api/words";
import { useActions } from "../../../keys/registry";
import { useLive } from "../../../live/hooks";
import { Badge } from "../../../ui/Badge";
import { Button } from "../../../ui/Button";
import { Age, Countdown } from "../../../ui/Numbers";
import { oneLine, plain } from "../../../ui/plain";
import { Line } from "../../../ui/Text";
import { Always } from "../../inbox/Always";
import { give, useAnsweredHere, watchElsewhere } from "../../inbox/answers";
import { Body } from "../../inbox/Body";
import { Deny } from "../../inbox/Deny";
import { FormAsk } from "../../inbox/FormAsk";
import { QuestionForm } from "../../inbox/QuestionForm";
import type { AskRow } from "./rows";

export function AskRowView({ run, row, active }: { run: string; row: AskRow; active: boolean }) {
  const key = askKey({ run, ask: row.ask });
  const ask = useLive((world) => world.asks.get(key));
  const sent = useAnsweredHere().has(key);
  if (row.closed !== null) return <Closed row={row} />;
  if (sent) return <Pending row={row} words="answered, on its way" />;
  if (ask === undefined) return <Pending row={row} words="open" />;
  return <Open ask={ask} active={active} />;
}

function Open({ ask, active }: { ask: Ask; active: boolean }) {
  const [open, setOpen] = useState<"deny" | "always" | null>(null);
  const body = ask.body;
  const yesOrNo = body?.kind === "approval" || body?.kind === "plan" || body == null;
  const approve = () => give(ask, { decision: "allow" }, `Approved for ${ask.agent}.`);
  useEffect(() => watchElsewhere(ask), [ask]);
  useActions("Ask", [
    { id: "ask.approve", words: "Approve", keys: ["a"], off: !active || !yesOrNo, run: approve },
    {
      id: "ask.deny",
      words: "Deny, with a reason",
      keys: ["d"],
      off: !active,
      run: () => setOpen("deny"),
    },
    {
      id: "ask.always",
      words: "Always allow the like of it",
      keys: ["A"],
      off: !active || body?.kind !== "approval",
      run: () => setOpen("always"),
    },
  ]);
  return (
    <section className="t-ask" aria-label="Waits for you">
      <header>
        <Badge tone="warn">waits for you</Badge>
        <span className="quiet">
          asked <Age at={ask.opened_at} sentence />
        </span>
        {ask.deadline != null && (
          <span className="quiet">
            answered by default in <Countdown to={ask.deadline} />
          </span>
        )}
      </header>
      {body?.kind === "question" ? (
        <QuestionForm ask={ask} questions={body.questions} />
      ) : body?.kind === "form" ? (
        <FormAsk ask={ask} form={body} />
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
        </div>
      )}
      <Always ask={ask} open={open === "always"} onClose={() => setOpen(null)} />
    </section>
  );
}

function Pending({ row, words }: { row: AskRow; words: string }) {
  return (
    <div className="t-asked">
      <Badge tone="warn">{words}</Badge>
      <Line text={wanted(row)} />
    </div>
  );
}

const BY: Record<string, string> = {
  person: "a person",
  rule: "a rule",
  deadline: "the default, after the deadline",
  unattended: "nobody was there",
  agent: "the agent took it back",
  turn_end: "the turn ended first",
  process_end: "the process ended first",
};

function Closed({ row }: { row: AskRow }) {
  const { by, answer } = row.closed ?? { by: "", answer: null };
  const denied = answer?.decision.startsWith("deny") ?? false;
  const yes = answer !== null && !denied;
  return (
    <div className="t-asked">
      <Badge tone={yes ? "good" : denied ? "bad" : "plain"}>{decided(row)}</Badge>
      <Line text={wanted(row)} />
      <span className="quiet">{BY[by] ?? by}</span>
      {answer?.reason !== undefined && <p className="quiet">{plain(answer.reason)}</p>}
      {answer?.rule !== undefined && <code>{oneLine(answer.rule, 200)}</code>}
      {answer?.replies?.map((reply, at) => (
        <p key={at}>
          → {oneLine([...(reply.chosen ?? []), reply.text].filter(Boolean).join(", ") || "no answer", 400)}
        </p>
      ))}
    </div>
  );
}

function decided(row: AskRow): string {
  const answer = row.closed?.answer ?? null;
  if (answer === null) return "not answered";
  const words: Record<string, string> = {
    allow: "approved",
    allow_always: "always allowed",
    deny: "denied",
    deny_and_interrupt: "denied, turn ended",
    replies: "answered",
    form: "filled in",
  };
  return words[answer.decision] ?? answer.decision;
}

/** What was asked, in one line. */
export function wanted(row: AskRow): string {
  const body = row.body;
  switch (body?.kind) {
    case "approval":
      return body.subject === undefined ? `use ${body.tool}` : `${body.tool}: ${body.subject}`;
    case "question":
      return body.questions.map((question) => question.text).join(" / ");
    case "plan":
      return body.plan;
    case "form":
      return body.message;
    default:
      return "an ask";
  }
}
