// What a run did last, in a few lines.
import { api, take } from "../../api/client";
import { useQuery } from "../../api/query";
import type { RunEvent } from "../../api/words";
import { eventLine } from "../../ui/eventLine";
import { Line } from "../../ui/Text";

/** So many lines are shown, out of so many events. */
const SHOWN = 5;
const READ = 60;

export function Recent({ run, before }: { run: string; before: number | null }) {
  const events = useQuery(`${run} ${before}`, () => {
    return take(api.GET("/api/v1/runs/{run}/events", { params: { path: { run }, query: { last: READ } } }));
  });
  const known = ((events.data?.events ?? []) as unknown as RunEvent[])
    .filter((event) => before === null || event.seq < before)
    .flatMap((event) => {
      const line = eventLine(event);
      return line === null ? [] : [{ seq: event.seq, ...line }];
    })
    .slice(-SHOWN);
  if (known.length === 0) return null;
  return (
    <section className="recent" aria-labelledby="recent-title">
      <h3 id="recent-title">Before this</h3>
      <ol>
        {known.map((line) => (
          <li key={line.seq} className={line.failed ? "failed" : undefined}>
            <span className="quiet">{line.what}</span> <Line text={line.text} longest={200} />
          </li>
        ))}
      </ol>
    </section>
  );
}
