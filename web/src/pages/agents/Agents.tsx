// The team: who there is, whether each can work, and what each is at.
import { useMemo } from "react";
import { Link } from "wouter";
import { useActions } from "../../keys/registry";
import { Button } from "../../ui/Button";
import { Fix } from "../../ui/CopyText";
import { Health } from "../../ui/Health";
import { Time } from "../../ui/Numbers";
import { plain } from "../../ui/plain";
import { Empty, Loading, ProblemBox } from "../../ui/states";
import { type Member, useTeam } from "../../ui/story/team";
import { Table } from "../../ui/Table";
import { Line } from "../../ui/Text";
import { Limits, Memory, RunsOf, useAtWork } from "./AtWork";

export default function Agents() {
  const { data, problem, reload } = useTeam();
  const atWork = useAtWork();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the team was looked at when it came.
  const looked = useMemo(() => Date.now(), [data]);
  useActions("Agents", [
    { id: "agents.again", words: "Refresh programs and memory", keys: ["r"], run: reload },
  ]);
  if (problem && !data) return <ProblemBox problem={problem} retry={reload} />;
  if (!data) return <Loading what="the agents" />;
  return (
    <div className="agents">
      <header className="agents-head">
        <h2>Agents</h2>
        <Limits />
        <span className="grow" />
        <span className="quiet">
          memory as of <Time at={looked} />
        </span>
        <Button hint="r" onPress={reload}>
          Refresh
        </Button>
      </header>
      {problem && <p className="story-problem">{plain(problem.detail)}. Data may be out of date.</p>}
      {data.length === 0 ? (
        <Empty title="No agent yet" action={<Link href="/settings">See the project file</Link>}>
          The project file has no agents. Add one there.
        </Empty>
      ) : (
        <Table
          caption="Agents"
          rows={data}
          id={(member) => member.name}
          columns={[
            { name: "Agent", cell: (member) => <Name member={member} /> },
            { name: "Played by", cell: (member) => <PlayedBy member={member} /> },
            { name: "Health", cell: (member) => <HealthOf member={member} /> },
            {
              name: "Working on",
              cell: (member) => <RunsOf member={member} runs={atWork.get(member.name) ?? []} />,
            },
            {
              name: "Memory",
              number: true,
              cell: (member) => <Memory member={member} runs={atWork.get(member.name) ?? []} />,
            },
          ]}
        />
      )}
    </div>
  );
}

function Name({ member }: { member: Member }) {
  return (
    <span className="agent-cell">
      <strong>
        <Line text={member.name} longest={60} />
      </strong>
      {member.role != null && member.role !== "" && (
        <span className="quiet">
          <Line text={member.role} longest={80} />
        </span>
      )}
    </span>
  );
}

function PlayedBy({ member }: { member: Member }) {
  return (
    <span className="agent-cell">
      <Line text={[member.runtime, member.version].filter(Boolean).join(" ")} longest={80} />
      {member.model != null && (
        <span className="quiet">
          <Line text={member.model} longest={80} />
        </span>
      )}
    </span>
  );
}

function HealthOf({ member }: { member: Member }) {
  const { health } = member;
  return (
    <span className="agent-cell">
      <span>
        <Health health={health} />
      </span>
      {health !== undefined && health.state !== "ok" && <span>{plain(health.detail)}</span>}
      {health?.fix != null && (
        <span>
          <Fix text={health.fix} />
        </span>
      )}
    </span>
  );
}
