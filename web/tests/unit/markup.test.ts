// Markdown of an agent never brings a tag, a handler or a picture of its own into a parser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { markup } from "../../src/ui/markup";

/** The tags that a parser would see, without the text between them. */
function tags(html: string): string[] {
  return html.match(/<[^>]*>/g) ?? [];
}

const OURS =
  /^<\/?(?:a|blockquote|br|code|del|em|h[1-6]|hr|input|li|ol|p|pre|strong|table|tbody|td|th|thead|tr|ul)(?: (?:href|title|start|align|class|type|checked|disabled)(?:="[^"<>]*")?)* ?\/?>$/;

const HOSTILE = [
  "<img src=x onerror=alert(1)>",
  "before <img src=x onerror=alert(1)> after",
  "<div onclick='alert(1)'>\n\n**bold**\n\n</div>",
  "- item\n  <svg/onload=alert(1)>",
  "> <iframe srcdoc='<script>alert(1)</script>'>",
  "| a |\n|---|\n| <b onmouseover=alert(1)>x |",
  "<!-- <img onerror=alert(1)> -->",
  "<![CDATA[<img onerror=alert(1)>]]>",
  "<?php <img onerror=alert(1)> ?>",
  "# <script>alert(1)</script>",
  "<style>@import 'x'</style>",
  "[a](<x onerror=1>) ![<img onerror=1>](x)",
  '[a](x "\\" onclick=alert(1)")',
  '```x" onload=alert(1)\n<img onerror=1>\n```',
  "<a\nhref=x\nonclick=alert(1)>x</a>",
  "**<img onerror=1>** _<u onclick=1>_ ~~<i onclick=1>~~ `<img onerror=1>`",
];

test("raw HTML in Markdown becomes text before any parser sees it", () => {
  for (const text of HOSTILE) {
    for (const tag of tags(markup(text))) assert.match(tag, OURS, `${JSON.stringify(text)} gives ${tag}`);
  }
});

test("raw HTML in Markdown is shown as it was written", () => {
  assert.equal(markup("a <b>x</b>").trim(), "<p>a &lt;b&gt;x&lt;/b&gt;</p>");
  assert.equal(markup("<div>\n&amp;\n</div>").trim(), "<p>&lt;div&gt;<br>&amp;amp;<br>&lt;/div&gt;</p>");
});

test("a picture in Markdown is its words, so that nothing is fetched", () => {
  assert.equal(markup("![a <b>](http://example.com/x.png)").trim(), "<p>a &lt;b&gt;</p>");
});
