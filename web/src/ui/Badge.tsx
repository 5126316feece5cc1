// A word with a sign and a colour; the colour alone never says anything.
import type { ReactNode } from "react";

export type Tone = "plain" | "info" | "good" | "warn" | "bad";

const SIGNS: Record<Tone, string> = { plain: "○", info: "◐", good: "✓", warn: "!", bad: "✕" };

export function Badge({ tone = "plain", children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className={`badge ${tone}`}>
      <span aria-hidden="true">{SIGNS[tone]}</span>
      {children}
    </span>
  );
}

const PHASES: Record<string, [Tone, string]> = {
  queued: ["plain", "queued"],
  preparing: ["info", "preparing"],
  starting: ["info", "starting"],
  live: ["info", "running"],
  closing: ["info", "ending"],
  finishing: ["info", "finishing"],
};

const OUTCOMES: Record<string, [Tone, string]> = {
  completed: ["good", "completed"],
  failed: ["bad", "failed"],
  stopped: ["plain", "stopped"],
  interrupted: ["warn", "interrupted"],
  timed_out: ["bad", "timed out"],
  out_of_turns: ["warn", "out of turns"],
  out_of_budget: ["warn", "out of budget"],
  lost: ["bad", "lost"],
};

/** Where a run is, or how it ended. */
export function Phase({ run }: { run: { phase: string; outcome?: string | null; parked?: boolean } }) {
  if (run.parked) return <Badge tone="warn">parked</Badge>;
  const known = run.phase === "over" ? OUTCOMES[run.outcome ?? ""] : PHASES[run.phase];
  const [tone, words] = known ?? ["plain", run.outcome ?? run.phase];
  return <Badge tone={tone}>{words}</Badge>;
}
