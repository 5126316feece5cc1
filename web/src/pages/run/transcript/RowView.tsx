// How each kind of row looks.
import { memo, type ReactNode } from "react";
import { Badge, type Tone } from "../../../ui/Badge";
import { Button } from "../../../ui/Button";
import { span } from "../../../ui/format";
import { KindIcon } from "../../../ui/KindIcon";
import { Markdown } from "../../../ui/Markdown";
import { Time } from "../../../ui/Numbers";
import { oneLine, plain } from "../../../ui/plain";
import { Line, Lines } from "../../../ui/Text";
import { AskRowView } from "./AskRow";
import type { EndRow, NoteRow, Placed, PlanRow, Row, TextRow, TurnRow, UserRow } from "./rows";
import { ToolRowView } from "./ToolRow";

export interface RowProps {
  placed: Placed;
  run: string;
  open: boolean;
  innerOpen: boolean;
  target: boolean;
  /** Its keys answer the ask, because it is the one that is seen. */
  active: boolean;
  /** Its minute is that of the row before, and need not be said again. */
  same: boolean;
  /** What a tool has said so far. */
  output: string | null;
  toggle(key: string): void;
  /** Forks the run from the end of a turn, where that is possible. */
  fork: ((turn: number) => void) | null;
}

export const RowView = memo(function RowView(props: RowProps) {
  const { row, depth } = props.placed;
  const name = row.scope?.name ?? row.scope?.agent;
  return (
    <div
      className={`t-row k-${row.kind}${props.target ? " target" : ""}${depth > 0 ? " inner" : ""}`}
      data-seq={row.seq}
      data-key={row.key}
      data-depth={Math.min(depth, 3)}
      tabIndex={-1}
    >
      <a
        className={props.same ? "t-time same" : "t-time"}
        href={`#e=${row.seq}`}
        aria-label={`Link to event ${row.seq}`}
        tabIndex={-1}
      >
        <Time at={row.at} />
      </a>
      <div className="t-body">
        {depth > 0 && name !== undefined && row.kind !== "tool" && (
          <span className="t-who quiet">{oneLine(name, 60)}</span>
        )}
        <Body {...props} row={row} />
      </div>
    </div>
  );
});

function Body({ row, ...props }: RowProps & { row: Row }): ReactNode {
  switch (row.kind) {
    case "user":
      return <User row={row} />;
    case "turn":
      return <Turn row={row} fork={props.fork} />;
    case "text":
      return <Said row={row} />;
    case "thought":
      return <Thought row={row} open={props.open} toggle={props.toggle} />;
    case "tool":
      return <ToolRowView {...props} row={row} inner={props.placed.inner} />;
    case "ask":
      return <AskRowView run={props.run} row={row} active={props.active} />;
    case "plan":
      return <Plan row={row} />;
    case "note":
      return <Note row={row} />;
    case "end":
      return <End row={row} />;
  }
}

const ORIGINS: Record<string, string> = {
  prompt: "You",
  steer: "Steered",
  withdrawn: "Withdrawn before the agent got it",
  synthetic: "Put in by the agent program",
  replay: "From the session before",
};

function User({ row }: { row: UserRow }) {
  return (
    <div className={`t-user ${row.origin === "steer" ? "steer" : ""}`}>
      <span className="t-label">{ORIGINS[row.origin] ?? "You"}</span>
      <Lines text={row.text} lines={12} mono={false} />
    </div>
  );
}

export const TURN_TONES: Record<string, Tone> = {
  completed: "good",
  failed: "bad",
  lost: "bad",
  refused: "bad",
  interrupted: "warn",
  out_of_turns: "warn",
  out_of_budget: "warn",
};

