// What can be done with a story, as commands of the server.
import { api, take } from "../../api/client";
import { made, ProblemError } from "../../api/problem";
import type { Receipt, StoryWhole } from "../../api/words";
import { whenBack } from "../../live/back";
import { type StoryChange, USUAL_PRIORITY } from "./spec";

/**
 * Sends words to a run once, however long the server is away. Whether the agent has them is waited for, unless it cannot
 * have them soon.
 */
export function prompt(
  run: string,
  text: string,
  what: string,
  wait: "wait" | "leave" = "wait",
): Promise<Receipt> {
  const headers = {
    "idempotency-key": crypto.randomUUID(),
    ...(wait === "leave" ? { prefer: "wait=0" } : {}),
  };
  const params = { path: { run } };
  return whenBack(what, () =>
    take(api.POST("/api/v1/runs/{run}/prompt", { params, body: { text }, headers })),
  );
}

const of = (story: string) => ({ path: { story } });

/** Adds a story and gives its id. The key makes sure that it is added once, however often it is sent. */
export async function add(
  title: string,
  text: string,
  key: string,
  asks: Pick<StoryChange, "priority" | "labels" | "after"> = {},
): Promise<string> {
  const { priority, labels, after } = asks;
  const body = {
    title,
    ...(text.trim() === "" ? {} : { text }),
    ...(priority == null || priority === USUAL_PRIORITY ? {} : { priority }),
    ...(labels == null || labels.length === 0 ? {} : { labels }),
    ...(after == null || after.length === 0 ? {} : { after }),
  };
  const headers = { "idempotency-key": key };
  const receipt = await whenBack("The story", () => take(api.POST("/api/v1/stories", { body, headers })));
  if (receipt.status === "added") return receipt.story;
  throw odd(receipt);
}

/** Changes what a story says or asks for. */
export function change(story: string, body: StoryChange): Promise<Receipt> {
  return take(api.PATCH("/api/v1/stories/{story}", { params: of(story), body }));
}

/** The story as the server has it now. */
export async function readStory(story: string): Promise<StoryWhole> {
  return (await take(api.GET("/api/v1/stories/{story}", { params: of(story) }))) as StoryWhole;
}

export interface StartWish {
  agent: string;
  model?: string;
  prompt?: string;
}

/** Queues a run and gives its id. */
export async function start(story: string, wish: StartWish): Promise<string> {
  const body = {
    agent: wish.agent,
    ...(wish.model ? { model: wish.model } : {}),
    ...(wish.prompt ? { prompt: wish.prompt } : {}),
  };
  const receipt = await take(api.POST("/api/v1/stories/{story}/start", { params: of(story), body }));
  if (receipt.status === "queued") return receipt.run;
  throw odd(receipt);
}

export function retry(run: string) {
  return take(api.POST("/api/v1/runs/{run}/retry", { params: { path: { run } }, body: {} }));
}

export function stop(run: string) {
  return take(api.POST("/api/v1/runs/{run}/stop", { params: { path: { run } }, body: {} }));
}

export function done(story: string) {
  return take(api.POST("/api/v1/stories/{story}/done", { params: of(story), body: {} }));
}

export function reopen(story: string) {
  return take(api.POST("/api/v1/stories/{story}/reopen", { params: of(story), body: {} }));
}

export function archive(story: string) {
  return take(api.POST("/api/v1/stories/{story}/archive", { params: of(story), body: {} }));
}

/** The number at the end of a branch's name, by which a merge names it. */
export function branchNumber(branch: string): number | null {
  const found = /\/(\d+)$/.exec(branch)?.[1];
  return found === undefined ? null : Number(found);
}

/** A merge that takes long is asked after, with its own key, so often. */
const PATIENCE = 60;

/** Whether a merge is to be refused when secrets are in what it would land, or a person has seen that they are. */
export type Secrets = "refuse" | "seen";

/** Merges a branch of a story and waits until that is done. */
export async function merge(
  story: string,
  branch: number | null,
  secrets: Secrets = "refuse",
): Promise<void> {
  const headers = { "idempotency-key": crypto.randomUUID() };
  const body = {
    ...(branch === null ? {} : { branch }),
    ...(secrets === "seen" ? { with_secrets: true } : {}),
  };
  for (let turn = 0; turn < PATIENCE; turn += 1) {
    const sent = api.POST("/api/v1/stories/{story}/merge", { params: of(story), body, headers });
    const receipt = await take(sent);
    if (receipt.status !== "pending") return;
    await new Promise((again) => setTimeout(again, 500));
  }
  const hint = "it continues in the background; check the story again later";
  throw new ProblemError(made("still_merging", 202, "the merge is not over yet", hint));
}

function odd(receipt: Receipt): ProblemError {
  const detail = `the server replied "${receipt.status}"`;
  return new ProblemError(made("odd_reply", 200, detail, "look at the board to see what became of it"));
}
