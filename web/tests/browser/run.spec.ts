// A run: watched live, gone through, and answered in place.
import type { Page } from "@playwright/test";
import { accessible, expect, QUICK, rows, steady, TALK, TURNS, test } from "./rig";

const WORK = `[[step]]
think = "The test comes first."
[[step]]
say = "I **look** around, word by word, so that everybody can see how the text comes in, and then I go on."
[[step]]
run = "echo one; sleep 1; echo two"
[[step]]
write = "src/greet.sh"
content = "echo hello\\n"
[[step]]
run = "exit 3"
[[step]]
say = "All done."
`;
/** It begins when somebody looks. */
const SLOW = `pace_ms = 80
[[step]]
ask = "Shall I begin?"
options = ["Yes"]
${WORK}`;
const ASKS = `[[step]]
run = "echo pushed"
ask_first = true
[[step]]
ask = "Which colour?"
options = ["Red", "Blue"]
save = "colour"
[[step]]
say = "It is \${colour}."
`;
const HOSTILE = `[[step]]
say = """<img src=x onerror=alert(1)> <script>alert(2)</script> [x](javascript:alert(3)) \\u001b[31mred\\u001b[0m \\u202Eevil\\u202C zero\\u200Bwidth"""
[[step]]
run = "head -c 1000000 /dev/zero | tr '\\\\0' x"
[[step]]
say = "Still here."
`;

test.use({
  scripts: { quick: QUICK, work: WORK, slow: SLOW, asks: ASKS, hostile: HOSTILE, talk: TALK, turns: TURNS },
});

const list = (page: Page) => page.getByRole("list", { name: "Transcript" });
const row = (page: Page, text: string | RegExp) => list(page).getByRole("listitem").filter({ hasText: text });

test("a run is watched from its first word to its end without a reload", async ({ page, server }) => {
  const { story, run } = await server.begin("Greet people", "slow", "Write a greeting.");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(page.getByRole("region", { name: "Waits for you" })).toContainText("Shall I begin?");
  await steady(page);
  await page.keyboard.press("1");
  // Text in flight is seen before it is whole.
  await expect(page.locator(".t-said[aria-busy=true]")).toContainText("word by word");
  await expect(row(page, "echo one").first()).toContainText("running");
  await expect(list(page).locator(".t-live")).toContainText("one");
  await expect(row(page, "run completed")).toBeVisible();
  await expect(row(page, "exit 3")).toContainText("failed");
  await expect(row(page, "All done.")).toBeVisible();
  await page.getByRole("button", { name: /exit 3/ }).click();
  await expect(page.getByText("Output, exit code 3")).toBeVisible();
  await page.getByRole("button", { name: /write.*greet\.sh/ }).click();
  await expect(page.getByRole("region", { name: /Changes of src\/greet.sh/ })).toContainText("echo hello");
  await page.getByRole("button", { name: /thought/ }).click();
  await expect(page.locator(".t-thought .lines")).toContainText("The test comes first.");
  await accessible(page);
  await page.keyboard.press("v");
  await page.keyboard.press("o");
  await expect(page).toHaveURL(new RegExp(`/stories/${story}$`));
});

