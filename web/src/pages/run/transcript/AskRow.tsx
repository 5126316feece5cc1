// An ask where it was put: open, it is answered in place with the keys of the inbox; closed, it says what was answered.
import { type Ask, askKey } from "../../../api/words";
import { useLive } from "../../../live/hooks";
import { Badge } from "../../../ui/Badge";
import { Age, Countdown } from "../../../ui/Numbers";
import { oneLine, plain } from "../../../ui/plain";
import { Line } from "../../../ui/Text";
import { Answering } from "../../inbox/Answering";
import { useAnsweredHere } from "../../inbox/answers";
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
      <Answering ask={ask} group="Ask" active={active} />
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
