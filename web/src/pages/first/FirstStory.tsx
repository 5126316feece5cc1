// The first story: written already, started with one button, and followed here until it is over.
import { useMemo, useState } from "react";
import { Link } from "wouter";
import { asProblem, type Problem } from "../../api/problem";
import { useLive, useStory } from "../../live/hooks";
import { asked } from "../../ui/asked";
import { Phase } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Elapsed, Money, PlusMinus } from "../../ui/Numbers";
import { ProblemLine } from "../../ui/ProblemLine";
import { oneLine } from "../../ui/plain";
import { AgentChoice } from "../../ui/story/AgentChoice";
import { add, start } from "../../ui/story/commands";
import { type Member, rehearses, remember, usual } from "../../ui/story/team";
import { Line } from "../../ui/Text";

const REHEARSAL = {
  title: "Try a scripted run",
  text: "A script plays the agent: it needs no key, costs nothing, and shows each step of a run.",
};
const REAL = {
  title: "Explain what this project is",
  text: "Read the repository and describe in a few sentences what it is for and how it is built and tested. Change nothing.",
};

/** Who plays the first story: one that rehearses if there is one, else whoever can be started. */
function firstAgent(team: readonly Member[]): string | undefined {
  const rehearsal = team.find((member) => rehearses(member) && member.health?.state !== "missing");
  return rehearsal?.name ?? usual(team);
}

export function FirstStory({ team, begun }: { team: readonly Member[]; begun(story: string): void }) {
  const [picked, pick] = useState<string | null>(null);
  const agent = picked ?? firstAgent(team);
  const member = team.find((one) => one.name === agent);
  const [typed, type] = useState<{ title?: string; text?: string }>({});
  const { title, text } = { ...(member && rehearses(member) ? REHEARSAL : REAL), ...typed };
  // Another text is another story, though the same form sends it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key belongs to the words.
  const key = useMemo(() => crypto.randomUUID(), [title, text]);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const go = async () => {
    if (agent === undefined || busy) return;
    setBusy(true);
    setProblem(null);
    try {
      const story = await add(title, text, key);
      await start(story, { agent });
      remember(agent, "");
      begun(story);
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };
  return (
    <form
      className="first-story"
      onSubmit={(event) => {
        event.preventDefault();
        void go();
      }}
    >
      <label className="story-field">
        Title
        <input value={title} onChange={(event) => type({ ...typed, title: event.target.value })} />
      </label>
      <label className="story-field">
        Description
        <textarea rows={3} value={text} onChange={(event) => type({ ...typed, text: event.target.value })} />
      </label>
      <AgentChoice team={team} chosen={agent} choose={pick} />
      <ProblemLine problem={problem} />
      <div className="story-buttons">
        <Button kind="primary" type="submit" isDisabled={busy || agent === undefined || title.trim() === ""}>
          {member && rehearses(member)
            ? "Start the scripted run"
            : `Start ${oneLine(agent ?? "an agent", 30)}`}
        </Button>
        <Link href="/board">Go to the board without</Link>
      </div>
    </form>
  );
}

/** The first story as it goes on. */
export function Underway({ story: id }: { story: string }) {
  const story = useStory(id);
  const { run, activity, ask } = useLive((world) => {
    const latest = world.stories.get(id)?.latest?.run;
    const live = [...world.runs.values()].findLast((one) => one.story === id);
    const found = live ?? (latest === undefined ? undefined : world.runs.get(latest));
    return {
      run: found,
      activity: found && world.activity.get(found.id)?.text,
      ask: [...world.asks.values()].find((one) => one.story === id && one.state === "open"),
    };
  });
  const over = run?.phase === "over";
  return (
    <section className="underway" aria-label="The first story">
      <p role="status">
        {over
          ? run.outcome === "completed"
            ? "The first story is finished."
            : "The run has ended without finishing."
          : "An agent is working. You can leave this page; it continues."}
      </p>
      <div className="underway-card">
        <strong>
          <Line text={story?.title ?? id} longest={160} />
        </strong>
        {run && (
          <p className="underway-facts">
            <Phase run={run} /> <Line text={run.agent} longest={40} />{" "}
            <Elapsed from={run.started_at ?? run.queued_at} to={run.ended_at} />{" "}
            {run.lines != null && <PlusMinus lines={run.lines} />} {over && <Money spent={run.spent} />}
          </p>
        )}
        {!over && !ask && activity && (
          <p className="quiet underway-now">
            <Line text={activity} longest={200} />
          </p>
        )}
        {ask && (
          <p className="story-problem warn">
            {ask.agent} asks: {oneLine(asked(ask), 160)}
          </p>
        )}
      </div>
      <div className="story-buttons">
        {ask && (
          <Link className="as-button" href={`/inbox/${ask.run}/${encodeURIComponent(ask.ask)}`}>
            Answer
          </Link>
        )}
        {run && <Link href={`/runs/${run.id}`}>{over ? "Read the transcript" : "Watch it"}</Link>}
        {run && over && <Link href={`/runs/${run.id}/changes`}>See the changes</Link>}
        <Link href="/board">Go to the board</Link>
      </div>
    </section>
  );
}
