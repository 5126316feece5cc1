// A tool server that needs something from a person before its one tool can do anything: it asks with a form.
import { createInterface } from "node:readline";

const FORM = {
  type: "object",
  properties: {
    name: { type: "string", title: "Name of the branch" },
    count: { type: "integer", title: "How many", description: "at most nine" },
    colour: { type: "string", title: "Colour", enum: ["Red", "Blue"] },
    sure: { type: "boolean", title: "Delete what is there" },
  },
  required: ["name", "colour"],
};

/** The call that waits for the form. */
let open = null;

function say(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function heard({ id, method, params, result }) {
  if (method === "initialize") {
    const serverInfo = { name: "shop", version: "1.0.0" };
    say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } });
  } else if (method === "tools/list") {
    const inputSchema = { type: "object", properties: {} };
    say({ id, result: { tools: [{ name: "order", description: "Orders something.", inputSchema }] } });
  } else if (method === "tools/call") {
    open = id;
    const asked = { message: "What shall it be?", requestedSchema: FORM };
    say({ id: "form-1", method: "elicitation/create", params: asked });
  } else if (id === "form-1") {
    say({ id: open, result: { content: [{ type: "text", text: JSON.stringify(result) }] } });
  } else if (id !== undefined && method !== undefined) {
    say({ id, result: {} });
  }
}

createInterface({ input: process.stdin }).on("line", (line) => heard(JSON.parse(line)));
