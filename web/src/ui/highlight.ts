// Finds the pieces of code to colour. Languages are fetched one by one, when a file of theirs is shown.

import type { LanguageFn } from "highlight.js";
import hljs from "highlight.js/lib/core";
import type { Piece } from "./Code";
import type { Painter } from "./colours";

const LANGUAGES: Record<string, () => Promise<{ default: LanguageFn }>> = {
  bash: () => import("highlight.js/lib/languages/bash"),
  c: () => import("highlight.js/lib/languages/c"),
  cpp: () => import("highlight.js/lib/languages/cpp"),
  css: () => import("highlight.js/lib/languages/css"),
  go: () => import("highlight.js/lib/languages/go"),
  java: () => import("highlight.js/lib/languages/java"),
  javascript: () => import("highlight.js/lib/languages/javascript"),
  json: () => import("highlight.js/lib/languages/json"),
  markdown: () => import("highlight.js/lib/languages/markdown"),
  python: () => import("highlight.js/lib/languages/python"),
  ruby: () => import("highlight.js/lib/languages/ruby"),
  rust: () => import("highlight.js/lib/languages/rust"),
  sql: () => import("highlight.js/lib/languages/sql"),
  ini: () => import("highlight.js/lib/languages/ini"),
  typescript: () => import("highlight.js/lib/languages/typescript"),
  xml: () => import("highlight.js/lib/languages/xml"),
  yaml: () => import("highlight.js/lib/languages/yaml"),
};

const ENDINGS: Record<string, string> = {
  sh: "bash",
  bash: "bash",
  c: "c",
  h: "c",
  cc: "cpp",
  cpp: "cpp",
  hpp: "cpp",
  css: "css",
  go: "go",
  java: "java",
  js: "javascript",
  jsx: "javascript",
  mjs: "javascript",
  cjs: "javascript",
  json: "json",
  md: "markdown",
  py: "python",
  rb: "ruby",
  rs: "rust",
  sql: "sql",
  toml: "ini",
  ini: "ini",
  ts: "typescript",
  tsx: "typescript",
  html: "xml",
  xml: "xml",
  svg: "xml",
  yml: "yaml",
  yaml: "yaml",
};

/** Painters by their language, one each, so that lines that were painted are known again. */
const painters = new Map<string, Painter>();

/** What finds the pieces of code, by the ending of its path; null if the language is none of ours. */
export async function painterFor(path: string): Promise<Painter | null> {
  const language = ENDINGS[path.split(/[./]/).pop()?.toLowerCase() ?? ""];
  const load = language === undefined ? undefined : LANGUAGES[language];
  if (language === undefined || load === undefined) return null;
  if (hljs.getLanguage(language) === undefined) hljs.registerLanguage(language, (await load()).default);
  const painter = painters.get(language) ?? ((text) => pieces(text, language));
  painters.set(language, painter);
  return painter;
}

function pieces(text: string, language: string): Piece[] {
  const { _emitter } = hljs.highlight(text, { language, ignoreIllegals: true });
  return flat((_emitter as unknown as { rootNode: Node }).rootNode, undefined, []);
}

type Node = { scope?: string; children: (string | Node)[] };

/** The tree of the highlighter as a list, so that no HTML is ever made of it. */
function flat(node: Node, kind: string | undefined, out: Piece[]): Piece[] {
  for (const child of node.children) {
    if (typeof child === "string") out.push(kind === undefined ? { text: child } : { text: child, kind });
    else flat(child, child.scope === undefined ? kind : `hljs-${child.scope.replaceAll(".", "-")}`, out);
  }
  return out;
}
