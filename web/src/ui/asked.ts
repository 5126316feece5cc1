// What an ask wants, in one line.
import type { Ask } from "../api/words";

export function asked(ask: Ask): string {
  const body = ask.body;
  switch (body?.kind) {
    case "approval":
      return body.subject === undefined ? `use ${body.tool}` : `${body.tool}: ${body.subject}`;
    case "question":
      return body.questions[0]?.text ?? "a question";
    case "plan":
      return body.plan;
    case "form":
      return body.message;
    case undefined:
      return "the request is no longer in the log";
  }
}

/** What an answer is about: the command or the file itself, where there is one. */
export function askSubject(ask: Ask): string {
  return (ask.body?.kind === "approval" ? ask.body.subject : undefined) ?? asked(ask);
}

/** For what a run waits while this ask is open. */
export function waitingFor(ask: Ask): string {
  switch (ask.body?.kind) {
    case "approval":
      return `Waiting for approval: ${askSubject(ask)}`;
    case "plan":
      return "Waiting for approval of its plan";
    case "form":
      return `Waiting for a form: ${asked(ask)}`;
    case "question":
      return `Waiting for an answer: ${asked(ask)}`;
    case undefined:
      return "Waiting for your answer";
  }
}

/** The kind of an ask as a word. */
export function askKind(ask: Ask): string {
  return ask.body?.kind ?? "ask";
}
