// Runs the tests of what needs no browser: they are bundled first, for Node alone does not read TypeScript.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = mkdtempSync(join(tmpdir(), "musher-unit-"));
try {
  const tests = readdirSync(here).filter((name) => name.endsWith(".test.ts"));
  await esbuild.build({
    entryPoints: tests.map((name) => join(here, name)),
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    jsx: "automatic",
    logLevel: "warning",
    // The store reads the names of the browser when it is made.
    inject: [join(here, "browser.ts")],
  });
  const made = readdirSync(out).map((name) => join(out, name));
  const { status } = spawnSync(process.execPath, ["--test", "--test-timeout=60000", ...made], {
    stdio: "inherit",
    timeout: 120_000,
  });
  process.exitCode = status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
