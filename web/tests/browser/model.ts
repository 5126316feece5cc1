// The scripted model as a program of its own, and the real agent program that may speak to it.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { MUSHER } from "./server";

const CLAUDE = "claude-code-2.1.325/node_modules/@anthropic-ai/claude-code-linux-x64/claude";

/** The pinned Claude Code, where `scripts/install-clis` puts it. */
export function requireClaude(): string {
  const { MUSHER_CLI_CACHE, XDG_CACHE_HOME } = process.env;
  const cache = MUSHER_CLI_CACHE || join(XDG_CACHE_HOME || join(homedir(), ".cache"), "musher/clis");
  const place = join(cache, CLAUDE);
  if (!existsSync(place)) {
    throw new Error(`the pinned Claude Code is not at ${place}: run scripts/install-clis`);
  }
  return place;
}

/** A model server on loopback that answers as the markers in a prompt say. */
export class Model {
  private constructor(
    readonly url: string,
    private readonly process: ChildProcess,
  ) {}

  static async start(): Promise<Model> {
    const program = process.env.MUSHER_SCRIPTED_MODEL ?? join(dirname(MUSHER), "scripted-model");
    const child = spawn(program, [], { stdio: ["ignore", "pipe", "inherit"] });
    const url = await new Promise<string>((found, failed) => {
      child.on("error", failed);
      child.on("exit", (code) => failed(new Error(`${program} ended with ${code}`)));
      createInterface({ input: child.stdout }).once("line", found);
    });
    return new Model(url, child);
  }

  async stop(): Promise<void> {
    const gone = new Promise((done) => this.process.once("exit", done));
    if (this.process.kill("SIGTERM")) await gone;
  }
}
