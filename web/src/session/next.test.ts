import { expect, it } from "vitest";
import { safeNext } from "./next";

it("leads only to places of this site", () => {
  expect(safeNext("/instances/ins-1?tab=charts")).toBe("/instances/ins-1?tab=charts");
  for (const bad of [
    null,
    "",
    "https://elsewhere.example/",
    "//elsewhere.example",
    "/\\elsewhere",
    "market",
  ]) {
    expect(safeNext(bad)).toBe("/market");
  }
});
