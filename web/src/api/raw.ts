// Replies that are no JSON: what an agent wrote byte for byte, and downloads.
import { ProblemError, readProblem } from "./problem";
import { token } from "./token";

async function get(path: string): Promise<Response> {
  const headers: Record<string, string> = {};
  const known = token();
  if (known !== null) headers.authorization = `Bearer ${known}`;
  const reply = await fetch(`/api/v1${path}`, { headers });
  if (!reply.ok) throw new ProblemError(await readProblem(reply));
  return reply;
}

export async function readText(path: string): Promise<string> {
  return (await get(path)).text();
}

/** Fetches something and hands it to the browser as a file. */
export async function download(path: string, name: string): Promise<void> {
  const blob = await (await get(path)).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
