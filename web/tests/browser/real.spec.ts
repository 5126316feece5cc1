// The real Claude Code, with a scripted model at its other end: from a story that is typed in to work that is shown.
import { begin } from "./cards";
import { requireClaude } from "./model";
import { test as base, expect, steady } from "./rig";

const test = base.extend({
  // biome-ignore lint/correctness/noEmptyPattern: the test runner reads the names from here.
  project: async ({}, use) => {
    const rules = 'rules = { ask = ["execute"] }';
    const program = JSON.stringify(requireClaude());
    await use(
      `[[agent]]\nname = "coder"\nruntime = "claude-code"\ncommand = ${program}\nprompt = "{{ story.text }}"\n${rules}\n\n`,
    );
  },
  vars: async ({ model }, use) => {
    await use({
      CLAUDE_CONFIG_DIR: "HOME/.claude",
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: "dummy-key-for-tests",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      IS_SANDBOX: "1",
    });
  },
});

test.slow();

test("a story is typed in, the real agent works on it, asks, is approved by key, and its work is shown", async ({
  page,
  server,
}) => {
  await page.goto(`${server.url}/board`);
  await begin(page);
  await page.keyboard.type("Greet people");
  const dialog = page.getByRole("dialog", { name: "New story" });
  await dialog
    .getByLabel("Description")
    .fill(
      '[[scn:bash first="I write the greeting." cmd="echo hello > greeting.txt; echo written" say="The **greeting** is there."]] go',
    );
  await dialog.getByLabel("Agent").selectOption("coder");
  await dialog.getByRole("button", { name: "Add and start" }).click();

  await expect(page).toHaveTitle(/^\(1\)/, { timeout: 60_000 });
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  const ask = page.locator(".inbox-detail");
  await expect(ask.getByText("echo hello > greeting.txt; echo written").first()).toBeVisible();
  // It gives an empty reason, which is none.
  await expect(ask.getByText("Why it asks:")).toHaveCount(0);
  await steady(page);
  await page.keyboard.press("a");
  await expect(ask.getByText("Ready for review")).toBeVisible({ timeout: 60_000 });
  await page.keyboard.press("o");

  const list = page.getByRole("list", { name: "Transcript" });
  const row = (text: string) => list.getByRole("listitem").filter({ hasText: text });
  await expect(row("run completed")).toBeVisible();
  await expect(row("I write the greeting.").first()).toBeVisible();
  await expect(list.locator(".t-said strong", { hasText: "greeting" })).toBeVisible();
  await expect(row("approved")).toContainText("echo hello > greeting.txt");
  const call = list.locator(".t-row.k-tool");
  await expect(call).toHaveCount(1);
  await call.getByRole("button").first().click();
  await expect(call).toContainText("written");

  await page.keyboard.press("v");
  await page.keyboard.press("c");
  await expect(page).toHaveURL(/\/changes$/);
  await expect(page.getByText("greeting.txt").first()).toBeVisible();
  await expect(page.getByText("hello", { exact: true }).first()).toBeVisible();

  await page.goto(`${server.url}/costs?by=agent`);
  const { rows } = await server.ask<{ rows: { key: string; spent: { input: number; output: number } }[] }>(
    "GET",
    "/usage?by=agent",
  );
  expect(rows).toMatchObject([{ key: "coder", spent: { input: 200, output: 40 } }]);
  const line = page.getByRole("table", { name: /^Costs by/ }).getByRole("row", { name: /^coder\b/ });
  await expect(line).toContainText("200");
  await expect(line).toContainText("40");
});
