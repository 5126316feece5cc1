// What a run has changed: the files, the lines of one of them, and comments that go back to the agent.
import { Link, useParams } from "wouter";
import { asProblem } from "../../api/problem";
import { useRun } from "../../live/hooks";
import { Phase } from "../../ui/Badge";
import { Loading, ProblemBox } from "../../ui/states";
import { Line } from "../../ui/Text";
import { Review } from "./Review";

/** As a page of its own it says whose changes these are; as a part of another page, that does. */
export default function Changes({ run: given }: { run?: string }) {
  const { run: named = "" } = useParams();
  const id = given ?? named;
  const { run, problem } = useRun(id);
  if (run === undefined) {
    if (problem !== null) return <ProblemBox problem={asProblem(problem)} />;
    return <Loading what="the run" />;
  }
  return (
    <div className="changes">
      {given === undefined && (
        <h2 className="changes-title">
          <Link href={`/runs/${id}`}>
            <Line text={run.agent} />
          </Link>{" "}
          on <Link href={`/stories/${run.story}`}>{run.story}</Link> <Phase run={run} />
        </h2>
      )}
      <Review key={id} run={run} />
    </div>
  );
}
