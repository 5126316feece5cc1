// The typed client: every request carries the token and the door, every command a key of its own, every failure is a problem.
import createClient, { type Middleware } from "openapi-fetch";
import { ProblemError, readProblem } from "./problem";
import type { paths } from "./schema";
import { lose, token } from "./token";

/** How long to wait before a command that did not get through is sent again, with the same key. */
const AGAIN = [300, 1000, 3000];

const credentials: Middleware = {
  onRequest({ request }) {
    const known = token();
    if (known !== null) request.headers.set("authorization", `Bearer ${known}`);
    request.headers.set("musher-door", "web");
    if (request.method !== "GET" && !request.headers.has("idempotency-key")) {
      request.headers.set("idempotency-key", crypto.randomUUID());
    }
    return request;
  },
};

/** A command is safe to send again because of its key; a view because it changes nothing. */
async function send(request: Request): Promise<Response> {
  for (const wait of AGAIN) {
    try {
      return await checked(await fetch(request.clone()), request);
    } catch (error) {
      if (!(error instanceof TypeError) || request.signal.aborted) throw error;
      await new Promise((done) => setTimeout(done, wait));
    }
  }
  return checked(await fetch(request), request);
}

async function checked(reply: Response, request: Request): Promise<Response> {
  if (reply.status !== 401) return reply;
  const given = request.headers.get("authorization")?.slice("Bearer ".length) ?? "";
  lose(given, (await readProblem(reply.clone())).detail);
  return reply;
}

/** Call it as `await take(api.GET("/api/v1/project"))`. */
export const api = createClient<paths>({ fetch: send });
api.use(credentials);

interface Taken<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** What a request gave, or a `ProblemError`. */
export async function take<T>(request: Promise<Taken<T>>): Promise<T> {
  const { data, error, response } = await request;
  if (error !== undefined || !response.ok) throw new ProblemError(await problemOf(error, response));
  return data as T;
}

async function problemOf(error: unknown, response: Response) {
  if (typeof error === "object" && error !== null && "code" in error && "detail" in error) {
    return error as ProblemError["problem"];
  }
  return readProblem(new Response(null, { status: response.status }));
}

/** A reply of a path that the document does not name yet. */
export async function takeRaw<T>(path: string, init?: RequestInit): Promise<T> {
  const headers = new Headers(init?.headers);
  headers.set("musher-door", "web");
  const known = token();
  if (known !== null) headers.set("authorization", `Bearer ${known}`);
  if (init?.body) headers.set("content-type", "application/json");
  if (init?.method !== undefined) headers.set("idempotency-key", crypto.randomUUID());
  const request = new Request(new URL(`/api/v1${path}`, location.origin), { ...init, headers });
  const reply = await send(request);
  if (!reply.ok) throw new ProblemError(await readProblem(reply));
  return (reply.status === 204 ? undefined : await reply.json()) as T;
}
