// The token that lets this browser in: from the one-time code in the address, kept for this origin.
import { ProblemError, readProblem } from "./problem";

const KEY = "musher.token";

let revoked = false;
let reason: string | null = null;
const watchers = new Set<() => void>();

export function token(): string | null {
  return revoked ? null : localStorage.getItem(KEY);
}

/** Calls back whenever the token came or went. */
export function onToken(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

function tell(): void {
  for (const watcher of watchers) watcher();
}

/** The server no longer takes the token. It is forgotten, and the page says so instead of asking again and again. */
export function lose(given: string, why: string): void {
  if (localStorage.getItem(KEY) === given) localStorage.removeItem(KEY);
  revoked = true;
  // Who never had one has lost nothing.
  if (given !== "") reason ??= why;
  tell();
}

/** Why the token was lost under the open page, if it was. */
export function whyLost(): string | null {
  return reason;
}

export function keep(given: string): void {
  localStorage.setItem(KEY, given);
  revoked = false;
  reason = null;
  tell();
}

/** Exchanges a one-time code for a token. */
export async function redeem(code: string): Promise<void> {
  const reply = await fetch("/api/v1/token", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (!reply.ok) throw new ProblemError(await readProblem(reply));
  const { token: given } = (await reply.json()) as { token: string };
  keep(given);
}

/** Takes the code out of the address, where it must not stay, and uses it. A used one does no harm to who is in. */
export async function enter(): Promise<void> {
  const code = location.hash.slice(1);
  if (!/^[A-Za-z0-9_-]{16,}$/.test(code)) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  try {
    await redeem(code);
  } catch (error) {
    if (token() === null) throw error;
  }
}

/** What somebody pasted: a link of this server, a link of another one, or the content of the token file. */
export async function paste(text: string): Promise<void> {
  const given = text.trim();
  const link = asLink(given);
  if (link !== null && link.hash.length > 1) {
    if (link.origin !== location.origin) {
      location.assign(link.href);
      return;
    }
    await redeem(link.hash.slice(1));
    return;
  }
  const reply = await fetch("/api/v1/project", { headers: { authorization: `Bearer ${given}` } });
  if (!reply.ok) throw new ProblemError(await readProblem(reply));
  keep(given);
}

function asLink(text: string): URL | null {
  const here = ["127.0.0.1", "localhost", "[::1]"];
  const link = URL.canParse(text) ? new URL(text) : null;
  return link !== null && link.protocol === "http:" && here.includes(link.hostname) ? link : null;
}

// Another tab of this browser may come in or be put out.
if (typeof window !== "undefined") {
  window.addEventListener("storage", (event) => {
    if (event.key !== KEY) return;
    revoked = event.newValue === null;
    if (!revoked) reason = null;
    tell();
  });
}
