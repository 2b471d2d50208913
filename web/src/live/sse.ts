/** One server-sent event. */
export type ServerEvent = { id: string | undefined; name: string; data: string };

/**
 * Reads the text of an event stream piece by piece. `EventSource` would hand out
 * only events whose names are known beforehand, and hides why it was refused.
 */
export class EventParser {
  private rest = "";
  private id: string | undefined;
  private name = "";
  private data: string[] = [];

  /** The events that are complete with this piece. */
  push(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const lines = (this.rest + piece).split("\n");
    this.rest = lines.pop() ?? "";
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "") {
        if (this.data.length > 0) {
          events.push({ id: this.id, name: this.name || "message", data: this.data.join("\n") });
        }
        this.name = "";
        this.data = [];
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "data") this.data.push(value);
      else if (field === "event") this.name = value;
      else if (field === "id") this.id = value;
    }
    return events;
  }
}
