// Stories from their first line to their end: added, started, stopped, merged, and never lost while they are typed.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { begin, column, SCRIPTS } from "./cards";
import { accessible, expect, test } from "./rig";

test.use({ scripts: SCRIPTS });

test("a story is created and started by keyboard alone, from any page, and its card is live", async ({
  page,
  server,
}) => {
  await page.goto(`${server.url}/costs`);
  await begin(page);
  await page.keyboard.type("Write some notes");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.keyboard.press("g");
  await page.keyboard.press("b");
  await expect(column(page, "Backlog").getByRole("link", { name: "Write some notes" })).toBeVisible();
  await page.keyboard.press("j");
  await expect(page.getByRole("link", { name: "Write some notes" })).toBeFocused();
  await page.keyboard.press("s");
  await expect(page.getByRole("dialog", { name: "Start an agent" })).toBeVisible();
  await expect(page.getByRole("radio", { name: /writer/ })).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expect(page.getByRole("radio", { name: /slow/ })).toBeChecked();
  await page.keyboard.press("Enter");
  const running = column(page, "Running");
  await expect(running.getByRole("link", { name: "Write some notes" })).toBeVisible();
  await expect(running.getByText("slow", { exact: true })).toBeVisible();
  await expect(running.getByText(/^\d+s$/)).toBeVisible();
  // The focus went along with the card.
  await expect(page.getByRole("link", { name: "Write some notes" })).toBeFocused();
  await expect(column(page, "Review").getByText("completed")).toBeVisible({ timeout: 30_000 });
  // Whoever was chosen is offered first the next time.
  await page.keyboard.press("c");
  await expect(page.getByLabel("Agent")).toHaveValue("slow");
  await page.keyboard.press("Escape");
});

