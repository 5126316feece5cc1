// Puts a text on the clipboard, also where the browser does not let scripts write to it by themselves.
import { say } from "./toast";

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied ${what}.`);
  } catch {
    const box = document.createElement("textarea");
    box.value = text;
    document.body.append(box);
    box.select();
    const worked = document.execCommand("copy");
    box.remove();
    if (worked) say(`Copied ${what}.`);
    else say(`The browser does not let pages copy. It is: ${text}`, { tone: "bad", ms: 12_000 });
  }
}
