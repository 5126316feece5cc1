// Markdown to elements: parsed, cleaned by an allow-list, and only then part of the page.
import DOMPurify from "dompurify";
import { markup } from "./markup";
import { plain } from "./plain";

const TAGS =
  "a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i input li ol p pre s span strong sub sup table tbody td th thead tr ul".split(
    " ",
  );
const purify = DOMPurify(window);

purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
  if (node.tagName === "INPUT") {
    node.setAttribute("type", "checkbox");
    node.setAttribute("disabled", "");
    node.setAttribute("aria-label", "task");
  }
  if (node.tagName === "PRE") node.setAttribute("tabindex", "0");
  // The page has its own headings; those of a text stand below them.
  if (/^H[1-6]$/.test(node.tagName)) {
    node.setAttribute("role", "heading");
    node.setAttribute("aria-level", String(Math.min(6, Number(node.tagName[1]) + 3)));
  }
});

export function render(text: string): DocumentFragment {
  return purify.sanitize(markup(plain(text)), {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ["href", "title", "start", "checked", "align"],
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#)/i,
    RETURN_DOM_FRAGMENT: true,
  });
}
