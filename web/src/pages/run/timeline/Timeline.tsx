// Where the time of a run went: turns, tools, waits and cost, each a way into the transcript.
import { useState } from "react";
import { Link, useLocation } from "wouter";
import type { Run } from "../../../api/words";
import { useNow } from "../../../live/clock";
import { useEvents } from "../../../live/hooks";
import { Badge } from "../../../ui/Badge";
import { about, amount, money, short, span } from "../../../ui/format";
import { Time } from "../../../ui/Numbers";
import { Empty, Loading, ProblemBox } from "../../../ui/states";
import { Line } from "../../../ui/Text";
import { VirtualList } from "../../../ui/VirtualList";
import { type Outline, type OutlineTurn, useOutline } from "../outline";
import { TURN_TONES } from "../transcript/RowView";
import { Strip } from "./Strip";
import { type By, bounds } from "./scale";

export function Timeline({ run }: { run: Run }) {
  const log = useEvents(run.id);
  const { data, problem, reload } = useOutline(run.id, log.head);
  const now = useNow();
  const [by, setBy] = useState<By>("time");
  const [, go] = useLocation();
  if (data === undefined) {
    if (problem !== undefined) return <ProblemBox problem={problem} retry={reload} />;
    return <Loading what="the timeline" />;
  }
  if (data.turns.length === 0) {
    return <Empty title="No turn yet">The time of {run.agent}'s turns, tools and waits is shown here.</Empty>;
  }
  const end = run.ended_at ?? now;
  return (
    <section className="timeline" aria-label="Timeline">
      <header className="timeline-head">
        <Sums outline={data} now={end} />
        <label>
          Scale{" "}
          <select value={by} onChange={(event) => setBy(event.target.value as By)}>
            <option value="time">by the clock</option>
            <option value="events">by events</option>
          </select>
        </label>
      </header>
      <Strip outline={data} by={by} now={end} head={log.head} go={(seq) => go(`/runs/${run.id}#e=${seq}`)} />
      {data.thinned && <p className="quiet">There is more than can be drawn: some of it is left out.</p>}
      <div className="timeline-turns">
        <VirtualList
          items={data.turns}
          id={(turn) => turn.seq}
          estimate={36}
          label="Turns"
          row={(turn) => <Turn run={run.id} turn={turn} now={end} />}
        />
      </div>
    </section>
  );
}

/** How much of the time was waited, and how much tools took. */
function Sums({ outline, now }: { outline: Outline; now: number }) {
  const [from, to] = bounds(outline, now);
  const sum = (kind: string) =>
    outline.spans
      .filter((one) => one.kind === kind)
      .reduce((ms, one) => ms + Math.max(0, (one.until ?? now) - one.at), 0);
  const costs = outline.turns.map((turn) => turn.cost_usd).filter((cost) => cost !== null);
  const cost = costs.reduce((all, one) => all + one, 0);
  return (
    <dl className="timeline-sums">
      <div>
        <dt>In all</dt>
        <dd>{span(to - from)}</dd>
      </div>
      <div>
        <dt>Turns</dt>
        <dd>{outline.turns.length}</dd>
      </div>
      <div>
        <dt>In tools</dt>
        <dd>{spent(sum("tool"))}</dd>
      </div>
      <div>
        <dt>Waited for a person</dt>
        <dd>{spent(sum("wait"))}</dd>
      </div>
      <div>
        <dt>Cost of its turns</dt>
        <dd>{amount(cost, { unknown: costs.length < outline.turns.length || costs.length === 0 })}</dd>
      </div>
    </dl>
  );
}

function spent(ms: number): string {
  return ms === 0 ? "no time" : span(ms);
}

function Turn({ run, turn, now }: { run: string; turn: OutlineTurn; now: number }) {
  const outcome = turn.outcome ?? "running";
  return (
    <Link className="timeline-turn" href={`/runs/${run}#e=${turn.seq}`}>
      <b>Turn {turn.turn}</b>
      <Time at={turn.at} />
      <Badge tone={turn.outcome === null ? "info" : (TURN_TONES[outcome] ?? "plain")}>
        {outcome.replaceAll("_", " ")}
      </Badge>
      <Line text={turn.prompt ?? ""} longest={120} />
      <span className="quiet">{span((turn.ended_at ?? now) - turn.at)}</span>
      <span className="quiet">
        {turn.tools} {turn.tools === 1 ? "tool" : "tools"}
      </span>
      <span className="quiet">{short(turn.tokens)} tokens</span>
      <span className="quiet">
        {turn.cost_usd === null ? "cost unknown" : `${about(turn)}${money(turn.cost_usd)}`}
      </span>
    </Link>
  );
}
