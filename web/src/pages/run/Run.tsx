// A run: its log as it grows.
import { Link, useParams } from "wouter";
import { asProblem } from "../../api/problem";
import { useEvents, useRun } from "../../live/hooks";
import { Phase } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Loading, ProblemBox } from "../../ui/states";
import { Line } from "../../ui/Text";
import { VirtualList } from "../../ui/VirtualList";

export default function RunPage() {
  const { run: id = "" } = useParams();
  const { run, problem } = useRun(id);
  const log = useEvents(id);
  if (problem !== null && run === undefined) return <ProblemBox problem={asProblem(problem)} />;
  if (run === undefined) return <Loading what="the run" />;
  return (
    <div className="run">
      <h2>
        {run.agent} on <Link href={`/stories/${run.story}`}>{run.story}</Link> <Phase run={run} />
      </h2>
      <p>
        <Link href={`/runs/${id}/changes`}>Changes</Link>
      </p>
      {(log.events[0]?.seq ?? 1) > 1 && <Button onPress={log.older}>Earlier</Button>}
      <VirtualList
        items={log.events}
        id={(event) => event.seq}
        estimate={28}
        label="Events"
        row={(event) => (
          <div className="run-row">
            <span className="quiet">{event.type}</span> <Line text={JSON.stringify(event)} />
          </div>
        )}
      />
    </div>
  );
}
