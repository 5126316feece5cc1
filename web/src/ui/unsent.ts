// A text that goes on while its beginning is being sent.

/** What is left of a text once a part was sent: what somebody went on to type meanwhile stays. */
export function unsent(now: string, sent: string): string {
  return now.startsWith(sent) ? now.slice(sent.length).trimStart() : now;
}
