// Scripts that change files in many ways, and a repository for them.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Server } from "./server";

const CODE = Array.from({ length: 40 }, (_, n) => `let line_${n + 1} = ${n + 1};`).join("\n");

export const EDITOR = `
[[step]]
edit = "src/deep/main.rs"
old = "let line_20 = 20;"
new = "let line_20 = twenty();"

[[step]]
write = "src/new.rs"
content = "fn new() {}\\n// <img src=x onerror=alert(1)> \u202e hidden\\n"

[[step]]
run = "git mv docs/old.md docs/new.md && chmod +x tool.sh && printf '\\\\000\\\\001' > image.bin && rm gone.txt"

[[step]]
say = "Done."
`;

export const CODER = `
[[step]]
edit = "src/deep/main.rs"
old = "let line_20 = 20;"
new = 'let line_20 = "twenty"; // in words'

[[step]]
write = "src/wide.rs"
content = "${"let x = 1; ".repeat(300)}\\nlet y = 2;\\n"

[[step]]
write = "words.unknown"
content = "let nothing be coloured\\n"

[[step]]
say = "Done."
`;

export const MANY = `
[[step]]
run = "mkdir -p many && for n in $(seq 1 5000); do echo $n > many/file-$n.txt; done; head -c 65536 /dev/zero | tr '\\\\0' x > a-long-line.txt"

[[step]]
say = "Done."
`;

/** Files that the agents find. */
export function prepare(server: Server): void {
  const put = (path: string, text: string) => {
    mkdirSync(join(server.repo, path, ".."), { recursive: true });
    writeFileSync(join(server.repo, path), text);
  };
  put("src/deep/main.rs", `${CODE}\n`);
  put("docs/old.md", "# A page\n\nIt has some words, so that it is known again by another name.\n");
  put("tool.sh", "echo tool\n");
  put("gone.txt", "soon gone\n");
  server.git("add", ".");
  server.git("commit", "-qm", "more");
}
