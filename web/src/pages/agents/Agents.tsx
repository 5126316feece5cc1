// The team, and what each of them is at.
import { Link } from "wouter";
import { api, take } from "../../api/client";
import { useQuery } from "../../api/query";
import { useLive } from "../../live/hooks";
import { Loading, ProblemBox } from "../../ui/states";
import { Table } from "../../ui/Table";

export default function Agents() {
  const agents = useQuery("agents", () => take(api.GET("/api/v1/agents")));
  const live = useLive((world) => [...world.runs.values()].filter((run) => run.phase !== "over"));
  if (agents.problem) return <ProblemBox problem={agents.problem} retry={agents.reload} />;
  if (!agents.data) return <Loading what="the agents" />;
  return (
    <div className="agents">
      <h2>Agents</h2>
      <Table
        caption="Agents"
        rows={agents.data.agents}
        id={(agent) => agent.name}
        columns={[
          { name: "Name", cell: (agent) => agent.name },
          { name: "Runtime", cell: (agent) => agent.runtime },
          { name: "Model", cell: (agent) => agent.model ?? "its own choice" },
          {
            name: "At work on",
            cell: (agent) =>
              live
                .filter((run) => run.agent === agent.name)
                .map((run) => (
                  <span key={run.id}>
                    <Link href={`/runs/${run.id}`}>{run.story}</Link>{" "}
                  </span>
                )),
          },
        ]}
      />
    </div>
  );
}
