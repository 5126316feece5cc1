// Says once that a list shows many stories better than columns do.
import { useState } from "react";
import { Button } from "../../ui/Button";
import type { Look } from "./filters";

const MANY = 200;
const KEY = "musher.board.many";

export function ManyHint({ count, look }: { count: number; look: Look }) {
  const [heard, setHeard] = useState(() => localStorage.getItem(KEY) !== null);
  if (count <= MANY || heard || look.view === "list") return null;
  const close = () => {
    localStorage.setItem(KEY, "1");
    setHeard(true);
  };
  return (
    <p className="many-hint" role="status">
      <span>These are {count} stories. A list shows more of them at once.</span>
      <Button hint="v" onPress={() => look.set({ view: "list" })}>
        Show a list
      </Button>
      <Button kind="quiet" onPress={close}>
        Keep the columns
      </Button>
    </p>
  );
}