test("a story that is added and started at once shows its lines, cost and agent, and is merged from the board", async ({
  page,
  server,
}) => {
  await page.goto(`${server.url}/board`);
  await begin(page);
  await page.keyboard.type("Notes to merge");
  await page.getByLabel("Agent").selectOption("writer");
  await page.getByRole("button", { name: "Add and start" }).click();
  const review = column(page, "Review");
  await expect(review.getByRole("link", { name: "Notes to merge" })).toBeVisible();
  await expect(review.getByText("writer", { exact: true })).toBeVisible();
  await expect(review.getByText("$0.25")).toBeVisible();
  await review.getByRole("link", { name: "Notes to merge" }).focus();
  await page.keyboard.press("x");
  const dialog = page.getByRole("dialog", { name: "Finish the story" });
  await expect(dialog.getByText(/musher\/.+\/1/)).toBeVisible();
  await expect(dialog.getByText("+2")).toBeVisible();
  await expect(dialog.getByRole("button", { name: "Merge into main" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(column(page, "Done").getByText(/merged as/)).toBeVisible();
  expect(server.git("ls-tree", "--name-only", "main")).toContain("notes.md");
});

test("a merge that cannot be made is told where it was wanted, and the story can be done without it", async ({
  page,
  server,
}) => {
  await server.begin("Notes in conflict", "writer");
  await page.goto(`${server.url}/board`);
  const review = column(page, "Review");
  await expect(review.getByText("completed")).toBeVisible();
  writeFileSync(join(server.repo, "notes.md"), "something else\n");
  server.git("add", ".");
  server.git("commit", "-qm", "second");
  await review.getByRole("link", { name: "Notes in conflict" }).focus();
  await page.keyboard.press("x");
  const dialog = page.getByRole("dialog", { name: "Finish the story" });
  await dialog.getByRole("button", { name: "Merge into main" }).click();
  await expect(dialog.getByRole("alert")).toContainText("could not be merged");
  await dialog.getByRole("button", { name: "Done without merging" }).click();
  await expect(column(page, "Done").getByRole("link", { name: "Notes in conflict" })).toBeVisible();
});

test("a run is stopped from the board after a word about what that means", async ({ page, server }) => {
  await server.begin("Goes on and on", "slow");
  await page.goto(`${server.url}/board`);
  await expect(column(page, "Running").getByRole("article")).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("S");
  await expect(page.getByRole("dialog", { name: "Stop the run" })).toContainText("slow ends its work");
  await page.keyboard.press("Enter");
  await expect(column(page, "Backlog").getByText("stopped")).toBeVisible();
});

test("the palette starts an agent on a story from any page", async ({ page, server }) => {
  await server.ask("POST", "/stories", { title: "Found by its name" });
  await page.goto(`${server.url}/costs`);
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("start found");
  await expect(page.getByRole("menuitem", { name: /Start an agent on: Found by its name/ })).toBeVisible();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog", { name: "Start an agent" })).toContainText("Found by its name");
});

test("what is typed while a story is on its way is kept, and a title that is being saved stays as it is", async ({
  page,
  server,
}) => {
  let arrive = () => {};
  const slow = async (address: string) => {
    const way = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    await page.route(address, async (route) => {
      if (route.request().method() !== "GET") await way;
      await route.continue();
    });
  };
  await slow("**/api/v1/stories");
  await page.goto(`${server.url}/board`);
  const line = page.getByLabel("A new story in one line");
  await line.click();
  await page.keyboard.type("The first one");
  await page.keyboard.press("Enter");
  await page.keyboard.type(" and the second");
  arrive();
  await expect(page.getByText("Added to the backlog: The first one", { exact: true })).toBeVisible();
  await expect(line).toHaveValue("and the second");

  await slow("**/api/v1/stories/s1");
  await page.goto(`${server.url}/stories/s1`);
  await expect(page.getByText("No runs yet.")).toBeVisible();
  await page.keyboard.press("t");
  const title = page.getByRole("textbox", { name: "Title" });
  await title.fill("The very first");
  await page.keyboard.press("Enter");
  await expect(title).not.toBeEditable();
  await page.keyboard.type(" of all");
  arrive();
  await expect(page.getByRole("heading", { name: "The very first", exact: true })).toBeVisible();
});

test("what somebody typed outlives a refusal, a reload and a server that is away", async ({
  page,
  server,
}) => {
  await page.goto(`${server.url}/board`);
  await begin(page);
  await page.keyboard.type("Half a thought");
  await page.keyboard.press("Escape");
  await expect(page.getByLabel("A new story in one line")).toHaveValue("Half a thought");
  await page.reload();
  await expect(page.getByLabel("A new story in one line")).toHaveValue("Half a thought");
  await page.getByLabel("A new story in one line").fill("x".repeat(5_000));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("alert")).toBeVisible();
  await expect(page.getByLabel("A new story in one line")).toHaveValue("x".repeat(5_000));
  await page.getByLabel("A new story in one line").fill("A whole thought");
  await page.getByRole("button", { name: "New story with more text" }).click();
  const dialog = page.getByRole("dialog", { name: "New story" });
  await dialog.getByLabel("Description").fill("With all its reasons.");
  await server.kill();
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await expect(page.getByText("The story is sent when it is back.")).toBeVisible();
  await expect(dialog.getByLabel("Description")).toHaveValue("With all its reasons.");
  await server.start();
  await expect(page.getByText("live", { exact: true })).toBeVisible({ timeout: 20_000 });
  // It goes out by itself, once.
  await expect(page.getByRole("link", { name: "A whole thought" })).toHaveCount(1);
  await expect(dialog).toHaveCount(0);
  await expect(page.getByLabel("A new story in one line")).toHaveValue("");
});

test("the dialogs and menus of stories are accessible in both themes", async ({ page, server }) => {
  await server.begin("Has a branch", "writer");
  await page.goto(`${server.url}/board`);
  await expect(column(page, "Review").getByText("completed")).toBeVisible();
  await begin(page);
  await accessible(page);
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Has a branch" }).focus();
  for (const [key, role] of [
    ["s", "dialog"],
    ["x", "dialog"],
    ["m", "menu"],
  ] as const) {
    await page.keyboard.press(key);
    await expect(page.getByRole(role)).toBeVisible();
    await expect(page.getByText("Loading")).toHaveCount(0);
    await accessible(page);
    await page.keyboard.press("Escape");
    await expect(page.getByRole(role)).toHaveCount(0);
    await expect(page.getByRole("link", { name: "Has a branch" })).toBeFocused();
  }
  await page.keyboard.press("v");
  await expect(page.getByRole("list", { name: "Stories" })).toBeVisible();
  await accessible(page);
});
