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
      return "what it asked is no longer in its log";
  }
}

/** What an answer is about: the command or the file itself, where there is one. */
export function askSubject(ask: Ask): string {
  return (ask.body?.kind === "approval" ? ask.body.subject : undefined) ?? asked(ask);
}

/** The kind of an ask as a word. */
export function askKind(ask: Ask): string {
  return ask.body?.kind ?? "ask";
}
