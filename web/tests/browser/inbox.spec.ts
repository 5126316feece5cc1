// The inbox: everything that waits for a person, answered by keyboard, by one of several tabs, or too late.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { accessible, expect, steady, test } from "./rig";

const ASKS = `
[[step]]
run = "echo hello > out.txt"
ask_first = true

[[step]]
say = "The work is done."
`;
const QUESTION = `
[[step]]
ask = "Which colour?"
options = ["Red", "Blue"]
save = "colour"

[[step]]
say = "It will be \${colour}."
`;
const LISTS = '[[step]]\nrun = "ls -a"\nask_first = true\n\n[[step]]\nsay = "Listed."\n';
const CHECKS = '[[step]]\nrun = "git status --short"\nask_first = true\n\n[[step]]\nsay = "Checked."\n';
const FAILS = '[[step]]\nfail = "the provider is down"\nclass = "overloaded"\n';

test.use({
  scripts: {
    asker: ASKS,
    curious: QUESTION,
    lister: LISTS,
    checker: CHECKS,
    unlucky: FAILS,
    quick: '[[step]]\nsay = "Done."\n',
  },
});

/** The words of a run, read as another client reads them. */
async function words(
  server: { ask<T>(method: string, path: string): Promise<T> },
  run: string,
): Promise<string> {
  const { events } = await server.ask<{ events: unknown[] }>("GET", `/runs/${run}/events?last=200`);
  return JSON.stringify(events);
}

function list(page: Page) {
  return page.getByRole("list", { name: "Open items" }).getByRole("listitem");
}

test("an approval is given with one key, and the command is shown as it is", async ({ page, server }) => {
  const { run } = await server.begin("Write a file", "asker");
  await expect(page).toHaveTitle(/^\(1\)/);
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await expect(page.getByText("asker wants to run a command")).toBeVisible();
  await expect(page.getByLabel("Write a file").getByText("echo hello > out.txt").first()).toBeVisible();
  await accessible(page);
  await steady(page);
  await page.keyboard.press("a");
  await expect(page.getByText("Approved for asker: echo hello > out.txt")).toBeVisible();
  await expect.poll(() => words(server, run)).toContain("The work is done.");
  await expect(page.locator(".inbox-detail")).toContainText("Ready for review");
  await expect(page).toHaveTitle(/^Inbox/);
  await accessible(page);
});

test("an answer that was just given can be taken back", async ({ page, server }) => {
  const { run } = await server.begin("Write a file", "asker");
  await page.goto(`${server.url}/inbox`);
  await expect(list(page)).toHaveCount(1);
  await steady(page);
  await page.keyboard.press("a");
  await expect(list(page)).toHaveCount(0);
  await page.keyboard.press("z");
  await expect(list(page)).toHaveCount(1);
  await steady(page);
  await page.keyboard.press("d");
  await page.keyboard.press("Enter");
  await expect.poll(() => words(server, run)).toContain("ask_closed");
  expect(await words(server, run)).not.toContain('"decision":"allow"');
});

test("a denial tells the agent why, and the next item takes the focus", async ({ page, server }) => {
  const first = await server.begin("The first", "asker");
  await page.goto(`${server.url}/inbox`);
  await expect(list(page)).toHaveCount(1);
  const second = await server.begin("The second", "curious");
  await expect(list(page)).toHaveCount(2);
  await steady(page);
  await page.keyboard.press("d");
  await page.keyboard.type("Not on a Friday");
  await page.keyboard.press("Enter");
  const detail = page.locator(".inbox-detail");
  await expect(detail).toBeFocused();
  await expect(detail).toContainText("curious has a question");
  await expect.poll(() => words(server, first.run)).toContain("Not on a Friday");
  expect(await words(server, second.run)).not.toContain("ask_closed");
});