test("keys go to the next error, to turns, and open rows", async ({ page, server }) => {
  const { run } = await server.begin("Greet people", "work");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(row(page, "run completed")).toBeVisible();
  await list(page).focus();
  await page.keyboard.press("]");
  await expect(page.locator(".t-row:focus")).toContainText("Turn 1");
  await page.keyboard.press("e");
  await expect(page.locator(".t-row.target")).toContainText("exit 3");
  await expect(page).toHaveURL(/#e=\d+$/);
  await page.keyboard.press("o");
  await expect(page.getByText("Output, exit code 3")).toBeVisible();
  await page.keyboard.press("j");
  await expect(page.locator(".t-row:focus")).toContainText("All done.");
});

test("words that are searched for are marked wherever they are seen, and stay text", async ({
  page,
  server,
}) => {
  const marked = () =>
    page.evaluate(() => [...(CSS.highlights.get("found") ?? [])].map((range) => (range as Range).toString()));
  const { run } = await server.begin("Greet people", "work");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(row(page, "run completed")).toBeVisible();
  const before = await list(page).innerHTML();
  await page.keyboard.press("/");
  // In the row the words run through an element of their own.
  await page.keyboard.type("i LOOK  around");
  await expect.poll(marked).toEqual(["I look around"]);
  await page.getByRole("searchbox").fill("echo");
  await expect.poll(async () => (await marked()).length).toBeGreaterThan(2);
  expect(new Set(await marked())).toEqual(new Set(["echo"]));
  await page.getByRole("searchbox").fill("(e|<b>");
  await expect(page.getByRole("search")).toContainText("nothing found");
  await expect.poll(marked).toEqual([]);
  await page.getByRole("searchbox").press("Escape");
  expect(await list(page).innerHTML()).toBe(before);
});

test("following never steals the scroll, and says how much is new below", async ({ page, server }) => {
  const { run } = await server.begin("Long", "worker", "[[work lines=60]] [[work lines=400 every_ms=40]]");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(row(page, /line \d\d/).last()).toBeVisible();
  await expect.poll(() => list(page).getAttribute("data-head").then(Number)).toBeGreaterThan(100);
  await list(page).hover();
  await page.mouse.wheel(0, -600);
  await expect(page.getByRole("button", { name: /new below/ })).toBeVisible();
  const seen = () =>
    list(page).evaluate((box) => {
      const top = box.getBoundingClientRect().top;
      const found = [...box.querySelectorAll(".t-row")].find((one) => one.getBoundingClientRect().top >= top);
      return `${found?.getAttribute("data-seq")} at ${Math.round((found?.getBoundingClientRect().top ?? 0) - top)}`;
    });
  const before = await seen();
  const many = page.getByRole("button", { name: /new below/ });
  const count = async () => Number(/\d+/.exec((await many.textContent()) ?? "0")?.[0]);
  const first = await count();
  await expect.poll(count).toBeGreaterThan(first + 20);
  expect(await seen()).toBe(before);
  await page.keyboard.press("f");
  await expect(many).toHaveCount(0);
  const last = () => list(page).getAttribute("data-head");
  const head = Number(await last());
  await expect.poll(async () => Number(await last())).toBeGreaterThan(head + 10);
  await expect(many).toHaveCount(0);
});

test("an approval and a question are answered in place with the keys of the inbox", async ({
  page,
  server,
}) => {
  const { run } = await server.begin("Push", "asks");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(page.getByRole("region", { name: "Waits for you" })).toContainText("echo pushed");
  await accessible(page);
  await steady(page);
  await page.keyboard.press("a");
  await expect(page.getByRole("region", { name: "Waits for you" })).toContainText("Which colour?");
  await expect(row(page, "approved")).toContainText("echo pushed");
  await steady(page);
  await page.keyboard.press("2");
  await expect(row(page, "It is Blue.")).toBeVisible();
  await expect(row(page, "answered")).toContainText("Blue");
});

test("a server that is killed and started again under an open approval lets it be answered in place", async ({
  page,
  server,
}) => {
  const { run } = await server.begin("Push", "asks");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(page.getByRole("region", { name: "Waits for you" })).toBeVisible();
  const box = page.getByRole("textbox", { name: "Message to asks" });
  await box.fill("Do not lose me");
  await server.kill();
  await expect(page.getByText("reconnecting", { exact: true })).toBeVisible();
  await expect(page.getByText("The server is away: what you send goes out when it is back.")).toBeVisible();
  await box.press("Enter");
  await server.start();
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  await expect(page.getByRole("region", { name: "Waits for you" })).toBeVisible();
  await box.press("Escape");
  await steady(page);
  await page.keyboard.press("a");
  await expect(row(page, "approved")).toContainText("echo pushed");
  await expect(page.getByRole("region", { name: "Waits for you" })).toContainText("Which colour?");
  await steady(page);
  await page.keyboard.press("1");
  await expect(row(page, "It is Red.")).toBeVisible();
});

test("a fork goes on beside the run, which stays as it was", async ({ page, server }) => {
  const { run } = await server.begin("Turns", "turns");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(row(page, "run completed")).toBeVisible();
  await page.keyboard.press("r");
  await page.keyboard.press("f");
  const dialog = page.getByRole("dialog", { name: `Fork ${run}` });
  await expect(dialog).toContainText("in its own worktree");
  await page.keyboard.type("another way");
  await page.keyboard.press("Control+Enter");
  await expect(page).not.toHaveURL(new RegExp(`/runs/${run}$`));
  await expect(row(page, "You asked for more: another way")).toBeVisible();
  const { runs } = await server.ask<{ runs: { id: string; line: string; of?: string }[] }>("GET", "/runs");
  expect(runs.find((one) => one.line === "fork")?.of).toBe(run);
  await page.getByRole("combobox", { name: "Run" }).selectOption(run);
  await expect(page).toHaveURL(new RegExp(`/runs/${run}$`));
  await expect(row(page, "another way")).toHaveCount(0);
});

test("a run is stopped after the page has said what that does", async ({ page, server }) => {
  const { run } = await server.begin("Talk", "talk");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(row(page, "First part.")).toBeVisible();
  await page.keyboard.press("r");
  await page.keyboard.press("s");
  await expect(page.getByRole("dialog")).toContainText("Stops the run");
  await page.keyboard.press("Enter");
  await expect(row(page, "run stopped")).toBeVisible();
  await expect(page.getByRole("button", { name: /Retry/ })).toBeVisible();
});

test("hostile text is shown as text, and an endless line is cut", async ({ page, server }) => {
  const { run } = await server.begin("<b>Hostile</b>\u202e", "hostile", "<script>alert(1)</script>");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(row(page, "Still here.")).toBeVisible();
  await expect(page.getByRole("heading", { name: /<b>Hostile<\/b>/ })).toBeVisible();
  await expect(list(page)).toContainText("⟨202E⟩evil");
  await expect(list(page).locator("img, script, a[href^=javascript]")).toHaveCount(0);
  await page.getByRole("button", { name: /head -c/ }).click();
  await expect(page.getByRole("button", { name: /Open full/ })).toBeVisible();
  expect(await list(page).evaluate((box) => box.scrollWidth - box.clientWidth)).toBeLessThan(2);
});

test("a run fits a phone", async ({ page, server }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const { run } = await server.begin("Push", "asks");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(page.getByRole("button", { name: "Approve" })).toBeInViewport();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await accessible(page);
  expect(await rows(page)).toBeLessThanOrEqual(300);
});
