// Markdown to HTML in which every tag is our own: raw HTML of the author becomes text before any parser reads it.
import { Marked } from "marked";

// A browser may act on a handler as soon as it parses one, even in a document that is never shown.
const marked = new Marked({
  gfm: true,
  breaks: true,
  async: false,
  renderer: {
    html: ({ text, block }) =>
      block ? `<p>${escaped(text.trimEnd()).replaceAll("\n", "<br>")}</p>` : escaped(text),
    // A picture would be a request to somebody else's server.
    image: ({ text }) => escaped(text),
  },
});

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (found) => ENTITIES[found] ?? found);
}

export function markup(text: string): string {
  return marked.parse(text) as string;
}
