// The live store in real tabs: what is followed, what is shared, what is said when somebody is no longer let in.
import { expect, test } from "./rig";

const HOSTILE =
  "<img src=x onerror=alert(1)> **bold** \u202egnp.exe\u200b \u001b[31mred\u001b[0m [link](javascript:alert(1)) ![x](http://example.com/x.png)";

test("a run that grows is followed in two tabs, and by the second alone when the first is gone", async ({
  page,
  server,
  tab,
}) => {
  const { run } = await server.begin("Count", "worker", "[[work lines=20 every_ms=300]]");
  await page.goto(`${server.url}/runs/${run}`);
  const other = await tab(`/runs/${run}`);
  await expect(page.getByText("line 3").first()).toBeVisible();
  await expect(other.getByText("line 3").first()).toBeVisible();
  await page.close();
  await expect(other.getByText("live", { exact: true })).toBeVisible();
  await expect(other.getByText("line 20").first()).toBeVisible({ timeout: 30_000 });
});

test("text from outside is shown as text on every page that shows it", async ({ page, server, watch }) => {
  const { story, run } = await server.begin(
    HOSTILE.replace(/\p{Cc}/gu, ""),
    "quick",
    `${HOSTILE}\n\n${"x".repeat(100_000)}`,
  );
  const short = await server.ask<{ story: string }>("POST", "/stories", {
    title: "As Markdown",
    text: HOSTILE,
  });
  for (const path of [
    "/board",
    `/stories/${story}`,
    `/stories/${short.story}`,
    `/runs/${run}`,
    "/inbox",
    "/agents",
  ]) {
    await page.goto(server.url + path);
    await expect(page.getByText("live", { exact: true })).toBeVisible();
    await expect(page.getByText("Loading")).toHaveCount(0);
    expect(await page.locator("main img, main script, main iframe, main a[href^='javascript']").count()).toBe(
      0,
    );
    expect(await page.locator("main").textContent()).not.toMatch(/(?![\n\t])\p{Cc}|[\u202e\u200b]/u);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
  }
  watch.check();
});

test("a token that the server no longer takes is said plainly, and the page comes back with a new one", async ({
  page,
  server,
}) => {
  await page.goto(`${server.url}/board`);
  await server.kill();
  await page.evaluate(() => localStorage.setItem("musher.token", "0".repeat(64)));
  await server.start();
  await expect(page.getByText("This browser was signed out")).toBeVisible();
  await page.getByLabel("The link or the token").fill(server.link);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  await expect(page).toHaveURL(/\/board$/);
});

test("what is typed while the server is away stays, and is sent when it is back", async ({
  page,
  server,
}) => {
  await page.goto(`${server.url}/board`);
  await expect(page.getByText("No stories yet")).toBeVisible();
  const line = page.getByLabel("A new story in one line");
  await line.fill("Typed in the dark");
  await server.kill();
  await expect(page.getByText("reconnecting", { exact: true })).toBeVisible();
  await line.press("Enter");
  await server.start();
  await expect(page.getByRole("link", { name: /Typed in the dark/ })).toHaveCount(1);
});

test("a story and a message that are sent while the server is away go out once when it is back, or not at all", async ({
  page,
  server,
  tab,
}) => {
  const { run } = await server.begin("Waits for words", "worker", "[[work hang=1]]");
  await page.goto(`${server.url}/board`);
  const other = await tab(`/runs/${run}`);
  const third = await tab("/board");
  await server.kill();
  await page.getByLabel("A new story in one line").fill("Written while it was away");
  await page.keyboard.press("Enter");
  await other.getByLabel("Message to worker").fill("Said while it was away");
  await other.keyboard.press("Enter");
  await third.getByLabel("A new story in one line").fill("Not wanted any more");
  await third.keyboard.press("Enter");
  const away = (what: string) => `The server is away. ${what} is sent when it is back.`;
  await expect(page.getByText(away("The story"))).toBeVisible();
  await expect(other.getByText(away("Your message"))).toBeVisible();
  const notice = third.getByRole("status").filter({ hasText: away("The story") });
  await notice.getByRole("button", { name: "Undo" }).click();
  await expect(third.getByText("It was not sent. Send it again when you want to.")).toBeVisible();
  await expect(third.getByLabel("A new story in one line")).toHaveValue("Not wanted any more");
  await server.start();
  await expect(page.getByText("The server is back. The story was sent.")).toBeVisible({ timeout: 30_000 });
  await expect(other.getByText("The server is back. Your message was sent.")).toBeVisible({
    timeout: 30_000,
  });
  const { stories } = await server.ask<{ stories: { title: string }[] }>("GET", "/stories");
  expect(stories.map(({ title }) => title).sort()).toEqual(["Waits for words", "Written while it was away"]);
});
