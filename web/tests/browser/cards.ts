// What the tests of the board and of stories share: scripts, the columns, and the dialog for a new story.
import type { Page } from "@playwright/test";
import { expect } from "./rig";

const ASKS =
  '[[step]]\nrun = "true"\nask_first = true\n\n[[step]]\nwrite = "greet.sh"\ncontent = "echo hi\\n"\n\n[[step]]\nsay = "Done."\n';
const WRITES =
  '[[step]]\nwrite = "notes.md"\ncontent = "one\\ntwo\\n"\n\n[[step]]\nusage = { input = 10, output = 2, cost_usd = 0.25 }\n\n[[step]]\nsay = "Written."\n';
const SLOW =
  'pace_ms = 400\n[[step]]\nsay = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"\n';

export const SCRIPTS = { writer: WRITES, greeter: ASKS, slow: SLOW };

/** Opens the dialog for a new story by its key. */
export async function begin(page: Page): Promise<void> {
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  await page.keyboard.press("c");
  await expect(page.getByLabel("What do you want, in one line?")).toBeFocused();
}

export const column = (page: Page, name: string) => page.getByRole("region", { name, exact: true });
