// Measures the pages in Chromium against the real server: `npm run measure`, with MUSHER_BIN naming the program.
import { mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
// Within the package, so that what is not bundled is found.
const folder = await mkdtemp(join(here, "../node_modules/.measure-"));
const outfile = join(folder, "main.mjs");
try {
  await build({
    entryPoints: [join(here, "main.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    logLevel: "warning",
  });
  const { main } = await import(pathToFileURL(outfile).href);
  process.exitCode = await main(process.argv.slice(2));
} finally {
  await rm(folder, { recursive: true, force: true });
}
