// A story: what is wanted, and the runs that worked on it.
import { Link, useParams } from "wouter";
import { api, take } from "../../api/client";
import { useQuery } from "../../api/query";
import { useStory } from "../../live/hooks";
import { Phase } from "../../ui/Badge";
import { Markdown } from "../../ui/Markdown";
import { Age, Money } from "../../ui/Numbers";
import { Loading, ProblemBox } from "../../ui/states";
import { Table } from "../../ui/Table";
import { Line } from "../../ui/Text";

export default function StoryPage() {
  const { story: id = "" } = useParams();
  const live = useStory(id);
  // A story whose text was edited has another time.
  const whole = useQuery(`${id} ${live?.updated_at ?? 0}`, () => {
    return take(api.GET("/api/v1/stories/{story}", { params: { path: { story: id } } }));
  });
  const runs = useQuery(`${id} ${live?.runs.all ?? 0} ${live?.runs.live ?? 0}`, () => {
    return take(api.GET("/api/v1/runs", { params: { query: { story: id } } }));
  });
  if (whole.problem && !whole.data) return <ProblemBox problem={whole.problem} retry={whole.reload} />;
  if (!whole.data) return <Loading what="the story" />;
  return (
    <div className="story">
      <h2>
        <Line text={live?.title ?? whole.data.title ?? id} />
      </h2>
      <Markdown text={whole.data.text ?? ""} />
      <Table
        caption="Runs"
        rows={runs.data?.runs ?? []}
        id={(run) => run.id}
        columns={[
          { name: "Run", cell: (run) => <Link href={`/runs/${run.id}`}>{run.id}</Link> },
          { name: "Agent", cell: (run) => run.agent },
          { name: "State", cell: (run) => <Phase run={run} /> },
          { name: "Queued", cell: (run) => <Age at={run.queued_at} /> },
          { name: "Cost", cell: (run) => <Money spent={run.spent} />, number: true },
        ]}
      />
    </div>
  );
}
