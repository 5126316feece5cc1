// What agents are at, live from the feed, and what their processes hold in memory.
import { Link } from "wouter";
import type { Run } from "../../api/words";
import { useLive, useStory, useWaiting } from "../../live/hooks";
import { waitingFor } from "../../ui/asked";
import { Badge, Phase } from "../../ui/Badge";
import { Elapsed, heardAt, Quiet } from "../../ui/Numbers";
import { oneLine } from "../../ui/plain";
import type { Member } from "../../ui/story/team";
import { Line } from "../../ui/Text";

/** So many runs of an agent are named. */
const NAMED = 8;

/** The runs that are not over, by agent. */
export function useAtWork(): Map<string, Run[]> {
  const live = useLive((world) => [...world.runs.values()].filter((run) => run.phase !== "over"));
  const groups = new Map<string, Run[]>();
  for (const run of live) groups.set(run.agent, [...(groups.get(run.agent) ?? []), run]);
  return groups;
}

export function Limits() {
  const limits = useLive((world) => world.project?.limits ?? null);
  if (limits === null) return null;
  return (
    <span className="quiet">
      at most {limits.runs} runs, {limits.runs_per_agent} of an agent, {limits.runs_per_story} on a story
    </span>
  );
}

export function RunsOf({ member, runs }: { member: Member; runs: readonly Run[] }) {
  const limit = useLive((world) => world.project?.limits.runs_per_agent ?? null);
  const running = runs.filter((run) => run.phase !== "queued").length;
  const full = limit !== null && running >= limit;
  return (
    <span className="agent-cell">
      <span className="quiet">
        {running}
        {limit === null ? "" : ` of ${limit}`} {running === 1 && limit === null ? "run" : "runs"}
        {runs.length > running ? `, ${runs.length - running} queued` : ""}
        {full ? "; the next waits" : ""}
      </span>
      {runs.length > 0 && (
        <ul className="agent-runs" aria-label={`Runs of ${member.name}`}>
          {runs.slice(0, NAMED).map((run) => (
            <RunRow key={run.id} run={run} />
          ))}
          {runs.length > NAMED && <li className="quiet">and {runs.length - NAMED} more</li>}
        </ul>
      )}
    </span>
  );
}

function RunRow({ run }: { run: Run }) {
  const story = useStory(run.story);
  const activity = useLive((world) => world.activity.get(run.id));
  const last = activity?.text ?? "";
  const waiting = useWaiting(run.id);
  return (
    <li>
      <Link href={`/runs/${run.id}`}>
        <Line text={story?.title ?? run.story} longest={100} />
      </Link>
      {waiting !== undefined ? (
        <Link href={`/inbox/${run.id}/${encodeURIComponent(waiting.ask)}`}>
          <Badge tone="warn">{oneLine(waitingFor(waiting), 80)}</Badge>
        </Link>
      ) : (
        <Phase run={run} />
      )}
      {run.note != null && <span className="quiet">{oneLine(run.note, 120)}</span>}
      <Quiet since={heardAt(run, activity, waiting !== undefined)} />
      <Elapsed from={run.started_at ?? run.queued_at} />
      {last !== "" && (
        <span className="quiet agent-now">
          <Line text={last} longest={120} />
        </span>
      )}
    </li>
  );
}

/** What the processes of its runs hold, as far as they were there when the server looked. */
export function Memory({ member, runs }: { member: Member; runs: readonly Run[] }) {
  const known = member.runs.filter((run) => runs.some((other) => other.id === run.run));
  const bytes = known.reduce((sum, run) => sum + (run.memory_bytes ?? 0), 0);
  if (bytes === 0) return <span className="not-on-phone">–</span>;
  return (
    <span>
      {size(bytes)} <span className="phone-only">of memory</span>
    </span>
  );
}

export function size(bytes: number): string {
  const mib = bytes / (1024 * 1024);
  if (mib < 1) return "< 1 MiB";
  return mib < 1024 ? `${Math.round(mib)} MiB` : `${(mib / 1024).toFixed(1)} GiB`;
}
