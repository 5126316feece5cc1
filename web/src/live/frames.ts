// Server-sent events out of a stream of text; pieces may be cut anywhere.

export interface Frame {
  event: string;
  /** From where the feed can go on after this frame. */
  id?: string;
  data: unknown;
}

/** Reads frames out of pieces of text. What is no JSON is dropped; a comment is a sign of life and nothing else. */
export class FrameReader {
  private rest = "";

  push(piece: string): Frame[] {
    const text = (this.rest + piece).replaceAll("\r\n", "\n");
    const blocks = text.split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks.map(frame).filter((found) => found !== null);
  }
}

function frame(block: string): Frame | null {
  let event = "message";
  let id: string | undefined;
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const name = line.slice(0, colon);
    const value = line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (name === "event") event = value;
    else if (name === "id") id = value;
    else if (name === "data") data.push(value);
  }
  if (data.length === 0) return id === undefined ? null : { event: "moved", id, data: null };
  try {
    const read: unknown = JSON.parse(data.join("\n"));
    return id === undefined ? { event, data: read } : { event, id, data: read };
  } catch {
    return null;
  }
}