test("always shows the exact rule first, grants it outside the repository, and the like is not asked again", async ({
  page,
  server,
}) => {
  const first = await server.begin("The first", "lister");
  await page.goto(`${server.url}/inbox`);
  await expect(page.getByText("lister wants to run a command")).toBeVisible();
  await steady(page);
  await page.keyboard.press("A");
  const dialog = page.getByRole("dialog", { name: "Always allow" });
  const { asks } = await server.ask<{ asks: { rule: string }[] }>("GET", "/asks");
  expect(asks[0]?.rule).toContain("ls -a");
  await expect(dialog.getByLabel("Rule, which you can edit")).toHaveValue(asks[0]?.rule ?? "?");
  await accessible(page);
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await page.keyboard.press("A");
  await steady(page);
  await page.keyboard.press("Enter");
  await expect.poll(() => words(server, first.run)).toContain("Listed.");
  const second = await server.begin("The second", "lister");
  await expect.poll(() => words(server, second.run)).toContain("Listed.");
  expect(await words(server, second.run)).not.toContain('"by":"person"');
  expect(server.git("status", "--porcelain")).toBe("");
  expect(readFileSync(join(server.state, "local.toml"), "utf8")).toContain("ls -a");
});

test("a question is answered by number, and by words of one's own, without a mouse", async ({
  page,
  server,
}) => {
  const blue = await server.begin("Paint it", "curious");
  await page.goto(`${server.url}/inbox`);
  await expect(page.getByText("Which colour?").first()).toBeVisible();
  await accessible(page);
  await steady(page);
  await page.keyboard.press("2");
  await expect.poll(() => words(server, blue.run)).toContain("It will be Blue.");
  await expect(page.locator(".inbox-detail")).toContainText("Ready for review");
  await steady(page);
  await page.keyboard.press("e");
  const green = await server.begin("Paint it again", "curious");
  await page.getByLabel("Own words for question 1").focus();
  await page.keyboard.type("Green");
  await steady(page);
  await page.keyboard.press("Enter");
  await expect.poll(() => words(server, green.run)).toContain("It will be Green.");
});

test("of two tabs that answer the same ask one wins and the other is told", async ({ page, server, tab }) => {
  await server.begin("Write a file", "asker");
  await page.goto(`${server.url}/inbox`);
  const other = await tab("/inbox");
  await expect(list(page)).toHaveCount(1);
  await expect(list(other)).toHaveCount(1);
  await steady(page);
  await steady(other);
  // The answer of this tab is on its way until that of the other one is in.
  let arrive = (): void => undefined;
  const otherIsFirst = new Promise<void>((resolve) => (arrive = resolve));
  await page.route("**/answer", async (route) => {
    await otherIsFirst;
    await route.continue();
  });
  const sent = page.waitForRequest("**/answer");
  await page.keyboard.press("a");
  await sent;
  const denied = other.waitForResponse("**/answer");
  await other.keyboard.press("d");
  await other.keyboard.type("No");
  await other.keyboard.press("Enter");
  await expect(other.getByText("Denied for asker: echo hello")).toBeVisible();
  await denied;
  arrive();
  const late = page.getByText("Your answer was not used, it was answered elsewhere first: echo hello");
  await expect(late).toBeVisible();
});

test("an open approval outlives the server, and is answered when it is back", async ({ page, server }) => {
  const { run } = await server.begin("Write a file", "asker");
  await page.goto(`${server.url}/inbox`);
  await expect(list(page)).toHaveCount(1);
  await server.kill();
  await expect(page.getByText("reconnecting", { exact: true })).toBeVisible();
  await expect(list(page)).toHaveCount(1);
  await server.start();
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  await steady(page);
  await page.keyboard.press("a");
  await expect.poll(() => words(server, run)).toContain("The work is done.");
});

test("a failure waits too, is begun again with a key, and leaves when it was looked at", async ({
  page,
  server,
}) => {
  await server.begin("It cannot work", "unlucky");
  await page.goto(`${server.url}/inbox`);
  await expect(page.locator(".inbox-detail")).toContainText("Failed");
  await expect(page.getByText("the provider is down").first()).toBeVisible();
  await steady(page);
  await page.keyboard.press("r");
  await expect
    .poll(async () => {
      const { runs } = await server.ask<{ runs: { outcome?: string }[] }>("GET", "/runs");
      return runs.filter((run) => run.outcome === "failed").length;
    })
    .toBe(2);
  await expect(list(page)).toHaveCount(1);
  await steady(page);
  await page.keyboard.press("e");
  await expect(page.getByText("Inbox is empty")).toBeVisible();
});

