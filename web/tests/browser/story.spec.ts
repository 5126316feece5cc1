// A story: its words, where its work is, its runs, and what can be done with it.
import { accessible, expect, QUICK, test } from "./rig";

const WORK = `[[step]]
write = "greet.sh"
content = "echo hello\\n"
[[step]]
say = "Done."
`;
test.use({ scripts: { quick: QUICK, work: WORK } });

test("a story's title and description are changed where they stand, and a draft is kept", async ({
  page,
  server,
}) => {
  const { story } = await server.ask<{ story: string }>("POST", "/stories", {
    title: "Old title",
    text: "Old **words**",
  });
  await page.goto(`${server.url}/stories/${story}`);
  await expect(page.getByText("No runs yet.")).toBeVisible();
  await page.keyboard.press("t");
  await page.getByRole("textbox", { name: "Title" }).fill("New title");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "New title" })).toBeVisible();
  await page.keyboard.press("s");
  await page.keyboard.press("e");
  const box = page.getByRole("textbox", { name: "Description, in Markdown" });
  await box.fill("New _words_");
  await page.reload();
  await expect(box).toHaveValue("New _words_");
  await server.ask("PATCH", `/stories/${story}`, { text: "Words of another" });
  await expect(page.getByText("The description was changed since you started editing")).toBeVisible();
  await box.press("Control+Enter");
  await expect(page.getByRole("region", { name: "Description" })).toContainText("New words");
  await accessible(page);
  const { text } = await server.ask<{ text: string }>("GET", `/stories/${story}`);
  expect(text).toBe("New _words_");
});

test("a story is started, its work is found, it is merged, reopened and put away", async ({
  page,
  server,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const { story } = await server.ask<{ story: string }>("POST", "/stories", { title: "Greet", text: "" });
  await page.goto(`${server.url}/stories/${story}`);
  await page
    .getByRole("button", { name: "Another agent…" })
    .or(page.getByRole("button", { name: "Start another agent" }))
    .click();
  await page
    .getByRole("menuitem", { name: /work\b/ })
    .first()
    .click();
  await expect(page.getByText("run completed")).toBeVisible();
  await page.getByRole("link", { name: "Overview" }).click();
  const place = page.getByRole("region", { name: "Where the work is" });
  await expect(place).toContainText(`musher/${story}/1`);
  await place.getByRole("button", { name: "Copy cd" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toMatch(/^cd \/.*worktrees\/1$/);
  await page.evaluate(() => localStorage.setItem("musher.editor", "zed"));
  await page.reload();
  await expect(place.getByRole("link", { name: "Open in Zed" })).toHaveAttribute("href", /^zed:\/\/file\//);
  await accessible(page);
  const act = async (one: string, two: string, words: string, yes: string) => {
    await page.keyboard.press(one);
    await page.keyboard.press(two);
    await expect(page.getByRole("dialog")).toContainText(words);
    await page.getByRole("dialog").getByRole("button", { name: yes }).click();
    await expect(page.getByRole("dialog")).toHaveCount(0);
  };
  await act("s", "m", `musher/${story}/1`, "Merge");
  await expect(page.locator(".story-line .badge")).toHaveText(/merged/);
  expect(server.git("show", "main:greet.sh")).toBe("echo hello\n");
  await act("s", "o", "can have runs again", "Reopen");
  await expect(page.locator(".story-line .badge")).toContainText("open");
  await act("s", "a", "cannot be undone", "Archive");
  await expect(page.locator(".story-line .badge")).toContainText("archived");
});

test.describe("a story that adds a secret", () => {
  const KEY = "sk-live-0123456789abcdef";
  test.use({
    scripts: { leaks: `[[step]]\nrun = "printf 'a\\nkey: %s\\n' $PLAIN > leaked.txt"\n` },
    keys: { leaks: `env = { PLAIN = { from = "DEPLOY" } }` },
    vars: { DEPLOY: KEY },
  });

  test("is merged from its page only after file and line were shown", async ({ page, server }) => {
    const { story, run } = await server.begin("Leak", "leaks");
    await page.goto(`${server.url}/runs/${run}`);
    await expect(page.getByText("run completed")).toBeVisible();
    await page.goto(`${server.url}/stories/${story}`);
    // Its keys are heard once the runs are read and the run is over.
    await expect(page.getByRole("button", { name: "Retry…" })).toBeVisible();
    const before = server.git("rev-parse", "main");
    await page.keyboard.press("s");
    await page.keyboard.press("m");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Merge", exact: true }).click();
    await expect(dialog).toContainText("ine 2 of leaked.txt holds PLAIN");
    expect(server.git("rev-parse", "main")).toBe(before);
    await accessible(page);
    await dialog.getByRole("button", { name: "Merge with these secrets" }).click();
    await expect(dialog).toHaveCount(0);
    expect(server.git("rev-parse", "main")).not.toBe(before);
    await expect(page.getByText(KEY)).toHaveCount(0);
  });
});

test("a story that is not there, and a run that is not there, are said plainly", async ({ page, server }) => {
  await page.goto(`${server.url}/stories/s99`);
  await expect(page.getByRole("alert")).toContainText("s99");
  await page.goto(`${server.url}/runs/r99`);
  await expect(page.getByRole("alert")).toContainText("r99");
});
