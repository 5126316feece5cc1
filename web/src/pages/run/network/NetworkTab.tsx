// The hosts that an agent spoke to: how often, how much, and who let it.
import type { Run } from "../../../api/words";
import { useEvents } from "../../../live/hooks";
import { Badge } from "../../../ui/Badge";
import { plain } from "../../../ui/plain";
import { Empty, Loading, ProblemBox } from "../../../ui/states";
import { Table } from "../../../ui/Table";
import { useGrowing } from "../outline";
import { bytes, decidedBy, type HostTraffic, type Network, standing, total } from "./words";

export default function NetworkTab({ run }: { run: Run }) {
  const log = useEvents(run.id);
  const { data, problem, reload } = useGrowing<Network>(`/runs/${run.id}/network`, log.head);
  if (data === undefined) {
    if (problem !== undefined) return <ProblemBox problem={problem} retry={reload} />;
    return <Loading what="the network" />;
  }
  return <Hosts run={run} data={data} />;
}

/** What is known by now. */
export function Hosts({ run, data }: { run: Pick<Run, "agent" | "phase">; data: Network }) {
  if (!data.proxied) return <NotCounted agent={run.agent} profile={data.profile ?? null} />;
  if (data.hosts.length === 0) {
    return (
      <Empty title="No connection yet">
        Each host that {run.agent} speaks to is shown here, with how much was sent and received.
      </Empty>
    );
  }
  const sum = total(data);
  const rows: HostTraffic[] = [
    ...data.hosts,
    ...(data.others == null ? [] : [{ host: "other hosts", by: null, ...data.others }]),
  ];
  return (
    <section className="network" aria-label="Network">
      <p>
        Connections: {sum.connections}, refused: {sum.refused}. Sent: {bytes(sum.sent)}, received:{" "}
        {bytes(sum.received)}.
      </p>
      <Table
        caption="Hosts"
        rows={rows}
        id={(host) => host.host}
        columns={[
          { name: "Host", cell: (host) => <code>{plain(host.host)}</code> },
          {
            name: "State",
            cell: (host) => {
              const { words, tone } = standing(host);
              return <Badge tone={tone}>{words}</Badge>;
            },
          },
          { name: "Connections", number: true, cell: (host) => host.connections },
          { name: "Refused", number: true, cell: (host) => host.refused },
          { name: "Sent", number: true, cell: (host) => bytes(host.sent) },
          { name: "Received", number: true, cell: (host) => bytes(host.received) },
          { name: "Decided by", cell: (host) => plain(decidedBy(host)) },
        ]}
      />
      {run.phase !== "over" && (
        <p className="quiet">
          New hosts are shown at once, figures at the end of each turn and every minute.
        </p>
      )}
    </section>
  );
}

/** What to do where connections cannot be counted. */
function NotCounted({ agent, profile }: { agent: string; profile: string | null }) {
  if (profile === null) {
    return <Empty title="Not started yet">The hosts that {agent} speaks to are shown here.</Empty>;
  }
  return (
    <Empty title="Connections are not counted">
      {profile === "off"
        ? `${agent} ran without a sandbox`
        : `The sandbox of ${agent} has the profile ${profile}, which uses the network of this machine`}
      . Set <code>profile = "strict"</code> under <code>[sandbox]</code> in the project file to let it reach
      only the hosts that you allow, and to see them here.
    </Empty>
  );
}
