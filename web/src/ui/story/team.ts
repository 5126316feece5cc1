// The team as dialogs offer it, and whom somebody chose the last time.
import { api, take } from "../../api/client";
import { type Query, useQuery } from "../../api/query";
import type { Agent } from "../../api/words";

/** Whether something can be started, and what to do if it cannot. */
export interface Fitness {
  state: "ok" | "untested" | "missing";
  detail: string;
  fix?: string | null;
}

export interface AtWork {
  run: string;
  story: string;
  phase: string;
  started_at?: number | null;
  open_asks?: number;
  memory_bytes?: number | null;
}

/** A seat on the team with what the server found out about its program. */
export type Member = Omit<Agent, "runs"> & {
  program?: string | null;
  version?: string | null;
  health?: Fitness;
  runs: AtWork[];
};

/** The last answer, so that a dialog has somebody to offer at once. */
let known: Member[] | undefined;

export function useTeam(wanted = true): Query<Member[]> {
  const query = useQuery(wanted ? "agents" : null, async () => {
    const { agents } = await take(api.GET("/api/v1/agents"));
    known = agents as Member[];
    return known;
  });
  if (query.data !== undefined || known === undefined) return query;
  return { ...query, data: known, loading: false };
}

const KEY = "musher.start";

interface Remembered {
  agent?: string;
  models?: Record<string, string>;
}

function remembered(): Remembered {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Remembered;
  } catch {
    return {};
  }
}

/** Keeps whom somebody chose, and the model for that agent. */
export function remember(agent: string, model: string): void {
  const models = { ...remembered().models };
  if (model === "") delete models[agent];
  else models[agent] = model;
  localStorage.setItem(KEY, JSON.stringify({ agent, models }));
}

export function rememberedModel(agent: string): string {
  return remembered().models?.[agent] ?? "";
}

/** Who is offered first: who worked on it before, who was chosen the last time, the first that can be started. */
export function usual(team: readonly Member[], before?: string | null): string | undefined {
  const fit = team.filter((member) => member.health?.state !== "missing");
  for (const name of [before, remembered().agent]) {
    if (name != null && fit.some((member) => member.name === name)) return name;
  }
  return (fit[0] ?? team[0])?.name;
}

/** An agent that plays a script needs no key and costs nothing, so it can rehearse. */
export function rehearses(member: Pick<Member, "runtime">): boolean {
  return member.runtime === "script";
}
