// Temporary: looks at the pages.
import { expect, test } from "./rig";

const RICH = `
[[step]]
think = "The user wants a greeting. I will look around first and then write the script."
[[step]]
say = "I **look** around first, then I write \`src/greet.sh\`.\\n\\n- one\\n- two\\n\\n\`\`\`sh\\necho hi\\n\`\`\`"
[[step]]
run = "ls -la && cat README.md"
[[step]]
write = "src/greet.sh"
content = "echo hello\\necho world\\n"
[[step]]
edit = "src/greet.sh"
old = "echo hello"
new = "echo hello, world"
[[step]]
run = "exit 3"
[[step]]
usage = { input = 1840, cache_read = 9200, cache_write = 0, output = 310, cost_usd = 0.0147 }
[[step]]
run = "git push origin main"
ask_first = true
[[step]]
ask = "Which colour?"
options = ["Red", "Blue"]
save = "colour"
[[step]]
say = "It will be \${colour}."
`;
test.use({ scripts: { rich: RICH } });

test("look", async ({ page, server }) => {
  const { story, run } = await server.begin(
    "Greet people in the terminal",
    "rich",
    "Write a **greeting** script.\n\n## Acceptance\n- it prints hello",
  );
  const shot = async (name: string) => {
    await page.setViewportSize({ width: 1280, height: 800 });
    for (const theme of ["light", "dark"]) {
      await page.evaluate((next) => {
        document.documentElement.dataset.theme = next;
      }, theme);
      await page.screenshot({ path: `/tmp/web3-shots/${name}-${theme}.png` });
    }
    await page.evaluate(() => {
      document.documentElement.dataset.theme = "light";
    });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.waitForTimeout(300);
    await page.screenshot({ path: `/tmp/web3-shots/${name}-phone.png` });
    await page.setViewportSize({ width: 1280, height: 800 });
  };
  await page.goto(`${server.url}/runs/${run}`);
  await expect(page.getByText("waits for you").first()).toBeVisible();
  await page.waitForTimeout(500);
  await shot("run-ask");
  await page.keyboard.press("a");
  await expect(page.getByText("Which colour?").first()).toBeVisible({ timeout: 15000 });
  await page.waitForTimeout(300);
  await shot("run-question");
  await page.keyboard.press("2");
  await expect(page.getByText("run completed")).toBeVisible({ timeout: 15000 });
  await page.getByRole("button", { name: /exit 3/ }).click();
  await page.getByRole("button", { name: /edit.*greet/ }).click();
  await page.waitForTimeout(300);
  await shot("run-over");
  await page.goto(`${server.url}/stories/${story}`);
  await page.waitForTimeout(800);
  await shot("story");
  await page.goto(`${server.url}/runs/${run}/timeline`);
  await page.waitForTimeout(800);
  await shot("timeline");
});
