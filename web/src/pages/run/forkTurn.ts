// A fork from the end of a turn: who can do that, and which turn of the session is meant.
import { api, take, takeRaw } from "../../api/client";
import { made, ProblemError } from "../../api/problem";
import type { Run } from "../../api/words";
import type { Question } from "../../ui/Confirm";
import type { Member } from "../../ui/story/team";
import { works } from "./actions";
import type { Outline } from "./outline";

const UNCOUNTED = made(
  "turns_uncounted",
  0,
  "the turns of this session cannot be counted",
  "fork the run as a whole",
);

/** Why a run cannot be forked from one of its turns, or null if it can. */
export function whyNoTurns(run: Run, team: readonly Member[] | undefined, open: boolean): string | null {
  if (!open) return "The story takes no more runs. Reopen it first.";
  if (run.session == null) return "The run has no session yet that could be forked.";
  const member = team?.find(({ name }) => name === run.agent);
  if (member === undefined) return "It is not known yet whether this agent can be forked from a turn.";
  if (!member.forks_turns)
    return `${run.agent} can only be forked as a whole: it keeps its session to itself.`;
  if (run.kind === "fork") return "A fork can only be forked as a whole: its first turns are not its own.";
  return null;
}

/** How many turns the session had before this run; null if that cannot be told. */
async function turnsBefore(run: Run): Promise<number | null> {
  let turns = 0;
  let at = run;
  while (at.kind === "resume" || at.kind === "restart") {
    if (at.of == null) return null;
    const path = { run: at.of };
    const before = (await take(api.GET("/api/v1/runs/{run}", { params: { path } }))) as Run;
    // A session that could not be gone on with was begun anew.
    if (before.session !== at.session) return turns;
    const outline = await takeRaw<Outline>(`/runs/${before.id}/outline`);
    if (outline.thinned) return null;
    turns += outline.turns.length;
    at = before;
  }
  return at.kind === "fork" ? null : turns;
}

/** Asks before a fork from the end of a turn of this run. */
export function forkQuestion(run: Run, turn: number, go: (path: string) => void): Question {
  return {
    title: `Fork ${run.id} from turn ${turn}`,
    about: `Queues a new run that continues the session from the end of turn ${turn}, in its own worktree with the current files. This run is not changed.`,
    yes: "Fork",
    words: { label: "Message to the fork (optional)" },
    run: async (text) => {
      const before = await turnsBefore(run);
      if (before === null) throw new ProblemError(UNCOUNTED);
      const body = { turn: before + turn, ...(text === "" ? {} : { text }) };
      const params = { path: { run: run.id } };
      await works(() => take(api.POST("/api/v1/runs/{run}/fork", { params, body })), "Forked.", go);
    },
  };
}
