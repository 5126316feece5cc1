// A story: what is wanted, where the work is, and the runs that worked on it.
import { Redirect, useParams } from "wouter";
import { api, take } from "../../api/client";
import { useQuery } from "../../api/query";
import type { StoryWhole } from "../../api/words";
import { useLive, useStory } from "../../live/hooks";
import { Loading, ProblemBox } from "../../ui/states";
import { Composer } from "../run/Composer";
import { Description } from "./Description";
import { Details } from "./details/Details";
import { Frame } from "./Frame";
import { Place } from "./Place";
import { Runs } from "./Runs";
import { Start } from "./Start";
import { useStoryRuns } from "./useStoryRuns";

export default function StoryPage() {
  const { story: id = "", tab } = useParams();
  const live = useStory(id);
  const ready = useLive((world) => world.ready);
  // A story whose text was edited has another time.
  const whole = useQuery(`${id} ${live?.updated_at ?? 0}`, () => {
    return take(api.GET("/api/v1/stories/{story}", { params: { path: { story: id } } }));
  });
  const { runs, older, loading, problem, reload } = useStoryRuns(id);
  const read = useLast(whole.data as StoryWhole | undefined, id);
  const story = live ?? (ready ? read : undefined);
  if (story === undefined) {
    if (whole.problem) return <ProblemBox problem={whole.problem} retry={whole.reload} />;
    return <Loading what="the story" />;
  }
  const run = runs[0];
  if (tab !== undefined && tab !== "overview" && run !== undefined) {
    const rest = tab === "transcript" ? "" : `/${tab}`;
    return <Redirect to={`/runs/${run.id}${rest}${location.hash}`} replace />;
  }
  return (
    <Frame
      story={story}
      runs={runs}
      run={run}
      foot={run !== undefined && <Composer key={run.id} run={run} story={story} />}
    >
      <div className="story">
        {read !== undefined ? (
          <Description key={id} story={{ ...story, text: read.text ?? null }} saved={whole.reload} />
        ) : whole.problem ? (
          <p className="t-bad" role="alert">
            The description cannot be read: {whole.problem.detail}.
          </p>
        ) : (
          <p className="quiet">Loading the description…</p>
        )}
        <Details key={id} story={story} />
        {run !== undefined && <Place run={run} />}
        {problem !== undefined && runs.length === 0 ? (
          <ProblemBox problem={problem} retry={reload} />
        ) : runs.length > 0 ? (
          <Runs runs={runs} older={older} />
        ) : (
          !loading && (
            <section className="story-runs">
              <h3>Runs</h3>
              <p className="quiet">No runs yet.</p>
              <Start story={story} />
            </section>
          )
        )}
      </div>
    </Frame>
  );
}

const lasts = new Map<string, StoryWhole>();

/** The newest that was read; while it is read again, the one before stays. */
function useLast(data: StoryWhole | undefined, id: string): StoryWhole | undefined {
  if (data !== undefined && data.id === id) {
    lasts.clear();
    lasts.set(id, data);
  }
  return lasts.get(id);
}
