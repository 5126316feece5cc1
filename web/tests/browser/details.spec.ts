// What a story asks for beside its words: set on its page, shown on the board, and refused in words.
import type { Page } from "@playwright/test";
import { begin, column, SCRIPTS } from "./cards";
import { accessible, expect, test } from "./rig";
import type { Server } from "./server";

test.use({ scripts: SCRIPTS });

interface Told {
  priority: number;
  labels?: string[];
  after?: string[];
  budget_usd?: number | null;
  agent?: string | null;
  base?: string | null;
  branch?: string | null;
  text?: string | null;
}

async function add(server: Server, title: string, more: object = {}): Promise<string> {
  return (await server.ask<{ story: string }>("POST", "/stories", { title, ...more })).story;
}

const told = (server: Server, story: string) => server.ask<Told>("GET", `/stories/${story}`);
const details = (page: Page) => page.getByRole("region", { name: "Details" });
const card = (page: Page, title: string) => page.getByRole("article").filter({ hasText: title });

test("each detail of a story is set on its page and saved at once", async ({ page, server }) => {
  const first = await add(server, "Comes first");
  const story = await add(server, "Has details");
  server.git("branch", "release");
  await page.goto(`${server.url}/stories/${story}`);
  const box = details(page);
  await box.getByLabel("Priority").selectOption("Urgent");
  await expect.poll(async () => (await told(server, story)).priority).toBe(4);
  await box.getByLabel("Agent").selectOption("slow");
  await expect.poll(async () => (await told(server, story)).agent).toBe("slow");
  await expect(page.getByRole("button", { name: "Start slow" })).toBeVisible();
  await box.getByLabel("Add label").fill("Good first");
  await page.keyboard.press("Enter");
  await expect(box.getByRole("list", { name: "Labels" })).toContainText("good-first");
  await box.getByLabel("Add label").fill("api");
  // Going on to the next field adds it too.
  await page.keyboard.press("Tab");
  await expect.poll(async () => (await told(server, story)).labels).toEqual(["api", "good-first"]);
  await box.getByLabel("Add story").fill("comes FIRST");
  await page.keyboard.press("Enter");
  const after = box.getByRole("list", { name: "After" });
  await expect(after.getByRole("link", { name: `${first} Comes first` })).toBeVisible();
  await expect(after).toContainText("open");
  await box.getByLabel("Budget in dollars").fill("$4");
  await page.keyboard.press("Enter");
  await expect(box).toContainText("$0.00 / $4");
  await box.getByLabel("Base branch").fill("release");
  await box.getByLabel("Branch name").fill("fix/details");
  await page.keyboard.press("Enter");
  await expect.poll(async () => (await told(server, story)).branch).toBe("fix/details");
  expect(await told(server, story)).toMatchObject({
    priority: 4,
    labels: ["api", "good-first"],
    after: [first],
    budget_usd: 4,
    agent: "slow",
    base: "release",
    branch: "fix/details",
  });
  await accessible(page);
});

test("the board shows on cards and in its list what stories ask for", async ({ page, server }) => {
  const first = await add(server, "Comes first");
  const more = { priority: 4, labels: ["api", "good-first"], after: [first], budget_usd: 4 };
  await add(server, "Has details", more);
  await page.goto(`${server.url}/board`);
  const mine = card(page, "Has details");
  for (const words of ["Urgent", "good-first", "api", `after ${first}`, "$0.00 / $4"])
    await expect(mine).toContainText(words);
  await accessible(page);
  await page.keyboard.press("v");
  const row = page.getByRole("list", { name: "Stories" }).getByRole("listitem").first();
  for (const words of ["Has details", "Urgent", "api", "$0.00 / $4"]) await expect(row).toContainText(words);
  await accessible(page);
  await row.getByRole("link", { name: first, exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`/stories/${first}$`));
});

test("details are taken away again, and the board forgets them", async ({ page, server }) => {
  const first = await add(server, "Comes first");
  const story = await add(server, "Had details", {
    after: [first],
    labels: ["api"],
    budget_usd: 4,
    agent: "writer",
    base: "main",
  });
  await page.goto(`${server.url}/stories/${story}`);
  const box = details(page);
  await box.getByRole("button", { name: `Remove story ${first}` }).click();
  await expect(box.getByRole("list", { name: "After" })).toHaveCount(0);
  await box.getByRole("button", { name: "Remove label api" }).click();
  await expect(box.getByRole("list", { name: "Labels" })).toHaveCount(0);
  await expect(box.getByLabel("Add label")).toBeFocused();
  await box.getByLabel("Agent").selectOption("Chosen at start");
  await box.getByLabel("Budget in dollars").fill("");
  await page.keyboard.press("Enter");
  await box.getByLabel("Base branch").fill("");
  await page.keyboard.press("Enter");
  const left = async () => {
    const { after = [], labels = [], agent, budget_usd, base } = await told(server, story);
    return [...after, ...labels, agent ?? null, budget_usd ?? null, base ?? null];
  };
  await expect.poll(left).toEqual([null, null, null]);
  await page.goto(`${server.url}/board`);
  await expect(card(page, "Had details")).not.toContainText(/after|api|\$/);
});

