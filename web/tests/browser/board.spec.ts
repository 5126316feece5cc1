// The board by keyboard and by pointer, with filters, with hundreds of stories, and on a phone.
import { column, SCRIPTS } from "./cards";
import { accessible, expect, rows, test } from "./rig";

test.use({ scripts: SCRIPTS });

test("cards are moved by keys, and each move says what it does", async ({ page, server }) => {
  const { story } = await server.ask<{ story: string }>("POST", "/stories", { title: "Wanders" });
  await page.goto(`${server.url}/board`);
  await expect(page.getByRole("article").first()).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("m");
  const menu = page.getByRole("menu");
  await expect(menu).toContainText("Start…");
  await expect(menu).toContainText("→ Done. No more runs are needed.");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(column(page, "Done").getByRole("link", { name: "Wanders" })).toBeFocused();
  await page.keyboard.press("m");
  await expect(menu).toContainText("Reopen");
  await page.keyboard.press("Enter");
  await expect(column(page, "Backlog").getByRole("link", { name: "Wanders" })).toBeVisible();
  await page.keyboard.press("z");
  await expect(column(page, "Done").getByRole("link", { name: "Wanders" })).toBeVisible();
  expect((await server.ask<{ state: string }>("GET", `/stories/${story}`)).state).toBe("done");
});

test("a card that is dragged says what a drop does, and does it", async ({ page, server }) => {
  await server.ask("POST", "/stories", { title: "Dragged" });
  await server.ask("POST", "/stories", { title: "Stays" });
  await page.goto(`${server.url}/board`);
  const card = page.getByRole("article").filter({ hasText: "Dragged" });
  await card.hover();
  await page.mouse.down();
  await column(page, "Review").hover();
  await column(page, "Review").hover();
  await expect(column(page, "Review").getByText("Only an agent’s work brings a story here.")).toBeVisible();
  await expect(column(page, "Running").getByText("Choose who works on it.")).toBeVisible();
  await page.mouse.up();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await card.dragTo(column(page, "Running"));
  await expect(page.getByRole("dialog", { name: "Start an agent" })).toContainText("Dragged");
  await page.keyboard.press("Escape");
  await card.dragTo(column(page, "Done"));
  await expect(column(page, "Done").getByRole("link", { name: "Dragged" })).toBeVisible();
});

test("an ask puts the card under what needs a person, whom it leads to the ask", async ({ page, server }) => {
  await server.begin("Asks something", "greeter");
  await page.goto(`${server.url}/board`);
  const needs = column(page, "Needs you");
  await expect(needs.getByText("Waiting for approval: true")).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("m");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/inbox\/.+\/.+/);
});

