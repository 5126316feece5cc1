// Words to an agent: written, kept, and said in each of the ways there are.
import type { Page } from "@playwright/test";
import { expect, TALK, TURNS, test } from "./rig";

test.use({ scripts: { talk: TALK, turns: TURNS } });

const row = (page: Page, text: string | RegExp) =>
  page.getByRole("list", { name: "Transcript" }).getByRole("listitem").filter({ hasText: text });

test("a draft survives the server's restart and a reload", async ({ page, server }) => {
  const { run } = await server.begin("Talk", "talk");
  await page.goto(`${server.url}/runs/${run}`);
  const box = page.getByRole("textbox", { name: "Message to talk" });
  await box.fill("Half a thought");
  await server.kill();
  await expect(page.getByText("reconnecting", { exact: true })).toBeVisible();
  await server.start();
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  await expect(box).toHaveValue("Half a thought");
  await page.reload();
  await expect(box).toHaveValue("Half a thought");
  await page.goto(`${server.url}/board`);
  await page.goto(`${server.url}/runs/${run}`);
  await expect(box).toHaveValue("Half a thought");
});

test("words are queued, steered in, and said after an interrupt, as the composer says", async ({
  page,
  server,
}) => {
  const { run } = await server.begin("Talk", "talk");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(row(page, "First part.")).toBeVisible();
  await expect(page.getByText("Enter queues it for the next turn.")).toBeVisible();
  await page.keyboard.press("m");
  await page.keyboard.type("Into the turn");
  await page.keyboard.press("Control+Enter");
  await expect(row(page, "Into the turn")).toContainText("Steered");
  await page.keyboard.type("And then this");
  await page.getByRole("button", { name: "More ways to send" }).click();
  await page.getByRole("menuitem", { name: /Interrupt and send/ }).click();
  await expect(row(page, "And then this")).toBeVisible();
  await expect(row(page, "turn 1 interrupted")).toBeVisible();
  await expect(row(page, "After the interrupt.")).toBeVisible();
});

test("words to a run that is over go on with its session in a new run", async ({ page, server }) => {
  const { run } = await server.begin("Turns", "turns");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(row(page, "run completed")).toBeVisible();
  await expect(page.getByText("Enter resumes it in a new run that begins with your message.")).toBeVisible();
  await page.keyboard.press("m");
  await page.keyboard.type("the second part");
  await page.keyboard.press("Enter");
  await expect(page).not.toHaveURL(new RegExp(`/runs/${run}$`));
  await expect(row(page, "You asked for more: the second part")).toBeVisible();
  await expect(page.getByRole("combobox", { name: "Run" })).toContainText(run);
});

test("what is typed while words are on their way is there when they have arrived", async ({
  page,
  server,
}) => {
  const { run } = await server.begin("Talk", "talk");
  let arrive = () => {};
  const way = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  await page.route("**/steer", async (route) => {
    await way;
    await route.continue();
  });
  await page.goto(`${server.url}/runs/${run}`);
  await expect(row(page, "First part.")).toBeVisible();
  await page.keyboard.press("m");
  await page.keyboard.type("Into the turn");
  await page.keyboard.press("Control+Enter");
  await page.keyboard.type(" and some more");
  arrive();
  await expect(row(page, "Into the turn")).toContainText("Steered");
  await expect(page.getByRole("textbox", { name: "Message to talk" })).toHaveValue("and some more");
});

test("words to a run that was stopped resume it, and begin with them", async ({ page, server }) => {
  const { run } = await server.begin("Talk", "talk");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(row(page, "First part.")).toBeVisible();
  await server.ask("POST", `/runs/${run}/stop`, {});
  await page.keyboard.press("m");
  await page.keyboard.type("Go on from here");
  await server.over(run);
  await expect(page.getByText("Enter resumes it in a new run that begins with your message.")).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page).not.toHaveURL(new RegExp(`/runs/${run}$`));
  await expect(row(page, "Go on from here")).toBeVisible();
  await expect(row(page, "After the interrupt.")).toBeVisible();
});
