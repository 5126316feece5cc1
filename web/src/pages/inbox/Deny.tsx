// A no with a reason, which the agent is told. What was typed stays until it was sent.
import { type KeyboardEvent, useEffect, useRef } from "react";
import type { Ask } from "../../api/words";
import { Button } from "../../ui/Button";
import type { Give } from "./Answering";
import { useDraft } from "./drafts";

export function Deny({ ask, give, onClose }: { ask: Ask; give: Give; onClose(): void }) {
  const [draft, change] = useDraft(ask);
  const reason = draft.reason ?? "";
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => box.current?.focus(), []);
  const deny = (decision: "deny" | "deny_and_interrupt") => {
    const taken = give(
      { decision, reason: reason.trim() || "Denied by a person." },
      `Denied for ${ask.agent}`,
    );
    if (taken) onClose();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") onClose();
    else if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    else deny(event.ctrlKey || event.metaKey ? "deny_and_interrupt" : "deny");
    event.preventDefault();
  };
  return (
    <div className="ask-deny">
      <label>
        Why not? The agent gets the reason, and may continue with something else.
        <textarea
          ref={box}
          rows={2}
          value={reason}
          onChange={(event) => change({ reason: event.target.value })}
          onKeyDown={press}
        />
      </label>
      <div className="ask-buttons">
        <Button kind="danger" hint="Enter" onPress={() => deny("deny")}>
          Deny
        </Button>
        <Button kind="danger" hint="Ctrl+Enter" onPress={() => deny("deny_and_interrupt")}>
          Deny and end the turn
        </Button>
        <Button kind="quiet" hint="Esc" onPress={onClose}>
          Back
        </Button>
      </div>
    </div>
  );
}
