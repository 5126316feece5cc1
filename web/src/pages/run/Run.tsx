// A run: what was said and done in it, what it changed, where its time went, and which hosts it spoke to.
import { lazy, Suspense } from "react";
import { useParams } from "wouter";
import { api, take } from "../../api/client";
import { asProblem } from "../../api/problem";
import { useQuery } from "../../api/query";
import { useRun, useStory } from "../../live/hooks";
import { Empty, Loading, ProblemBox } from "../../ui/states";
import { Frame } from "../story/Frame";
import { useStoryRuns } from "../story/useStoryRuns";
import { Composer } from "./Composer";
import { Timeline } from "./timeline/Timeline";
import { Transcript } from "./transcript/Transcript";

const Changes = lazy(() => import("../changes/Changes"));
const NetworkTab = lazy(() => import("./network/NetworkTab"));

export default function RunPage() {
  const { run: id = "", tab = "transcript" } = useParams();
  const { run, problem } = useRun(id);
  const live = useStory(run?.story ?? "");
  // A story that was put away is not in the store.
  const read = useQuery(run !== undefined && live === undefined ? run.story : null, () =>
    take(api.GET("/api/v1/stories/{story}", { params: { path: { story: run?.story ?? "" } } })),
  );
  const { runs } = useStoryRuns(run?.story ?? "");
  const story = live ?? read.data;
  if (run === undefined) {
    if (problem !== null) return <ProblemBox problem={asProblem(problem)} />;
    return <Loading what="the run" />;
  }
  if (story === undefined) {
    if (read.problem) return <ProblemBox problem={read.problem} retry={read.reload} />;
    return <Loading what="the story" />;
  }
  return (
    <Frame
      story={story}
      runs={runs}
      run={run}
      foot={tab !== "changes" && <Composer key={id} run={run} story={story} />}
    >
      {tab === "transcript" ? (
        <Transcript key={id} run={run} open={story.state === "open"} />
      ) : tab === "timeline" ? (
        <Timeline key={id} run={run} />
      ) : tab === "changes" ? (
        <Suspense fallback={<Loading what="the changes" />}>
          <Changes key={id} run={id} />
        </Suspense>
      ) : tab === "network" ? (
        <Suspense fallback={<Loading what="the network" />}>
          <NetworkTab key={id} run={run} />
        </Suspense>
      ) : (
        <Empty title="There is no such view">
          A run has a transcript, changes, a timeline and a network.
        </Empty>
      )}
    </Frame>
  );
}
