// The runs of a story: read once, and kept up to date by the feed.
import { useMemo, useState } from "react";
import { api, take } from "../../api/client";
import type { Problem } from "../../api/problem";
import { useQuery } from "../../api/query";
import type { Run } from "../../api/words";
import { useLive } from "../../live/hooks";

/** So many are read at once. */
const PAGE = 100;

export interface StoryRuns {
  /** The newest first. */
  runs: Run[];
  loading: boolean;
  problem: Problem | undefined;
  /** Reads those before, if there are more. */
  older: (() => void) | null;
  reload(): void;
}

export function useStoryRuns(story: string): StoryRuns {
  const [before, setBefore] = useState<string | null>(null);
  const live = useLive((world) => [...world.runs.values()].filter((run) => run.story === story));
  const page = useQuery(story === "" ? null : `${story} ${before ?? ""}`, () => {
    const query = before === null ? { story, limit: PAGE } : { story, limit: PAGE, before };
    return take(api.GET("/api/v1/runs", { params: { query } }));
  });
  const runs = useMemo(() => {
    const all = new Map<string, Run>();
    for (const run of (page.data?.runs ?? []) as Run[]) all.set(run.id, run);
    if (before === null) for (const run of live) all.set(run.id, run);
    return [...all.values()].sort((a, b) => b.queued_at - a.queued_at || number(b.id) - number(a.id));
  }, [page.data, live, before]);
  const next = page.data?.next ?? null;
  const older = next === null ? null : () => setBefore(next);
  return { runs, loading: page.loading, problem: page.problem, older, reload: page.reload };
}

function number(id: string): number {
  return Number(id.replace(/\D/g, ""));
}