function Turn({ row, fork }: { row: TurnRow; fork: RowProps["fork"] }) {
  if (row.trigger !== "end" || row.end === null) {
    const { turn } = row;
    const why = row.trigger === "background" ? "woken by its own background work" : "";
    return (
      <div className="t-turn">
        <h3>Turn {row.turn ?? "?"}</h3>
        <span className="quiet grow">{why}</span>
        {fork !== null && turn !== null && (
          <Button kind="quiet" label={`Fork from here… the end of turn ${turn}`} onPress={() => fork(turn)}>
            Fork from here…
          </Button>
        )}
      </div>
    );
  }
  const { outcome, calls, ms, error, reason } = row.end;
  const facts = [
    calls > 0 ? `${calls} model ${calls === 1 ? "call" : "calls"}` : "",
    ms === null ? "" : span(ms),
    outcome === "completed" ? "" : (reason ?? ""),
  ].filter(Boolean);
  return (
    <div className="t-turn-end">
      <Badge tone={TURN_TONES[outcome] ?? "plain"}>
        turn {row.turn} {outcome.replaceAll("_", " ")}
      </Badge>
      <span className="quiet">{plain(facts.join(" · "))}</span>
      {error !== null && <p className="t-bad">{plain(error.message)}</p>}
      {error?.hint != null && <p className="quiet">{plain(error.hint)}</p>}
    </div>
  );
}

function Said({ row }: { row: TextRow }) {
  const marks = { aborted: "broken off", retracted: "retracted" };
  return (
    <div className={`t-said${row.mark === "retracted" ? " retracted" : ""}`} aria-busy={row.live}>
      {row.live ? <p className="as-text">{plain(row.text)}</p> : <Markdown text={row.text} />}
      {row.live && <span className="t-cursor" aria-hidden="true" />}
      {row.mark !== null && <Badge tone="warn">{marks[row.mark]}</Badge>}
    </div>
  );
}

function Thought({ row, open, toggle }: { row: TextRow; open: boolean; toggle(key: string): void }) {
  return (
    <div className="t-thought">
      <button type="button" className="t-fold" aria-expanded={open} onClick={() => toggle(row.key)}>
        <KindIcon kind="thought" />
        <span className="quiet">{row.live ? "thinks" : "thought"}</span>
        {!open && <Line text={row.live ? row.text.slice(-200) : row.text} longest={160} />}
      </button>
      {open && <Lines text={row.text} lines={60} mono={false} />}
    </div>
  );
}

function Plan({ row }: { row: PlanRow }) {
  return (
    <div className="t-plan">
      <span className="t-label">Plan</span>
      {row.entries.slice(0, 100).map((entry, at) => (
        // A plan is shown as it was told, once.
        <p key={at} className={entry.status}>
          <span aria-hidden="true">{sign(entry.status)}</span> {oneLine(entry.text, 400)}{" "}
          <span className="unseen">({entry.status})</span>
        </p>
      ))}
    </div>
  );
}

function sign(status: string): string {
  if (status === "done" || status === "completed") return "✓";
  return status === "in_progress" || status === "active" ? "◐" : "○";
}

const NOTE_SIGNS = { plain: "·", warn: "!", bad: "✕" };

function Note({ row }: { row: NoteRow }) {
  const long = row.text.length > 300 || row.text.includes("\n");
  return (
    <div className={`t-note ${row.tone}`}>
      <span className="t-note-what">
        <span aria-hidden="true">{NOTE_SIGNS[row.tone]}</span> {oneLine(row.what, 80)}
      </span>
      {long ? <Lines text={row.text} lines={4} mono={row.minor} /> : <span>{plain(row.text)}</span>}
      {row.hint !== null && <span className="quiet">{plain(row.hint)}</span>}
    </div>
  );
}

const END_TONES: Record<string, Tone> = { ...TURN_TONES, stopped: "plain", timed_out: "bad" };

function End({ row }: { row: EndRow }) {
  return (
    <div className="t-end">
      <Badge tone={END_TONES[row.outcome] ?? "plain"}>run {row.outcome.replaceAll("_", " ")}</Badge>
      <span className="quiet">
        {row.turns} {row.turns === 1 ? "turn" : "turns"} · {span(row.ms)} · {row.cost}
      </span>
      {row.error !== null && <p className="t-bad">{plain(row.error.message)}</p>}
      {row.error?.hint != null && <p className="quiet">{plain(row.error.hint)}</p>}
      {row.stderr !== null && row.error !== null && <Lines text={row.stderr} lines={10} />}
    </div>
  );
}
