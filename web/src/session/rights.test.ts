import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { may, RIGHTS } from "./rights";

const source = readFileSync(join(import.meta.dirname, "../../../crates/domain/src/rights.rs"), "utf8");
const kebab = (name: string) => name.replace(/\B[A-Z]/g, (c) => `-${c}`).toLowerCase();
const ANY = {
  ANY: ["owner", "admin", "member", "billing", "viewer"],
  OPERATORS: ["admin", "support", "finance", "auditor"],
};
const names = (text: string) =>
  ANY[text as keyof typeof ANY] ??
  [...text.matchAll(/\w+/g)].map(([name]) => (name === "Chief" ? "admin" : (name as string).toLowerCase()));

describe("rights", () => {
  it("are those of the server", () => {
    const lines = [...source.matchAll(/right\(Action::(\w+), (&\[.*?\]|ANY), (&\[.*?\]|OPERATORS), /g)];
    const server = new Map(
      lines.map(([, action, roles, operators]) => [
        kebab(action as string),
        { roles: names(roles as string), operators: names(operators as string) },
      ]),
    );
    for (const [action, right] of Object.entries(RIGHTS)) expect(server.get(action), action).toEqual(right);
  });
  it("come from either role", () => {
    expect(may("rent", "member", undefined)).toBe(true);
    expect(may("rent", "viewer", "admin")).toBe(false);
    expect(may("change-instances", undefined, "support")).toBe(true);
    expect(may("read-audit-log", "owner", "finance")).toBe(false);
  });
});
