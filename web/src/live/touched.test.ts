import { describe, expect, it } from "vitest";
import { touched } from "./touched";

describe("what an event makes stale", () => {
  it("is what shows the object", () => {
    expect(touched('{"subject":"ins-1","kind":"state-changed"}')).toContain("instances");
    expect(touched('{"subject":"acc-1"}')).toContain("balance");
    expect(touched('{"subject":"acc-1"}')).not.toContain("instances");
    expect(touched('{"subject":"nod-1"}')).toContain("offers");
  });
  it("is nothing where the event cannot be read", () => {
    expect(touched("{")).toEqual([]);
    expect(touched("{}")).toEqual([]);
  });
});
