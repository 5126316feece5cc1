// What an address named that no longer waits: another item never takes its place by itself.
import { Link } from "wouter";
import type { Ask } from "../../api/words";
import { useLive } from "../../live/hooks";
import { asked } from "../../ui/asked";
import { Button } from "../../ui/Button";
import { Line } from "../../ui/Text";
import { SettledMark } from "./SettledMark";
import { useSettled } from "./settled";

export function Missing({ named, onward }: { named: string; onward(): void }) {
  const ask = useLive((world) => world.settled.get(named));
  return (
    <article className="ask">
      <header className="ask-head">
        <Link href="/inbox" className="ask-back">
          ‹ Inbox
        </Link>
        <h2 id="inbox-title">No longer waiting</h2>
      </header>
      {ask === undefined ? <p>This item is no longer open.</p> : <Settled ask={ask} />}
      <div className="ask-buttons">
        <Button hint="j" onPress={onward}>
          Next
        </Button>
      </div>
    </article>
  );
}

function Settled({ ask }: { ask: Ask }) {
  const settled = useSettled(ask);
  return (
    <>
      <p>
        <Line text={asked(ask)} longest={300} />
      </p>
      <SettledMark settled={settled} />
    </>
  );
}
