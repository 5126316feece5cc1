// An answer belongs to what was on the screen: whatever happens elsewhere meanwhile, no key hits another ask.
import type { Page } from "@playwright/test";
import { accessible, expect, steady, test } from "./rig";
import type { Server } from "./server";

const asks = (...commands: string[]) =>
  `${commands.map((command) => `[[step]]\nrun = "${command}"\nask_first = true\n`).join("\n")}\n[[step]]\nhang = true\n`;

test.use({
  scripts: {
    first: asks("echo first > first.txt"),
    second: asks("echo second > second.txt"),
    twice: asks("echo once > once.txt", "echo again > again.txt"),
    quick: '[[step]]\nsay = "Done."\n',
  },
});

const list = (page: Page) => page.getByRole("list", { name: "Open items" }).getByRole("listitem");
const mark = (page: Page) => page.locator(".settled-mark");
const DENY = { decision: "deny", reason: "not today" };

/** Two runs that ask, the page at the ask of the first, and nothing on its way. */
async function two(page: Page, server: Server) {
  const first = await server.begin("The first story", "first");
  await expect.poll(() => server.waits(first.run)).toHaveLength(1);
  const second = await server.begin("The second story", "second");
  await expect.poll(() => server.waits(second.run)).toHaveLength(1);
  await page.goto(`${server.url}/inbox`);
  await expect(list(page)).toHaveCount(2);
  await expect(page.locator(".inbox-detail")).toContainText("echo first");
  await steady(page);
  const [ask = ""] = await server.waits(first.run);
  return { first: { ...first, ask }, second };
}

/** How the asks of a run were closed, as its log tells it. */
async function closed(server: Server, run: string): Promise<string[]> {
  type Event = { type: string; answer?: { decision: string } };
  const { events } = await server.ask<{ events: Event[] }>("GET", `/runs/${run}/events?last=200`);
  return events.filter((one) => one.type === "ask_closed").map((one) => one.answer?.decision ?? "none");
}

test("an ask that is answered elsewhere stays in its place, marked, and no key hits the next one", async ({
  page,
  server,
}) => {
  const { first, second } = await two(page, server);
  await server.answer(first.run, first.ask, DENY);
  await expect(mark(page)).toContainText("Denied");
  await expect(mark(page)).toContainText("by the command line");
  await expect(mark(page)).toContainText("not today");
  await expect(list(page)).toHaveCount(2);
  await expect(list(page).first()).toContainText("Denied by the command line");
  await accessible(page);
  await steady(page);
  for (const key of ["a", "a", "d", "A"]) await page.keyboard.press(key);
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByText("Not sent, because it is answered already: echo first")).toBeVisible();
  await expect(page.locator(".inbox-detail")).toContainText("echo first");
  // The person moves: what was settled leaves, and the next one is answered by the same key.
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await expect(page.locator(".inbox-detail")).toContainText("echo second");
  await expect(page.locator(".inbox-row.gone")).toHaveCount(0);
  expect(await server.waits(second.run)).toHaveLength(1);
  await steady(page);
  await page.keyboard.press("a");
  await expect.poll(() => closed(server, second.run)).toEqual(["allow"]);
  expect(await closed(server, first.run)).toEqual(["deny"]);
});

test("keys are ignored for a moment after the next ask has taken the place of an answered one", async ({
  page,
  server,
}) => {
  const { first, second } = await two(page, server);
  await page.keyboard.press("a");
  await page.keyboard.press("a");
  await expect(page.getByText("This came up just now. Check it, then press again.")).toBeVisible();
  await expect.poll(() => closed(server, first.run)).toEqual(["allow"]);
  expect(await closed(server, second.run)).toEqual([]);
  expect(await server.waits(second.run)).toHaveLength(1);
});

test("what is typed stays where it is while the ask is answered elsewhere", async ({ page, server }) => {
  const { first, second } = await two(page, server);
  await page.keyboard.press("d");
  await page.keyboard.type("it is a b");
  await server.answer(first.run, first.ask, { decision: "allow" });
  await expect(mark(page)).toContainText("Approved");
  await page.keyboard.type("ad day");
  const box = page.getByLabel("Why not?");
  await expect(box).toBeFocused();
  await expect(box).toHaveValue("it is a bad day");
  await steady(page);
  await page.keyboard.press("Enter");
  await expect(page.getByText("Not sent, because it is answered already")).toBeVisible();
  expect(await closed(server, second.run)).toEqual([]);
});

test("the notice names the command, and takes the answer back while it can", async ({ page, server }) => {
  const { first } = await two(page, server);
  await page.keyboard.press("a");
  const notice = page.getByRole("status").filter({ hasText: "Approved for first: echo first > first.txt" });
  await notice.getByRole("button", { name: "Undo" }).click();
  await expect(list(page)).toHaveCount(2);
  expect(await server.waits(first.run)).toHaveLength(1);
  expect(await closed(server, first.run)).toEqual([]);
});

