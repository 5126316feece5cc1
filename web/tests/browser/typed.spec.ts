// What was typed is still there: when another version serves the page, and when the token was taken back under it.
import type { Page } from "@playwright/test";
import { accessible, expect, steady, test } from "./rig";
import type { Server } from "./server";

const QUESTION = `
[[step]]
ask = "Which colour?"
options = ["Red", "Blue"]
save = "colour"

[[step]]
say = "It is \${colour}."
`;
const ASKS = '[[step]]\nrun = "git push"\nask_first = true\n';

test.use({ scripts: { curious: QUESTION, pusher: ASKS } });

interface Place {
  words: string;
  label: string | RegExp;
  /** Goes to where it is typed, for the first time or again. */
  open(again: boolean): Promise<unknown>;
}

/** The addresses of what waits, by agent. */
async function waiting(server: Server): Promise<Map<string, string>> {
  const asks = async () =>
    (await server.ask<{ asks: { agent: string; run: string; ask: string }[] }>("GET", "/asks")).asks;
  await expect.poll(async () => (await asks()).length).toBe(2);
  return new Map((await asks()).map(({ agent, run, ask }) => [agent, `/inbox/${run}/${ask}`]));
}

/** Places in which somebody can be in the middle of a sentence. */
async function places(page: Page, server: Server): Promise<Place[]> {
  const { story, run } = await server.begin("Paint it", "curious");
  await server.begin("Push it", "pusher");
  await server.ask("POST", "/stories", { title: "Nobody is at it" });
  const asks = await waiting(server);
  const to = async (path = "") => {
    await page.goto(server.url + path);
    await expect(page.getByText("live", { exact: true })).toBeVisible();
  };
  const key = async (path: string | undefined, shown: string, keys: string) => {
    await to(path);
    await expect(page.getByText(shown).first()).toBeVisible();
    if (keys === "d") await steady(page);
    await page.keyboard.press(keys);
  };
  const path = `/stories/${story}`;
  return [
    { words: "A new story", label: "A new story in one line", open: () => to("/board") },
    {
      words: "Another title",
      label: "Title",
      open: (again) => (again ? to(path) : key(path, "Description", "t")),
    },
    { words: "And then this", label: "Message to curious", open: () => to(`/runs/${run}`) },
    { words: "Not on a Friday", label: /^Why not\?/, open: () => key(asks.get("pusher"), "Approve", "d") },
    { words: "In other words", label: /^Prompt/, open: () => key("/board", "Nobody is at it", "s") },
    { words: "Green", label: "Own words for question 1", open: () => to(asks.get("curious")) },
  ];
}

test("another version under an open page is said plainly, and after the reload all that was typed is there", async ({
  page,
  server,
}) => {
  const all = await places(page, server);
  for (const { words, label, open } of all) {
    await open(false);
    await page.getByLabel(label).fill(words);
  }
  await server.kill();
  await server.start(server.newer());
  const banner = page.getByRole("status").filter({ hasText: "The server has a new version" });
  await expect(banner).toContainText("what you typed stays");
  // The page works on as it is.
  await expect(page.getByLabel("Own words for question 1")).toHaveValue("Green");
  await accessible(page);
  await banner.getByRole("button", { name: "Reload" }).click();
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  await expect(banner).toHaveCount(0);
  for (const { words, label, open } of all.reverse()) {
    await open(true);
    await expect(page.getByLabel(label)).toHaveValue(words);
  }
});

test("a token that is taken back under an open page is said plainly, and a new one finds what was typed", async ({
  page,
  server,
}) => {
  const { run } = await server.begin("Paint it", "curious");
  await page.goto(`${server.url}/runs/${run}`);
  await page.getByLabel("Own words for question 1").fill("Green");
  await page.getByLabel("Message to curious").fill("And then this");
  const { tokens } = await server.ask<{ tokens: { id: string; current: boolean }[] }>("GET", "/tokens");
  for (const { id, current } of tokens) if (!current) await server.ask("DELETE", `/tokens/${id}`, {});
  await expect(page.getByRole("alert")).toContainText("revoked");
  await expect(page.getByText("Your unsent text is kept here")).toBeVisible();
  await accessible(page);
  await page.getByLabel("The link or the token").fill(server.token());
  await page.keyboard.press("Enter");
  await expect(page.getByLabel("Message to curious")).toHaveValue("And then this");
  const words = page.getByLabel("Own words for question 1");
  await expect(words).toHaveValue("Green");
  await steady(page);
  await words.press("Enter");
  await expect(page.getByText("It is Green.")).toBeVisible();
});
