// Sound and notices of the system: made while nobody looks, only as was chosen, and never while somebody does.
import type { BrowserContext, Page } from "@playwright/test";
import { expect, test } from "./rig";

const ASKS = '[[step]]\nrun = "git push"\nask_first = true\n\n[[step]]\nsay = "Pushed."\n';

test.use({ scripts: { asker: ASKS } });

interface Calls {
  notices: { title: string; body: string }[];
  sounds: number;
}

declare global {
  interface Window {
    called: { notices: Notification[]; sounds: number };
  }
}

/** Writes down what the page makes of the browser's own objects, which do what they always do. */
async function record(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    window.called = { notices: [], sounds: 0 };
    window.Notification = new Proxy(Notification, {
      construct(real, args: [string, NotificationOptions?]) {
        const made = new real(...args);
        window.called.notices.push(made);
        return made;
      },
    });
    window.AudioContext = new Proxy(AudioContext, {
      construct(real, args: [AudioContextOptions?]) {
        window.called.sounds += 1;
        return new real(...args);
      },
    });
  });
}

function calls(page: Page): Promise<Calls> {
  return page.evaluate(() => ({
    notices: window.called.notices.map(({ title, body }) => ({ title, body })),
    sounds: window.called.sounds,
  }));
}

/** The test runner makes every page believe that it is in front; from now on the browser itself says which one is. */
async function honest(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setFocusEmulationEnabled", { enabled: false });
}

/** Brings a page to the front, and waits until the other one knows. */
async function front(page: Page, behind: Page): Promise<void> {
  await page.bringToFront();
  await expect.poll(() => behind.evaluate(() => document.hasFocus())).toBe(false);
}

/** How many things wait, as the page has understood. */
const waits = (page: Page, many: number) => expect(page).toHaveTitle(new RegExp(`^\\(${many}\\)`));

test("a person is called while nobody looks, as was chosen, and never while somebody looks", async ({
  page,
  context,
  server,
}) => {
  await context.grantPermissions(["notifications"], { origin: server.url });
  await record(context);
  await page.goto(`${server.url}/settings`);
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  await honest(page);
  const elsewhere = await context.newPage();
  await honest(elsewhere);

  await page.bringToFront();
  await expect.poll(() => page.evaluate(() => document.hasFocus())).toBe(true);
  await server.begin("While somebody looks", "asker");
  await waits(page, 1);
  expect(await calls(page)).toEqual({ notices: [], sounds: 0 });

  await front(elsewhere, page);
  await server.begin("While nobody looks", "asker");
  await waits(page, 2);
  expect(await calls(page)).toEqual({
    notices: [{ title: "asker needs you", body: "asker asks: run: git push" }],
    sounds: 1,
  });

  await page.bringToFront();
  await page.getByLabel("A sound").uncheck();
  await front(elsewhere, page);
  await server.begin("Without a sound", "asker");
  await waits(page, 3);
  expect(await calls(page)).toMatchObject({ notices: [{}, {}], sounds: 1 });

  // A notice leads to what it is about.
  const { asks } = await server.ask<{ asks: { run: string; ask: string }[] }>("GET", "/asks");
  await page.evaluate(() => window.called.notices[0]?.dispatchEvent(new Event("click")));
  await expect(page).toHaveURL(`${server.url}/inbox/${asks[1]?.run}/${asks[1]?.ask}`);

  await page.bringToFront();
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.getByLabel("A sound").check();
  await page.getByLabel("Browser notification").uncheck();
  await front(elsewhere, page);
  const { run } = await server.begin("Without a notice", "asker");
  await waits(page, 4);
  expect(await calls(page)).toMatchObject({ notices: [{}, {}], sounds: 2 });
  // That a run has finished calls nobody unless that was chosen.
  const [, , , last] = (await server.ask<{ asks: { run: string; ask: string }[] }>("GET", "/asks")).asks;
  expect(last?.run).toBe(run);
  await server.answer(run, last?.ask ?? "", { decision: "allow" });
  await expect(page.getByText(/^Run r4 on story/)).toBeAttached();
  expect(await calls(page)).toMatchObject({ notices: [{}, {}], sounds: 2 });
});

test.describe("with a short reminder", () => {
  test.use({ keys: { asker: 'ask_reminder = "3s"' } });

  test("a person is called once more for an ask that still waits, and nothing is denied", async ({
    page,
    context,
    server,
  }) => {
    await context.grantPermissions(["notifications"], { origin: server.url });
    await record(context);
    await page.goto(`${server.url}/settings`);
    await expect(page.getByText("live", { exact: true })).toBeVisible();
    await honest(page);
    const elsewhere = await context.newPage();
    await honest(elsewhere);
    await front(elsewhere, page);
    const { run } = await server.begin("Forgotten", "asker");
    await waits(page, 1);
    expect(await calls(page)).toMatchObject({ notices: [{}], sounds: 1 });
    await expect.poll(async () => (await calls(page)).notices.length).toBe(2);
    const { asks } = await server.ask<{ asks: { run: string; state: string }[] }>("GET", "/asks");
    expect(asks).toMatchObject([{ run, state: "open" }]);
    expect(await calls(page)).toMatchObject({ sounds: 2 });
  });
});

test("a page in front keeps those behind it quiet, until it is left or closed", async ({
  page,
  context,
  server,
  tab,
}) => {
  await context.grantPermissions(["notifications"], { origin: server.url });
  await record(context);
  await page.goto(`${server.url}/board`);
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  await honest(page);
  const elsewhere = await context.newPage();
  await honest(elsewhere);
  const other = await tab("/board");
  await honest(other);
  await front(other, page);
  await server.begin("Seen in the other one", "asker");
  await waits(page, 1);
  await waits(other, 1);
  expect(await calls(page)).toEqual({ notices: [], sounds: 0 });
  expect(await calls(other)).toEqual({ notices: [], sounds: 0 });
  await other.reload();
  await waits(other, 1);
  await other.close();
  await front(elsewhere, page);
  await server.begin("Seen by nobody", "asker");
  await waits(page, 2);
  expect(await calls(page)).toMatchObject({ notices: [{ title: "asker needs you" }], sounds: 1 });
});
