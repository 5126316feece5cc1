// Where a story stands on the board, from what is known of it and its runs.
import type { Ask, Run, Story } from "../../api/words";

export type Column = "backlog" | "queued" | "running" | "needs" | "review" | "done";

/** In the order of the board. */
export const COLUMNS: { id: Column; words: string; empty: string }[] = [
  { id: "backlog", words: "Backlog", empty: "Stories without a run." },
  { id: "queued", words: "Queued", empty: "Runs that wait for a slot." },
  { id: "running", words: "Running", empty: "Agents that are working." },
  { id: "needs", words: "Needs you", empty: "Agents that ask, and runs that failed." },
  { id: "review", words: "Review", empty: "Work to review." },
  { id: "done", words: "Done", empty: "Stories that are done." },
];

export function columnWords(column: Column): string {
  return COLUMNS.find((one) => one.id === column)?.words ?? column;
}

/** A run that was ended on purpose failed nobody. */
const ENDED_BY_PEOPLE = new Set(["stopped", "interrupted"]);

type Facts = Pick<Story, "state" | "latest"> & { runs: Story["runs"] };

/** Where a story is. `live` are its runs that are not over, `asks` what they wait for. */
export function columnOf(story: Facts, live: readonly Run[], asks: readonly Ask[]): Column {
  if (story.state !== "open") return "done";
  if (asks.length > 0 || story.latest?.parked === true) return "needs";
  const phases = live.length > 0 ? live.map((run) => run.phase) : livePhases(story);
  if (phases.length > 0) return phases.every((phase) => phase === "queued") ? "queued" : "running";
  const latest = story.latest;
  if (story.runs.all === 0 || latest == null) return "backlog";
  const outcome = latest.outcome ?? "lost";
  if (outcome === "completed") return "review";
  if (!ENDED_BY_PEOPLE.has(outcome)) return "needs";
  // Without a change there is nothing to look at, and it stands where it stood before.
  const changed = (latest.lines?.added ?? 0) + (latest.lines?.removed ?? 0) > 0;
  return changed ? "review" : "backlog";
}

/** The story may tell of a live run before the run itself does. */
function livePhases(story: Facts): string[] {
  if (story.runs.live === 0) return [];
  return [story.latest && story.latest.phase !== "over" ? story.latest.phase : "live"];
}
