/** First parts of the query keys that an event makes stale. */
export function touched(data: string): string[] {
  let subject: unknown;
  try {
    subject = (JSON.parse(data) as { subject?: unknown }).subject;
  } catch {
    return [];
  }
  if (typeof subject !== "string") return [];
  const kind = subject.split("-", 1)[0];
  switch (kind) {
    case "ins":
      return [
        "instances",
        "projects",
        "instance",
        "why",
        "instance-events",
        "balance",
        "offers",
        "bill",
        "nodes",
      ];
    case "acc":
      return ["balance", "bill", "accounts", "members", "whoami"];
    case "nod":
      return ["nodes", "offers"];
    case "inc":
      return ["incidents", "nodes"];
    case "usr":
      return ["users", "whoami"];
    default:
      return ["balance", "incidents"];
  }
}
