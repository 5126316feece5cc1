// An ask where it was put: open, it is answered in place with the keys of the inbox; closed, it says what was answered.
import { useEffect, useState } from "react";
import { useWhoWords } from "../../../api/holders";
import { type Ask, askKey } from "../../../api/words";
import { onMoved } from "../../../keys/hand";
import { useLive } from "../../../live/hooks";
import { askSubject } from "../../../ui/asked";
import { Badge } from "../../../ui/Badge";
import { Age, Countdown } from "../../../ui/Numbers";
import { oneLine, plain } from "../../../ui/plain";
import { Line } from "../../../ui/Text";
import { Answering } from "../../inbox/Answering";
import { isMine, useAnsweredHere } from "../../inbox/answers";
import { byWords, decidedTone, decidedWords } from "../../inbox/settled";
import type { AskRow } from "./rows";

export function AskRowView({ run, row, active }: { run: string; row: AskRow; active: boolean }) {
  const key = askKey({ run, ask: row.ask });
  const ask = useLive((world) => world.asks.get(key));
  const sent = useAnsweredHere().has(key);
  // What is settled elsewhere while it is looked at stays as it was shown, marked, until the person moves.
  const [shown, setShown] = useState<Ask | null>(null);
  const open = row.closed === null && !sent && ask?.state === "open";
  if (open && shown !== ask) setShown(ask);
  const stale = shown !== null && !open && !sent && !isMine(key);
  useEffect(() => {
    if (stale) return onMoved(".t-ask", () => setShown(null));
  }, [stale]);
  if (open && ask !== undefined) return <Open ask={ask} active={active} />;
  if (stale) return <Open ask={shown} active={active} />;
  if (row.closed !== null) return <Closed row={row} />;
  return <Pending row={row} words={sent ? "answered, on its way" : "open"} />;
}

function Open({ ask, active }: { ask: Ask; active: boolean }) {
  const over = useLive((world) => world.asks.get(askKey(ask))?.state !== "open");
  // Where several wait in one transcript, it must be seen which of them the keys answer.
  const several = useLive((world) => {
    const open = [...world.asks.values()].filter((one) => one.run === ask.run && one.state === "open");
    return open.length > 1;
  });
  const aimed = active && !over;
  return (
    <section
      className={several && aimed ? "t-ask aimed" : "t-ask"}
      aria-label={`Waits for you: ${oneLine(askSubject(ask), 60)}`}
      aria-current={aimed ? "true" : undefined}
    >
      <header>
        <Badge tone={over ? "plain" : "warn"}>
          {over ? "answered elsewhere" : "waiting for your answer"}
        </Badge>
        {several && aimed && <Badge tone="info">keys answer this one</Badge>}
        {several && !active && !over && <span className="quiet">j and k bring the keys here</span>}
        <span className="quiet">
          asked <Age at={ask.opened_at} sentence />
        </span>
        {ask.deadline != null && !over && (
          <span className="quiet">
            auto-answered in <Countdown to={ask.deadline} />
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

function Closed({ row }: { row: AskRow }) {
  const { by, who, answer } = row.closed ?? { by: "", who: null, answer: null };
  const person = useWhoWords(who);
  return (
    <div className="t-asked">
      <Badge tone={decidedTone(answer)}>{decidedWords(answer).toLowerCase()}</Badge>
      <Line text={wanted(row)} />
      <span className="quiet">by {by === "person" ? person : byWords(by)}</span>
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
