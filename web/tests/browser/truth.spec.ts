// Nothing pretends: what a run waits for, what is only queued and what would conflict is said before anybody finds out.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { accessible, expect, TALK, test } from "./rig";

const ASKS = '[[step]]\nrun = "git push"\nask_first = true\n\n[[step]]\nsay = "Done."\n';
const WRITES = `
[[step]]
write = "README.md"
content = "# By the agent\\n"

[[step]]
say = "Written."

[[step]]
turn = true

[[step]]
say = "I was told: \${prompt}"
`;

/** It hangs until it is interrupted, and then says what it was told. */
const ECHOES = TALK.replace("After the interrupt.", `You said: \${prompt}`);

test.use({ scripts: { asker: ASKS, echoes: ECHOES, talk: TALK, writer: WRITES } });

test("a run that waits says for what, on its card, on its page and among the agents", async ({
  page,
  server,
}) => {
  const { story, run } = await server.begin("Push it", "asker");
  await expect.poll(() => server.waits(run)).toHaveLength(1);
  for (const path of ["/board", `/stories/${story}`, `/runs/${run}`, "/agents"]) {
    await page.goto(server.url + path);
    await expect(page.getByText("Waiting for approval: git push").first()).toBeVisible();
  }
  await accessible(page);
});

test("a queued message is shown as queued, and is taken back before the agent hears it", async ({
  page,
  server,
}) => {
  const { run } = await server.begin("Talk", "echoes");
  await page.goto(`${server.url}/runs/${run}`);
  await expect(page.getByText("First part.")).toBeVisible();
  const box = page.getByRole("textbox", { name: "Message to echoes" });
  const queued = page.getByRole("list", { name: "Queued messages" });
  for (const text of ["Say this later", "And this not at all"]) {
    await box.fill(text);
    await box.press("Enter");
    await expect(queued.getByText(text)).toBeVisible();
  }
  await expect(queued.getByRole("listitem")).toHaveText([
    /Queued for the next turn.*Say this later/,
    /not at all/,
  ]);
  await accessible(page);
  await page.getByRole("button", { name: "Withdraw: And this not at all" }).click();
  await expect(queued.getByRole("listitem")).toHaveCount(1);
  // What was taken back can be written anew.
  await expect(box).toHaveValue("And this not at all");
  await expect(page.getByText("Withdrawn before the agent got it")).toBeVisible();
  await server.ask("POST", `/runs/${run}/interrupt`, {});
  await expect(page.getByText("You said: Say this later")).toBeVisible();
  await expect(queued).toHaveCount(0);
  await server.over(run);
  const { events } = await server.ask<{ events: unknown[] }>("GET", `/runs/${run}/events?last=200`);
  expect(JSON.stringify(events)).not.toContain("You said: And this");
});

test("a merge conflict is on the card before anybody merges, and the first button lets the agent resolve it", async ({
  page,
  server,
}) => {
  const { story, run } = await server.begin("Change the readme", "writer");
  await server.over(run);
  await page.goto(`${server.url}/board`);
  const card = page.locator(`[data-story="${story}"]`);
  await expect(card).toBeVisible();
  await expect(card).not.toContainText("Merge conflict");
  writeFileSync(join(server.repo, "README.md"), "# By a person\n");
  server.git("commit", "-qam", "by a person");
  // Nobody reads the story: that the branch has moved is seen by itself.
  await expect(card).toContainText("Merge conflict in README.md", { timeout: 30_000 });
  await accessible(page);
  for (const path of [`/stories/${story}`, `/runs/${run}`, "/inbox"]) {
    await page.goto(server.url + path);
    await expect(page.getByText("Merge conflict in README.md").first()).toBeVisible();
    await expect(page.getByRole("button", { name: "Let the agent resolve it" })).toBeVisible();
  }
  await page.goto(`${server.url}/board`);
  await card.getByRole("button", { name: "Let the agent resolve it" }).click();
  await expect(page).toHaveURL(/\/runs\/r2$/);
  await expect(page.getByText("I was told: Your branch does not merge into main")).toBeVisible();
});

test("a run that has been quiet for minutes says so", async ({ page, server }) => {
  await page.clock.install();
  const { run } = await server.begin("Think", "talk");
  for (const path of ["/board", `/runs/${run}`, "/agents"]) {
    await page.goto(server.url + path);
    await expect(page.getByText("live", { exact: true })).toBeVisible();
    await expect(
      page.getByText(path === "/agents" ? "Think" : path === "/board" ? "Think" : "First part.").first(),
    ).toBeVisible();
    await expect(page.getByText(/No output for/)).toHaveCount(0);
    await page.clock.fastForward("05:00");
    await expect(page.getByText(/No output for 5m/)).toBeVisible();
  }
});

test.describe("with one slot", () => {
  test.use({ project: "[limits]\nruns = 1\nruns_per_agent = 1\nruns_per_story = 1\n" });

  test("a run that is queued says that all slots are busy", async ({ page, server }) => {
    await server.begin("First", "talk");
    const { story, run } = await server.begin("Second", "asker");
    await page.goto(`${server.url}/board`);
    const { note } = await server.ask<{ note?: string }>("GET", `/runs/${run}`);
    expect(note).toMatch(/1 of 1/);
    await expect(page.locator(`[data-story="${story}"]`)).toContainText(note ?? "?");
  });

  test("a message to a run that has not begun is shown as queued at once, and is taken back", async ({
    page,
    server,
  }) => {
    await server.begin("First", "talk");
    const { run } = await server.begin("Second", "asker");
    await page.goto(`${server.url}/runs/${run}`);
    const box = page.getByRole("textbox", { name: "Message to asker" });
    const queued = page.getByRole("list", { name: "Queued messages" });
    await box.fill("Not that one");
    await box.press("Enter");
    await expect(queued.getByRole("listitem")).toHaveText(/Queued for the next turn.*Not that one/);
    await expect(box).toHaveValue("");
    await accessible(page);
    await page.getByRole("button", { name: "Withdraw: Not that one" }).click();
    await expect(queued).toHaveCount(0);
    await expect(box).toHaveValue("Not that one");
    await expect(page.getByRole("alert")).toHaveCount(0);
  });
});
