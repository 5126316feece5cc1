// Fails when the types of the API are not those of the document that the server's own test keeps in step.
import { readFileSync } from "node:fs";
import openapiTS, { astToString, COMMENT_HEADER } from "openapi-typescript";

const here = new URL(".", import.meta.url);
const made = astToString(await openapiTS(new URL("../../../docs/openapi.json", here)));
const kept = readFileSync(new URL("../../src/api/schema.d.ts", here), "utf8");
if (kept !== `${COMMENT_HEADER}${made}`) {
  console.error("src/api/schema.d.ts is not made from docs/openapi.json: run `npm run types` in web/");
  process.exitCode = 1;
}
