// The shell: the way in, every page, the keys, and a connection that heals.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { accessible, expect, test } from "./rig";

test("the printed link lets a browser in once and leaves no code in the address", async ({
  page,
  server,
  browser,
}) => {
  expect(page.url()).not.toContain("#");
  await expect(page.getByRole("navigation", { name: "Pages" })).toBeVisible();
  await page.reload();
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  const other = await browser.newContext();
  const stranger = await other.newPage();
  await stranger.goto(server.link);
  await expect(stranger.getByRole("alert")).toContainText("used before");
  // A link that was used says how to get another.
  await expect(stranger.getByText("To get another one, run this in the repository")).toBeVisible();
  await expect(stranger.getByRole("button", { name: "Copy musher open" })).toBeVisible();
  await accessible(stranger);
  await stranger.getByLabel("The link or the token").fill(server.token());
  await stranger.getByRole("button", { name: "Sign in" }).click();
  await expect(stranger.getByText("live", { exact: true })).toBeVisible();
  await other.close();
});

const PAGES = [
  "/inbox",
  "/board",
  "/agents",
  "/costs",
  "/settings",
  "/first",
  "/stories/STORY",
  "/runs/RUN",
  "/runs/RUN/changes",
  "/board/nothing",
];

for (const path of PAGES) {
  test(`${path} is accessible in both themes`, async ({ page, server }) => {
    const { story, run } = await server.begin("A story", "quick");
    await page.goto(server.url + path.replace("STORY", story).replace("RUN", run));
    await expect(page.getByText("live", { exact: true })).toBeVisible();
    await expect(page.getByText("Loading")).toHaveCount(0);
    await accessible(page);
  });
}

test("a server that is killed and started again under an open page is followed again without a gap", async ({
  page,
  server,
}) => {
  await page.goto(`${server.url}/board`);
  await server.kill();
  await expect(page.getByText("reconnecting", { exact: true })).toBeVisible();
  await expect(page.getByText("may be out of date")).toBeVisible();
  await server.start();
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  await server.ask("POST", "/stories", { title: "After the crash" });
  await expect(page.getByText("After the crash")).toBeVisible();
});

test("a lost journal is shown above every page until a person dismisses it", async ({ page, server }) => {
  const { run } = await server.begin("Work", "quick");
  await server.over(run);
  await page.goto(`${server.url}/inbox`);
  const loss = page.getByRole("region", { name: "Data loss" });
  await server.kill();
  for (const file of ["journal.db", "journal.db-wal", "journal.db-shm"])
    rmSync(join(server.state, file), { force: true });
  await server.start();
  await expect(loss).toContainText("not the journal that was here");
  await accessible(page);
  await page.goto(`${server.url}/board`);
  await loss.getByRole("button", { name: "Dismiss" }).click();
  await expect(loss).toHaveCount(0);
  await page.reload();
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  await expect(loss).toHaveCount(0);
});

test("seven tabs share one connection, and another tab takes it over when its holder goes", async ({
  page,
  server,
  tab,
}) => {
  const tabs = [];
  for (let n = 0; n < 6; n += 1) tabs.push(await tab("/board"));
  await server.ask("POST", "/stories", { title: "Seen by all" });
  for (const one of tabs) await expect(one.getByText("Seen by all")).toBeVisible();
  await page.close();
  await server.ask("POST", "/stories", { title: "Seen by those who are left" });
  for (const one of tabs) await expect(one.getByText("Seen by those who are left")).toBeVisible();
});

test("keys lead everywhere, the sheet names them and the palette finds them", async ({ page }) => {
  await page.keyboard.press("g");
  await page.keyboard.press("b");
  await expect(page).toHaveURL(/\/board$/);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keys" })).toContainText("Go to Inbox");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("go to age");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/agents$/);
});
