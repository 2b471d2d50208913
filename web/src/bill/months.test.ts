import { expect, it } from "vitest";
import { lastMonths, monthText } from "./months";

it("counts months back in the account's zone", () => {
  // Still November in UTC, already December in Shanghai.
  const now = new Date("2026-11-30T20:00:00Z");
  expect(lastMonths(now, "UTC", 2)).toEqual(["2026-11", "2026-10"]);
  expect(lastMonths(now, "Asia/Shanghai", 2)).toEqual(["2026-12", "2026-11"]);
  expect(lastMonths(new Date("2026-02-01T00:00:00Z"), "UTC", 3)).toEqual(["2026-02", "2026-01", "2025-12"]);
});

it("names months", () => {
  expect(monthText("2026-11", "en-GB")).toBe("November 2026");
  expect(monthText("2026-11", "zh-CN")).toBe("2026年11月");
});
