// Bundles the web UI into a folder: hashed names, precompressed copies, and an index.html without inline script.
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const watch = process.argv.includes("--watch");
const dev = watch || process.argv.includes("--dev");
const out = resolve(process.argv[2] ?? "dist");
/** What a browser fetches at most before the first page is shown, as script, in gzip; `--check` fails above it. */
const FIRST_LOAD = 200 * 1024;

const options = {
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx" },
  outdir: join(out, "assets"),
  entryNames: "[name]-[hash]",
  chunkNames: "chunk-[hash]",
  assetNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["chrome111", "firefox113", "safari16.4"],
  jsx: "automatic",
  jsxDev: false,
  minify: !dev,
  sourcemap: dev ? "linked" : false,
  metafile: true,
  write: false,
  legalComments: "none",
  logLevel: "warning",
  define: { "process.env.NODE_ENV": JSON.stringify(dev ? "development" : "production") },
  plugins: [{ name: "write", setup: (build) => build.onEnd(finish) }],
};

if (watch) {
  const context = await esbuild.context(options);
  await context.watch();
} else {
  const result = await esbuild.build(options);
  if (process.argv.includes("--check") && result.firstLoad > FIRST_LOAD) {
    console.error(`the first load is ${kb(result.firstLoad)} of script, more than ${kb(FIRST_LOAD)}`);
    process.exitCode = 1;
  }
}

async function finish(result) {
  if (result.errors.length > 0) return;
  await rm(join(out, "assets"), { recursive: true, force: true });
  await mkdir(join(out, "assets"), { recursive: true });
  const sizes = new Map();
  for (const file of result.outputFiles) {
    const { small } = await put(file.path, file.contents);
    sizes.set(basename(file.path), small);
  }
  const { outputs } = result.metafile;
  const [entry, about] = Object.entries(outputs).find(([, o]) => o.entryPoint === "src/main.tsx");
  const first = reached(entry, outputs);
  const page = (await readFile(join(here, "index.html"), "utf8"))
    .replace("%STYLE%", basename(about.cssBundle))
    .replace("%SCRIPT%", basename(entry))
    .replace("%PRELOAD%", first.slice(1).map(preload).join("\n  "));
  await put(join(out, "index.html"), Buffer.from(page));
  result.firstLoad = first.reduce((sum, path) => sum + (sizes.get(basename(path)) ?? 0), 0);
  report(sizes, first, result.firstLoad);
}

/** Everything that is loaded with a file before it can run. */
function reached(entry, outputs) {
  const seen = [entry];
  for (const path of seen) {
    for (const next of outputs[path].imports) {
      if (next.kind === "import-statement" && !seen.includes(next.path)) seen.push(next.path);
    }
  }
  return seen;
}

function preload(path) {
  return `<link rel="modulepreload" href="/assets/${basename(path)}">`;
}

async function put(path, contents) {
  const gzip = gzipSync(contents, { level: 9 });
  await writeFile(path, contents);
  if (!dev) {
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: 11,
      [constants.BROTLI_PARAM_SIZE_HINT]: contents.length,
    };
    await writeFile(`${path}.gz`, gzip);
    await writeFile(`${path}.br`, brotliCompressSync(contents, { params }));
  }
  return { small: gzip.length };
}

function report(sizes, first, total) {
  const names = first.map((path) => basename(path));
  for (const [name, size] of [...sizes].filter(([name]) => !name.endsWith(".map"))) {
    console.log(`${kb(size).padStart(9)}  ${name}${names.includes(name) ? "  (first load)" : ""}`);
  }
  console.log(`${kb(total).padStart(9)}  script of the first load, in gzip`);
}

function kb(bytes) {
  return `${(bytes / 1024).toFixed(1)} KB`;
}