test("what the server refuses is said at the field, and what was typed stays", async ({ page, server }) => {
  const one = await add(server, "One");
  const two = await add(server, "Two", { after: [one] });
  await page.goto(`${server.url}/stories/${one}`);
  const box = details(page);
  const alert = box.getByRole("alert");
  await box.getByLabel("Add story").fill(two);
  await page.keyboard.press("Enter");
  await expect(alert).toContainText(
    `Stories would wait for each other: ${one} after ${two} after ${one}. Take one of them out`,
  );
  await expect(box.getByLabel("Add story")).toHaveValue(two);
  await expect(box.getByRole("list", { name: "After" })).toHaveCount(0);
  await accessible(page);
  await page.keyboard.press("Escape");
  await box.getByLabel("Add story").fill("s99");
  await page.keyboard.press("Enter");
  await expect(alert).toContainText("s99");
  await page.keyboard.press("Escape");
  await box.getByLabel("Budget in dollars").fill("four");
  await page.keyboard.press("Enter");
  await expect(alert.filter({ hasText: "“four” is not an amount" })).toBeVisible();
  await box.getByLabel("Branch name").fill("not a branch");
  await page.keyboard.press("Enter");
  await expect(alert.filter({ hasText: "branch" })).toBeVisible();
  await expect(box.getByLabel("Branch name")).toHaveValue("not a branch");
  await page.keyboard.press("Escape");
  await expect(box.getByLabel("Branch name")).toHaveValue("");
  expect(await told(server, one)).not.toHaveProperty("after", [two]);
});

test("a run that waits says for which story, and begins when that one is done", async ({ page, server }) => {
  const first = await add(server, "Comes first");
  const story = await add(server, "Comes second", { after: [first], branch: "second", agent: "writer" });
  await server.ask("POST", `/stories/${story}/start`, { agent: "writer" });
  await page.goto(`${server.url}/board`);
  const queued = column(page, "Queued");
  await expect(queued.getByText(`story ${first} must be done first`)).toBeVisible();
  await expect(queued.getByRole("link", { name: first, exact: true })).toBeVisible();
  await page.goto(`${server.url}/stories/${story}`);
  await expect(page.locator(".run-note")).toContainText(`story ${first} must be done first`);
  // With a run its branch has its name.
  await expect(details(page).getByLabel("Branch name")).toHaveCount(0);
  await expect(details(page)).toContainText("second");
  await accessible(page);
  await server.ask("POST", `/stories/${first}/done`, {});
  await expect(details(page).getByRole("list", { name: "After" })).toContainText("done");
  await expect(page.locator(".run-line .badge").first()).toContainText("completed", { timeout: 30_000 });
  await page.goto(`${server.url}/board`);
  await expect(column(page, "Review").getByRole("article")).not.toContainText("after");
});

test("a budget that is used up is marked on the card, and the next run says so", async ({ page, server }) => {
  const story = await add(server, "Costs something", { budget_usd: 0.25 });
  const { run } = await server.ask<{ run: string }>("POST", `/stories/${story}/start`, { agent: "writer" });
  await server.over(run);
  await page.goto(`${server.url}/board`);
  await expect(card(page, "Costs something")).toContainText("$0.25 / $0.25 (budget used up)");
  await server.ask("POST", `/stories/${story}/start`, { agent: "writer" });
  await expect(column(page, "Queued").getByText(/budget of .* is spent/)).toBeVisible();
  await accessible(page);
});

test("stories are filtered by label, and the filter stands in the address", async ({ page, server }) => {
  const story = await add(server, "Of the API", { labels: ["api", "urgent-fix"] });
  await add(server, "Of the web", { labels: ["web"] });
  await add(server, "Of nothing");
  await page.goto(`${server.url}/board`);
  await expect(page.getByRole("article")).toHaveCount(3);
  await page.getByRole("button", { name: "Add a filter" }).click();
  await page.getByRole("menuitem", { name: "web" }).click();
  await expect(page).toHaveURL(/label=web/);
  await expect(page.getByRole("article")).toHaveCount(1);
  await page.getByRole("button", { name: "Add a filter" }).click();
  await page.getByRole("menuitem", { name: "api" }).click();
  await expect(page.getByRole("article")).toHaveCount(2);
  await page.reload();
  await expect(page.getByRole("article")).toHaveCount(2);
  await page.getByRole("button", { name: "Remove the filter label: web" }).click();
  await expect(page.getByRole("article")).toHaveCount(1);
  await page.getByRole("button", { name: "Clear" }).click();
  await expect(page.getByRole("article")).toHaveCount(3);
  await page.goto(`${server.url}/stories/${story}`);
  await details(page).getByRole("link", { name: "api" }).click();
  await expect(page).toHaveURL(/\/board\?label=api/);
  await expect(page.getByRole("article")).toHaveCount(1);
});

