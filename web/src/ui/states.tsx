// What a page shows when it has nothing, not yet, or not any more: what is wrong, what still works, one button.
import type { ReactNode } from "react";
import type { Problem } from "../api/problem";
import { Button } from "./Button";
import { plain } from "./plain";

export function Empty({
  title,
  children,
  action,
}: {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="state-box">
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {action}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <div className="state-box" role="status">
      <p className="quiet">Loading {what}…</p>
    </div>
  );
}

export function ProblemBox({ problem, retry }: { problem: Problem; retry?: () => void }) {
  return (
    <div className="state-box bad" role="alert">
      <h2>{capital(plain(problem.title))}</h2>
      <p>{capital(plain(problem.detail))}.</p>
      <p className="quiet">What to do: {plain(problem.hint)}.</p>
      {retry && <Button onPress={retry}>Try again</Button>}
    </div>
  );
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Somebody else's words as a sentence of their own. */
export function sentence(text: string): string {
  const words = capital(plain(text).trim());
  return /[.?!…]$/.test(words) ? words : `${words}.`;
}
