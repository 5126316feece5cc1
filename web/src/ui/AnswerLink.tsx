// The way from where an ask is only told of to where it is shown whole and answered.
import { Link } from "wouter";
import type { Ask } from "../api/words";

export function AnswerLink({ ask, focusable = true }: { ask: Ask; focusable?: boolean }) {
  return (
    <Link
      className="button primary answer-link"
      href={`/inbox/${ask.run}/${encodeURIComponent(ask.ask)}`}
      tabIndex={focusable ? 0 : -1}
      draggable={false}
    >
      Answer in inbox
    </Link>
  );
}
