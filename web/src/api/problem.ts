// What went wrong, in the one shape that the server uses for it, also where the server itself could not be reached.
import type { components } from "./schema";

export type Problem = components["schemas"]["Problem"];

export class ProblemError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.name = "ProblemError";
    this.problem = problem;
  }
}

/** The problem in a reply; what is none is told as well as it can be. */
export async function readProblem(reply: Response): Promise<Problem> {
  const kind = reply.headers.get("content-type") ?? "";
  if (kind.startsWith("application/problem+json")) {
    return (await reply.json()) as Problem;
  }
  return made("odd_reply", reply.status, `the server replied ${reply.status}`, "reload the page");
}

/** Anything that was thrown, as a problem. */
export function asProblem(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  if (error instanceof TypeError) {
    return made("unreachable", 0, "the server cannot be reached", "see that `musher serve` is running");
  }
  const words = error instanceof Error ? error.message : String(error);
  return made("page_error", 0, words, "reload the page");
}

export function made(code: string, status: number, detail: string, hint: string): Problem {
  const title = code.replaceAll("_", " ");
  return { type: `urn:musher:problem:${code}`, title, status, detail, code, hint };
}