test("the most urgent story stands first in its column", async ({ page, server }) => {
  await add(server, "Urgent one", { priority: 4 });
  await add(server, "Usual one");
  await add(server, "Lowest one", { priority: 0 });
  await page.goto(`${server.url}/board`);
  const titles = column(page, "Backlog").locator(".card-link");
  await expect(titles).toHaveText(["Urgent one", "Usual one", "Lowest one"]);
});

test("a criterion is ticked in the text of the story, and the keyboard stays where it was", async ({
  page,
  server,
}) => {
  const text = "Wanted:\n\n- [ ] It works\n- [x] It is tested\n\n```\n- [ ] not one\n```\n";
  const story = await add(server, "Has criteria", { text });
  await page.goto(`${server.url}/stories/${story}`);
  const box = page.getByRole("region", { name: "Description" });
  await expect(box).toContainText("1 of 2 acceptance criteria met");
  const works = box.getByRole("checkbox", { name: "It works" });
  await expect(works).not.toBeChecked();
  await expect(box.getByRole("checkbox", { name: "It is tested" })).toBeChecked();
  await works.focus();
  await page.keyboard.press("Space");
  await expect(box).toContainText("2 of 2 acceptance criteria met");
  await expect(works).toBeChecked();
  await expect(works).toBeFocused();
  expect((await told(server, story)).text).toBe(text.replace("[ ] It works", "[x] It works"));
  await accessible(page);
  await page.goto(`${server.url}/board`);
  await expect(page.getByRole("article")).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("Space");
  const preview = page.getByRole("complementary");
  await expect(preview).toContainText("2 of 2 acceptance criteria met");
  await expect(preview.getByRole("checkbox").first()).toBeDisabled();
});

test("a criterion is not ticked in a text that somebody else has changed meanwhile", async ({
  page,
  server,
}) => {
  const story = await add(server, "Has criteria", { text: "- [ ] Old words" });
  await page.goto(`${server.url}/stories/${story}`);
  const box = page.getByRole("region", { name: "Description" });
  await expect(box.getByRole("checkbox", { name: "Old words" })).toBeEnabled();
  // Another person's text is there when the page looks, and the feed has not told of it yet.
  let others = "- [ ] New words";
  await page.route(`**/api/v1/stories/${story}`, async (route) => {
    if (route.request().method() === "GET" && others !== "") {
      const text = others;
      others = "";
      const reply = await route.fetch();
      await route.fulfill({ response: reply, json: { ...(await reply.json()), text } });
    } else await route.continue();
  });
  await box.getByRole("checkbox").click();
  await expect(box.getByRole("alert")).toContainText("The description was changed meanwhile");
  await expect(box.getByRole("checkbox")).not.toBeChecked();
  expect((await told(server, story)).text).toBe("- [ ] Old words");
});

test("a new story is given a priority, labels and what it comes after", async ({ page, server }) => {
  const first = await add(server, "Comes first");
  await page.goto(`${server.url}/board`);
  await begin(page);
  await page.keyboard.type("All at once");
  const dialog = page.getByRole("dialog", { name: "New story" });
  await dialog.getByText("Priority, labels and order").click();
  await dialog.getByLabel("Priority").selectOption("High");
  await dialog.getByLabel("Add label").fill("api");
  await page.keyboard.press("Enter");
  await dialog.getByLabel("Add story").fill(first);
  await page.keyboard.press("Enter");
  await expect(dialog.getByRole("list", { name: "After" })).toContainText("Comes first");
  await accessible(page);
  // What was chosen is seen beside the line of the board, and is there again in the dialog.
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await expect(page.locator(".new-story")).toContainText("High");
  await page.keyboard.press("c");
  await expect(dialog.getByRole("list", { name: "Labels" })).toContainText("api");
  // A story that is not there is refused, not left out.
  await dialog.getByLabel("Add story").fill("s99");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await expect(dialog.getByRole("alert")).toContainText("s99");
  await dialog.getByRole("button", { name: "Remove story s99" }).click();
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await expect(card(page, "All at once")).toContainText("High");
  const { stories } = await server.ask<{ stories: ({ title: string } & Told)[] }>("GET", "/stories");
  const story = stories.find(({ title }) => title === "All at once");
  expect(story).toMatchObject({ priority: 3, labels: ["api"], after: [first] });
  await expect(page.locator(".new-story")).not.toContainText("High");
});
