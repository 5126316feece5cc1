// The first steps in a new project.
import { Link } from "wouter";
import { api, take } from "../../api/client";
import { useQuery } from "../../api/query";
import { Loading, ProblemBox } from "../../ui/states";

export default function First() {
  const agents = useQuery("agents", () => take(api.GET("/api/v1/agents")));
  if (agents.problem) return <ProblemBox problem={agents.problem} retry={agents.reload} />;
  if (!agents.data) return <Loading what="the team" />;
  return (
    <div className="first">
      <h2>First steps</h2>
      <p>
        {agents.data.agents.length} agents are named in the project file.{" "}
        <Link href="/board">Write a first story.</Link>
      </p>
    </div>
  );
}