test("what comes in while somebody looks at an item moves neither the choice nor the keys", async ({
  page,
  server,
}) => {
  const done = await server.begin("Finished work", "quick");
  await server.over(done.run);
  await page.goto(`${server.url}/inbox`);
  await expect(page.locator(".inbox-detail")).toContainText("Finished work");
  await steady(page);
  // An ask is listed before finished work, and the choice stays.
  const first = await server.begin("The first story", "first");
  await expect(list(page)).toHaveCount(2);
  await expect(list(page).first()).toContainText("The first story");
  await expect(page.locator(".inbox-detail")).toContainText("Finished work");
  for (const key of ["a", "d"]) await page.keyboard.press(key);
  expect(await server.waits(first.run)).toHaveLength(1);
  await page.keyboard.press("k");
  await expect(page.locator(".inbox-detail")).toContainText("echo first");
});

test("in a transcript an ask that is answered elsewhere stays marked, and its keys do not hit the next", async ({
  page,
  server,
}) => {
  const { run } = await server.begin("Two asks", "twice");
  await expect.poll(() => server.waits(run)).toHaveLength(1);
  const [ask = ""] = await server.waits(run);
  await page.goto(`${server.url}/runs/${run}`);
  await steady(page);
  await page.keyboard.press("d");
  await page.keyboard.type("no");
  await server.answer(run, ask, { decision: "allow" });
  await expect(mark(page)).toContainText("Approved");
  await expect(page.getByText("echo again > again.txt").first()).toBeVisible();
  await expect(page.getByLabel("Why not?")).toBeFocused();
  await page.keyboard.press("Escape");
  await steady(page);
  for (const key of ["a", "A", "d"]) await page.keyboard.press(key);
  await expect(page.getByText("Not sent, because it is answered already")).toBeVisible();
  await page.keyboard.press("Escape");
  const [next = ""] = await server.waits(run);
  expect(next).not.toBe(ask);
  expect(await closed(server, run)).toEqual(["allow"]);
  await page.getByRole("list", { name: "Transcript" }).focus();
  await page.keyboard.press("w");
  await expect(mark(page)).toHaveCount(0);
  await steady(page);
  await page.keyboard.press("a");
  await expect.poll(() => closed(server, run)).toEqual(["allow", "allow"]);
});

test("of several asks in one transcript keys answer the marked one, and keys and presses move the mark", async ({
  page,
  server,
}) => {
  const { run } = await server.begin("Three at once", "worker", "[[work asks=3 at_once=3]]");
  await expect.poll(() => server.waits(run)).toHaveLength(3);
  const [first = "", second = "", third = ""] = await server.waits(run);
  await page.goto(`${server.url}/runs/${run}`);
  const asks = page.getByRole("region", { name: "Waits for you" });
  const marked = page.locator('.t-ask[aria-current="true"]');
  await expect(asks).toHaveCount(3);
  await expect(marked).toHaveCount(1);
  await expect(marked).toContainText(": ask-0.");
  await expect(marked).toContainText("keys answer this one");
  await accessible(page);
  // The row of a call stands between two asks.
  for (const key of ["j", "j"]) await page.keyboard.press(key);
  await expect(marked).toContainText(": ask-1.");
  await steady(page);
  await page.keyboard.press("a");
  await expect.poll(() => server.waits(run)).toEqual([first, third]);
  await asks.last().locator("header").click();
  await expect(marked).toContainText(": ask-2.");
  await page.keyboard.press("k");
  await expect(marked).toContainText(": ask-2.");
  for (const place of [": ask-1.", ": ask-0."]) {
    await page.keyboard.press("E");
    await expect(page.locator(".t-row.k-ask:focus")).toContainText(place);
  }
  await expect(marked).toContainText(": ask-0.");
  // A button answers the ask that it stands in, wherever the mark is, and at the first press.
  await steady(page);
  await asks.last().getByRole("button", { name: "Approve" }).click();
  await expect.poll(() => server.waits(run)).toEqual([first]);
  expect(second).not.toBe(first);
  expect(await closed(server, run)).toEqual(["allow", "allow"]);
});

test("finished work that somebody else marked done stays in its place, and no key acts on the next story", async ({
  page,
  server,
}) => {
  const one = await server.begin("One", "quick");
  await server.over(one.run);
  const two = await server.begin("Two", "quick");
  await server.over(two.run);
  await page.goto(`${server.url}/inbox`);
  await expect(page.locator(".inbox-detail")).toContainText("One");
  await steady(page);
  await server.ask("POST", `/stories/${one.story}/done`, {});
  await expect(mark(page)).toContainText("Its story was marked done elsewhere.");
  await steady(page);
  await page.keyboard.press("x");
  await expect(page.getByText("Not done: it is no longer open.")).toBeVisible();
  const { state } = await server.ask<{ state: string }>("GET", `/stories/${two.story}`);
  expect(state).toBe("open");
});

test("a link to an ask that is answered already shows that, and no other ask in its place", async ({
  page,
  server,
}) => {
  const { first, second } = await two(page, server);
  await server.answer(first.run, first.ask, DENY);
  await page.goto(`${server.url}/inbox/${first.run}/${first.ask}`);
  await expect(page.getByRole("heading", { name: "No longer waiting" })).toBeVisible();
  await accessible(page);
  await page.keyboard.press("a");
  expect(await server.waits(second.run)).toHaveLength(1);
  await page.keyboard.press("j");
  await expect(page.locator(".inbox-detail")).toContainText("echo second");
});
