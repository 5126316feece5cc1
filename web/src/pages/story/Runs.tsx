// The runs that worked on a story, the newest first.
import { Link } from "wouter";
import type { Run } from "../../api/words";
import { Phase } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Age, Elapsed, Money, PlusMinus } from "../../ui/Numbers";
import { oneLine } from "../../ui/plain";
import { Table } from "../../ui/Table";

const KINDS: Record<string, string> = {
  retry: "retry of",
  resume: "continues",
  fork: "fork of",
  restart: "restart of",
};

export function Runs({ runs, older }: { runs: readonly Run[]; older: (() => void) | null }) {
  return (
    <div className="story-runs">
      <h3>Runs</h3>
      <Table
        caption="Runs"
        rows={runs.slice(0, 200)}
        id={(run) => run.id}
        columns={[
          {
            name: "Run",
            cell: (run) => (
              <>
                <Link href={`/runs/${run.id}`}>{run.id}</Link>
                {run.of != null && (
                  <span className="quiet">
                    {" "}
                    {KINDS[run.kind] ?? run.kind} {run.of}
                  </span>
                )}
              </>
            ),
          },
          { name: "Agent", cell: (run) => run.agent },
          { name: "State", cell: (run) => <State run={run} /> },
          {
            name: "Changed",
            cell: (run) =>
              run.lines != null && run.lines.added + run.lines.removed > 0 && <PlusMinus lines={run.lines} />,
            number: true,
          },
          {
            name: "Took",
            cell: (run) =>
              run.started_at != null && <Elapsed from={run.started_at} to={run.ended_at ?? null} />,
            number: true,
          },
          { name: "Cost", cell: (run) => <Money spent={run.spent} />, number: true },
          { name: "Queued", cell: (run) => <Age at={run.queued_at} sentence />, number: true },
        ]}
      />
      {older !== null && <Button onPress={older}>Older runs</Button>}
    </div>
  );
}

function State({ run }: { run: Run }) {
  const error = run.error as { message?: string } | null | undefined;
  return (
    <>
      <Phase run={run} />
      {error?.message !== undefined && <p className="t-bad">{oneLine(error.message, 160)}</p>}
      {run.finish_error != null && <p className="t-bad">{oneLine(run.finish_error, 160)}</p>}
    </>
  );
}
