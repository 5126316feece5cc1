// Starts an agent on a story that nobody works on.
import { useLocation } from "wouter";
import { api, take } from "../../api/client";
import { useQuery } from "../../api/query";
import type { Story } from "../../api/words";
import { Button } from "../../ui/Button";
import { Menu } from "../../ui/Menu";
import { attempt } from "../../ui/toast";

export function Start({ story }: { story: Story }) {
  const [, go] = useLocation();
  const team = useQuery("agents", () => take(api.GET("/api/v1/agents"))).data?.agents ?? [];
  // The agent of the story is offered first.
  const own = team.filter(({ name }) => name === story.agent);
  const agents = [...own, ...team.filter(({ name }) => name !== story.agent)];
  const start = (agent: string) =>
    void attempt(async () => {
      const path = { story: story.id };
      const body = { agent };
      const receipt = await take(api.POST("/api/v1/stories/{story}/start", { params: { path }, body }));
      if (receipt.status === "queued") go(`/runs/${receipt.run}`);
    });
  const first = agents[0];
  if (story.state !== "open" || first === undefined) return null;
  return (
    <div className="story-buttons">
      <Button kind="primary" onPress={() => start(first.name)}>
        Start {first.name}
      </Button>
      {agents.length > 1 && (
        <Menu
          label="Start another agent"
          face="Another agent…"
          kind="normal"
          actions={agents.slice(1).map((agent) => ({
            id: agent.name,
            words: agent.name,
            about: agent.runtime,
            run: () => start(agent.name),
          }))}
        />
      )}
    </div>
  );
}
