// Messages that wait for the end of the turn: shown as queued, and taken back with a button until the agent was told.
import { api, take } from "../../api/client";
import type { Run } from "../../api/words";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { oneLine } from "../../ui/plain";
import { attempt, say } from "../../ui/toast";

interface Props {
  run: Run;
  /** What was taken back can be written anew. */
  back(text: string): void;
}

export function QueuedList({ run, back }: Props) {
  const queued = run.queued ?? [];
  if (queued.length === 0) return null;
  const takeBack = (id: string, text: string) =>
    attempt(async () => {
      const path = { run: run.id, id };
      await take(api.DELETE("/api/v1/runs/{run}/queued/{id}", { params: { path }, body: {} }));
      back(text);
      say(`Withdrawn: ${oneLine(text, 80)}`);
    });
  return (
    <ul className="queued-list" aria-label="Queued messages">
      {queued.map(({ id, text }) => (
        <li key={id}>
          <Badge>Queued for the next turn</Badge>
          <bdi className="grow">{oneLine(text, 300)}</bdi>
          <Button
            kind="quiet"
            label={`Withdraw: ${oneLine(text, 60)}`}
            onPress={() => void takeBack(id, text)}
          >
            Withdraw
          </Button>
        </li>
      ))}
    </ul>
  );
}
