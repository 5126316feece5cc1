// The inbox: what waits for a person, one after the other, each answered with one key.

import { useLive } from "../../live/hooks";
import { asked } from "../../ui/asked";
import { Age } from "../../ui/Numbers";
import { Empty, Loading } from "../../ui/states";
import { Line } from "../../ui/Text";
import { useInbox } from "./items";

export default function Inbox() {
  const ready = useLive((world) => world.ready);
  const items = useInbox();
  if (!ready) return <Loading what="the inbox" />;
  if (items.length === 0)
    return <Empty title="Nothing waits for you">Agents that need you appear here.</Empty>;
  return (
    <ul>
      {items.map((item) => (
        <li key={item.key}>
          <Line text={item.kind === "ask" ? asked(item.ask) : item.outcome} /> <Age at={item.at} />
        </li>
      ))}
    </ul>
  );
}