test.describe("an ask with a deadline", () => {
  test.use({ scripts: { hurried: ASKS }, keys: { hurried: 'ask_deadline = "4s"' } });

  test("is counted down, and says by what it was decided", async ({ page, server }) => {
    await server.begin("Ask in vain", "hurried");
    await page.goto(`${server.url}/inbox`);
    await expect(page.getByText("auto-answered in")).toBeVisible();
    const mark = page.locator(".settled-mark");
    await expect(mark).toContainText("by the deadline", { timeout: 15_000 });
    await expect(mark).toContainText("Denied");
  });
});

test("the inbox works on a phone", async ({ page, server }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const { run } = await server.begin("Write a file", "asker");
  await page.goto(`${server.url}/inbox`);
  await list(page).first().getByRole("link").click();
  await expect(page.getByRole("button", { name: "Approve" })).toBeVisible();
  await accessible(page);
  await steady(page);
  await page.getByRole("button", { name: "Approve" }).click();
  await expect.poll(() => words(server, run)).toContain("The work is done.");
});

test("the inbox is sorted by what blocks, the story's title leads each row, and the badge counts what blocks", async ({
  page,
  server,
}) => {
  const done = await server.begin("Finished work", "quick");
  await server.over(done.run);
  const failed = await server.begin("It cannot work", "unlucky");
  await server.over(failed.run);
  await server.begin("Write a file", "asker");
  await page.goto(`${server.url}/inbox`);
  await expect(list(page)).toHaveText([
    /^▸Write a file.*asker · run: echo hello/,
    /^✕It cannot work.*unlucky · Failed: the provider is down/,
    /^✓Finished work.*quick · Ready for review/,
  ]);
  await expect(page).toHaveTitle(/^\(2\)/);
  await expect(page.locator(".rail .count")).toHaveText(/2$/);
});

test("several asks are answered together, only those that were shown, each as it was shown", async ({
  page,
  server,
}) => {
  const runs = [];
  for (const title of ["The first", "The second", "The third", "The fourth"]) {
    const { run } = await server.begin(title, "asker");
    await expect.poll(() => server.waits(run)).toHaveLength(1);
    runs.push(run);
  }
  const [first = "", second = "", third = "", fourth = ""] = runs;
  await page.goto(`${server.url}/inbox`);
  await expect(list(page)).toHaveCount(4);
  // What has not been looked at cannot be selected.
  for (const title of ["The first", "The second", "The third"]) {
    await expect(page.locator(".inbox-detail")).toContainText(title);
    await steady(page);
    await page.keyboard.press("s");
    await page.keyboard.press("j");
    await page.keyboard.press("s");
  }
  await expect(page.getByText("3 selected")).toBeVisible();
  await page.keyboard.press("Control+Enter");
  const dialog = page.getByRole("dialog", { name: "Answer 3 asks together" });
  await expect(dialog.getByRole("listitem")).toHaveCount(3);
  await expect(dialog).toContainText("echo hello > out.txt");
  await accessible(page);
  // One of them is answered elsewhere meanwhile, and falls out.
  const [ask = ""] = await server.waits(second);
  await server.answer(second, ask, { decision: "deny", reason: "not this one" });
  await expect(page.getByRole("dialog", { name: "Answer 2 asks together" })).toBeVisible();
  await steady(page);
  await page.getByRole("button", { name: "Approve 2" }).click();
  await expect(page.getByText("Approved 2 asks: echo hello > out.txt, …")).toBeVisible();
  for (const run of [first, third])
    await expect.poll(() => words(server, run)).toContain('"decision":"allow"');
  expect(await words(server, second)).not.toContain('"decision":"allow"');
  expect(await server.waits(fourth)).toHaveLength(1);
});
