// What went wrong, inside a dialog that keeps what was typed.
import type { Problem } from "../api/problem";
import { plain } from "./plain";
import { capital } from "./states";

export function ProblemLine({ problem }: { problem: Problem | null }) {
  if (problem === null) return null;
  return (
    <p className="story-problem" role="alert">
      {capital(plain(problem.detail))}. <span className="quiet">{capital(plain(problem.hint))}.</span>
    </p>
  );
}