test("an ask on a card and on a story's page says that it is answered in the inbox, and leads there", async ({
  page,
  server,
}) => {
  const { story, run } = await server.begin("Asks something", "greeter");
  await expect.poll(() => server.waits(run)).toHaveLength(1);
  for (const path of ["/board", `/stories/${story}`]) {
    await page.goto(server.url + path);
    await accessible(page);
    await page.getByRole("link", { name: "Answer in inbox" }).click();
    await expect(page).toHaveURL(new RegExp(`/inbox/${run}/.+`));
    await expect(page.locator(".inbox-detail")).toContainText("true");
  }
  // In the transcript it is answered in place.
  await page.goto(`${server.url}/runs/${run}`);
  await expect(page.getByRole("region", { name: "Waits for you" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Answer in inbox" })).toHaveCount(0);
});

test("filters stand in the address and survive a reload", async ({ page, server }) => {
  await server.ask("POST", "/stories", { title: "Red apple" });
  await server.ask("POST", "/stories", { title: "Green apple" });
  await server.begin("Red pear", "writer");
  await page.goto(`${server.url}/board`);
  await expect(column(page, "Review").getByRole("link", { name: "Red pear" })).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type("red");
  await expect(page).toHaveURL(/q=red/);
  await expect(page.getByRole("link", { name: "Green apple" })).toHaveCount(0);
  await page.getByRole("button", { name: "Add a filter" }).click();
  await page.getByRole("menuitem", { name: "writer" }).click();
  await expect(page.getByRole("article")).toHaveCount(1);
  await page.reload();
  await expect(page.getByRole("article")).toHaveCount(1);
  await expect(page.getByRole("list", { name: "Filters" })).toContainText("agent: writer");
  await page.getByRole("button", { name: "Remove the filter agent: writer" }).click();
  await expect(page.getByRole("article")).toHaveCount(2);
  await page.getByRole("button", { name: "Needs me" }).click();
  await expect(page).toHaveURL(/mine=1/);
  await expect(page.getByRole("article")).toHaveCount(1);
  await page.getByRole("button", { name: "Clear" }).click();
  await expect(page.getByRole("article")).toHaveCount(3);
  await page.keyboard.press("v");
  await expect(page).toHaveURL(/view=list/);
  await page.reload();
  await expect(page.getByRole("list", { name: "Stories" }).getByRole("listitem")).toHaveCount(3);
});

test("the preview shows the story beside the board and follows the keys", async ({ page, server }) => {
  await server.ask("POST", "/stories", { title: "First", text: "The **first** text." });
  await server.ask("POST", "/stories", { title: "Second", text: "The second text." });
  await page.goto(`${server.url}/board`);
  await expect(page.getByRole("article").first()).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("Space");
  const preview = page.getByRole("complementary");
  await expect(preview).toContainText("The second text.");
  await page.keyboard.press("j");
  await expect(preview).toContainText("The first text.");
  await accessible(page);
  await page.keyboard.press("Escape");
  await expect(preview).toHaveCount(0);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/stories\//);
});

test("with 500 stories few rows are in the page, and no list is fetched while the feed is live", async ({
  page,
  server,
}) => {
  test.setTimeout(180_000);
  const titles = Array.from({ length: 500 }, (_, n) => `Story number ${n}`);
  for (let at = 0; at < titles.length; at += 20) {
    await Promise.all(titles.slice(at, at + 20).map((title) => server.ask("POST", "/stories", { title })));
  }
  await page.goto(`${server.url}/board`);
  await expect(column(page, "Backlog").getByText("500", { exact: true })).toBeVisible({ timeout: 30_000 });
  expect(await rows(page)).toBeLessThanOrEqual(300);
  await accessible(page);
  const lists: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (/\/api\/v1\/(stories|runs|asks|agents|feed)$/.test(pathname) && request.method() === "GET")
      lists.push(pathname);
  });
  await server.ask("POST", "/stories", { title: "The newest of them" });
  await expect(page.getByRole("link", { name: "The newest of them" })).toBeVisible();
  await page.getByText("A list shows more of them at once.").waitFor();
  await page.getByRole("button", { name: "Show a list" }).click();
  const list = page.getByRole("list", { name: "Stories" });
  await expect(list.getByRole("link", { name: "The newest of them" })).toBeVisible();
  expect(await rows(page)).toBeLessThanOrEqual(300);
  await page.keyboard.press("j");
  for (let n = 0; n < 60; n += 1) await page.keyboard.press("j");
  const focused = page.locator(".card-link:focus");
  await expect(focused).toBeInViewport();
  const { run } = await server.begin("At work among many", "writer");
  await server.over(run);
  await list.evaluate((box) => box.scrollTo(0, 0));
  await expect(list.getByText("Review")).toBeVisible();
  expect(await rows(page)).toBeLessThanOrEqual(300);
  expect(lists).toEqual([]);
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true });
  test("one column is shown at a time, and a card is moved by its menu", async ({ page, server }) => {
    await server.begin("Needs an answer", "greeter");
    await server.ask("POST", "/stories", { title: "Not begun" });
    await page.goto(`${server.url}/board`);
    await expect(page.getByRole("link", { name: "Needs an answer" })).toBeVisible();
    await expect(page.getByRole("link", { name: "Not begun" })).toHaveCount(0);
    await page.getByRole("button", { name: /^Backlog/ }).tap();
    await expect(page).toHaveURL(/column=backlog/);
    await page.getByRole("button", { name: /Move or act on Not begun/ }).tap();
    await page.getByRole("menuitem", { name: /^Start/ }).tap();
    await page.getByRole("radio", { name: /writer/ }).check();
    await page.getByRole("button", { name: /^Start/ }).tap();
    await expect(page.getByRole("button", { name: /^Review 1/ })).toBeVisible();
    await accessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  });
});
