// The network of a run in a strict sandbox: hosts as they are spoken to, the ask about a new one with all its scopes, and what to do without.
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { accessible, test as base, expect, steady } from "./rig";

/** A host on an address of the machine that no other program and no other worker takes for its own. */
const HOST = `127.9.${(process.pid >> 8) & 255}.${process.pid & 255}`;
const PORT = 18_563;

const test = base.extend<{ site: HttpServer }>({
  // biome-ignore lint/correctness/noEmptyPattern: the test runner reads the names from here.
  site: async ({}, use) => {
    const site = createServer((_request, response) => response.end("x".repeat(4_096)));
    await new Promise<void>((done) => site.listen(PORT, HOST, done));
    await use(site);
    await new Promise((done) => site.close(done));
  },
});

test.use({
  scripts: {
    caller: `[[step]]\nrun = "curl -s -o page http://${HOST}:${PORT}/; curl -s http://127.0.0.4/"\n[[step]]\nrun = "until curl -s -o none -w %{http_connect} https://new.invalid/ | grep 502; do :; done"\n[[step]]\nturn = true\n[[step]]\nsay = "Called."\n`,
    quick: '[[step]]\nsay = "Done."\n',
  },
  keys: {
    caller: `linger = "1h"\nsandbox = { profile = "strict", hosts = ["${HOST}:${PORT}"] }`,
  },
});

test("the network of a run shows its hosts while it works, and a new host is asked about for once, a run, an agent or the project", async ({
  page,
  server,
  site,
}) => {
  expect((site.address() as AddressInfo).port).toBe(PORT);
  const { run } = await server.begin("Call somebody", "caller");
  await page.goto(`${server.url}/runs/${run}`);
  // Keys count once the page is there.
  await expect(page.getByText("Network", { exact: true })).toBeVisible();
  await page.keyboard.press("v");
  await page.keyboard.press("n");
  await expect(page).toHaveURL(`${server.url}/runs/${run}/network`);
  const table = page.getByRole("table", { name: "Hosts" });
  const reached = table.getByRole("row").filter({ hasText: `${HOST}:${PORT}` });
  await expect(reached).toContainText("reached");
  await expect(reached).toContainText(`hosts: ${HOST}:${PORT}`);
  await expect(table.getByRole("row").filter({ hasText: "127.0.0.4:80" })).toContainText("refused");
  await page.goto(`${server.url}/inbox`);
  await expect(page.getByText("https://new.invalid/").first()).toBeVisible();
  await steady(page);
  await page.keyboard.press("A");
  const dialog = page.getByRole("dialog", { name: "Always allow" });
  const holder = dialog.getByRole("combobox", { name: /^For/ });
  await expect(holder.getByRole("option")).toHaveText([/^This run/, /^This agent/, /^This project/]);
  await holder.selectOption("project");
  await accessible(page);
  await steady(page);
  await dialog.getByRole("button", { name: "Always allow and approve" }).click();
  await page.goto(`${server.url}/runs/${run}/network`);
  const fresh = table.getByRole("row").filter({ hasText: "new.invalid:443" });
  await expect(fresh).toContainText("not reached");
  await expect(reached).toContainText("4.1 KiB");
  await accessible(page);
  const pictures = process.env.MUSHER_LOOK;
  if (pictures) await page.screenshot({ path: join(pictures, "network.png") });
  await page.goto(`${server.url}/settings`);
  await expect(page.getByText("fetch(https://new.invalid/)").first()).toBeVisible();
  await expect(page.getByText("every agent").first()).toBeVisible();
});

test("the network of a run without a proxy says what to do", async ({ page, server }) => {
  const { run } = await server.begin("Do it", "quick");
  await page.goto(`${server.url}/runs/${run}/network`);
  await expect(page.getByRole("heading", { name: "Connections are not counted" })).toBeVisible();
  await expect(page.getByText('profile = "strict"')).toBeVisible();
  await accessible(page);
});
