// Asks that want more than a yes: several questions at once, and the form of a tool server, filled in by keyboard.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { requireClaude } from "./model";
import { accessible, test as base, expect, steady } from "./rig";

const SHOP = fileURLToPath(new URL("form-server.mjs", import.meta.url));

const test = base.extend({
  project: async ({ model }, use) => {
    await use(
      `[[agent]]\nname = "planner"\nruntime = "openai"\nwire = "chat"\nmodel = "test"\nbase_url = "${model.url}/v1"\nprompt = "{{ story.text }}"\n
[[agent]]\nname = "buyer"\nruntime = "claude-code"\ncommand = ${JSON.stringify(requireClaude())}\nprompt = "{{ story.text }}"\nargs = ["--mcp-config", ".musher/tools.json"]\nrules = { allow = ["mcp__shop__order"] }\n\n`,
    );
  },
  vars: async ({ model }, use) => {
    await use({
      CLAUDE_CONFIG_DIR: "HOME/.claude",
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: "dummy-key-for-tests",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      IS_SANDBOX: "1",
      OPENAI_API_KEY: "dummy-key-for-tests",
    });
  },
});

test("the form of a tool server is filled in by keyboard, and the tool gets what was typed", async ({
  page,
  server,
}) => {
  const tools = { mcpServers: { shop: { command: process.execPath, args: [SHOP] } } };
  writeFileSync(join(server.repo, ".musher/tools.json"), JSON.stringify(tools));
  server.git("add", ".");
  server.git("commit", "-qm", "tools");
  const { run } = await server.begin("Order", "buyer", "[[scn:call tool=mcp__shop__order args={}]] go");
  await page.goto(`${server.url}/inbox`);
  const ask = page.getByLabel("Order", { exact: true });
  await expect(ask.getByText("What shall it be?", { exact: true })).toBeVisible({ timeout: 30_000 });
  await accessible(page);
  await page.keyboard.press("i");
  await expect(ask.getByLabel("Name of the branch")).toBeFocused();
  await page.keyboard.type("release <b>1</b>");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("alert")).toHaveText("Colour is needed.");
  await page.keyboard.press("Tab");
  await page.keyboard.type("Blue");
  await page.keyboard.press("Tab");
  await page.keyboard.type("3");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  // What is filled in stays when somebody looks elsewhere.
  await page.reload();
  await expect(ask.getByLabel("Colour")).toHaveValue("Blue");
  await expect(ask.getByLabel("Delete what is there")).toBeChecked();
  await page.keyboard.press("i");
  await steady(page);
  await page.keyboard.press("Enter");
  await server.over(run);
  const { events } = await server.ask<{ events: unknown[] }>("GET", `/runs/${run}/events?last=200`);
  const given = { name: "release <b>1</b>", count: 3, colour: "Blue", sure: true };
  const called = JSON.stringify(events).replaceAll("\\", "");
  for (const [name, value] of Object.entries(given))
    expect(called).toContain(`"${name}":${JSON.stringify(value)}`);
});

const QUESTIONS = [
  { text: "Which colour?", options: [{ label: "Red" }, { label: "Blue" }] },
  {
    text: "Which rooms?",
    options: [{ label: "Hall" }, { label: "Attic" }, { label: "Cellar" }],
    multi: true,
  },
  { text: "What else?", options: [] },
];

test("several questions are answered by keyboard, one after the other", async ({ page, server }) => {
  const args = JSON.stringify({ questions: QUESTIONS }).replaceAll('"', '\\"');
  const { run } = await server.begin("Paint it", "planner", `[[scn:call tool=ask_person args="${args}"]] go`);
  await page.goto(`${server.url}/inbox`);
  const ask = page.getByLabel("Paint it", { exact: true });
  await expect(ask.getByText("Which colour?", { exact: true })).toBeVisible();
  await accessible(page);
  await steady(page);
  await page.keyboard.press("2");
  await page.keyboard.press("1");
  await page.keyboard.press("3");
  await page.keyboard.press("Enter");
  await expect(ask.getByLabel("Own words for question 3")).toBeFocused();
  await page.keyboard.type("No smell");
  await page.keyboard.press("Enter");
  await server.over(run);
  const { events } = await server.ask<{ events: { type: string; answer?: unknown }[] }>(
    "GET",
    `/runs/${run}/events?last=200`,
  );
  const replies = [{ chosen: ["Blue"] }, { chosen: ["Hall", "Cellar"] }, { text: "No smell" }];
  expect(events.find((event) => event.type === "ask_closed")?.answer).toMatchObject({
    decision: "replies",
    replies,
  });
});

test("an answer that is half written stays while somebody reads far away in the transcript", async ({
  page,
  server,
}) => {
  const { run } = await server.begin(
    "Paint it",
    "worker",
    '[[work lines=6000 question="Which colour?" options="Red|Blue"]]',
  );
  const waits = async () => (await server.ask<{ asks: unknown[] }>("GET", "/asks")).asks.length;
  await expect.poll(waits, { timeout: 40_000 }).toBe(1);
  await page.goto(`${server.url}/runs/${run}`);
  const words = page.getByLabel("Own words for question 1");
  await words.fill("Green, but");
  const list = page.getByRole("list", { name: "Transcript" });
  await list.focus();
  expect(Number(await list.getAttribute("data-head"))).toBeGreaterThan(5_000);
  // The outline of so long a run is not read yet when the key is pressed; the key counts all the same.
  await page.keyboard.press("[");
  await expect(page.locator(".t-row.target")).toContainText("Turn 1");
  await expect(words).toHaveCount(0);
  await page.keyboard.press("w");
  await expect(words).toHaveValue("Green, but");
  await words.fill("Green, but light");
  await steady(page);
  await words.press("Enter");
  await expect(page.locator(".t-asked").last()).toContainText("Green, but light");
});
