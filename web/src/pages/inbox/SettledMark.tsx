// The mark on an item that was settled elsewhere while somebody looked at it: what was decided, and by whom.
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import type { Settled } from "./settled";

interface Props {
  settled: Settled | null;
  onward?: (() => void) | undefined;
}

export function SettledMark({ settled, onward }: Props) {
  return (
    // It is there all the time, so that its words are heard when they come.
    <div role="status" className={settled === null ? undefined : "settled-mark"}>
      {settled !== null && (
        <>
          <Badge tone={settled.tone}>{settled.decided ?? "Answered elsewhere"}</Badge>
          <span>by {settled.by}. Nothing you press here is sent.</span>
          {settled.more !== null && <span className="quiet">“{settled.more}”</span>}
          {onward !== undefined && (
            <Button hint="j" onPress={onward}>
              Next
            </Button>
          )}
        </>
      )}
    </div>
  );
}
