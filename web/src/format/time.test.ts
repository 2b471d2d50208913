import { describe, expect, it } from "vitest";
import { durationText, relativeText, shortTimeText, spanMs, timeText, zoneName } from "./time";

const AT = "2026-11-30T16:30:05.250Z";
const NOW = Date.parse("2026-11-30T17:00:00Z");

describe("time", () => {
  it("is shown in the zone that is asked for, and names it", () => {
    expect(timeText(AT, "en-GB", "Asia/Shanghai")).toContain("1 Dec 2026");
    expect(timeText(AT, "en-GB", "Asia/Shanghai")).toContain("00:30:05");
    expect(timeText(AT, "en-GB", "Asia/Shanghai")).toContain("GMT+8");
    expect(timeText(AT, "en-GB", "UTC")).toContain("16:30:05 UTC");
    expect(zoneName("Asia/Shanghai", "en", NOW)).toBe("GMT+8");
  });
  it("falls back to UTC and says so when the zone is unknown", () => {
    expect(timeText(AT, "en-GB", "Moon/Tycho")).toContain("UTC");
  });
  it("leaves out the year only when it is this one", () => {
    expect(shortTimeText(AT, "en-GB", "UTC", NOW)).not.toContain("2026");
    expect(shortTimeText("2025-01-02T03:04:05Z", "en-GB", "UTC", NOW)).toContain("2025");
  });
  it("says durations in two units", () => {
    expect(durationText(7_500_000, "en")).toBe("2 hr 5 min");
    expect(durationText(0, "en")).toBe("0 sec");
    expect(durationText(90_061_000, "en")).toBe("1 day 1 hr");
    expect(durationText(3_605_000, "en")).toBe("1 hr");
    expect(durationText(65_000, "zh")).toBe("1 分钟 5 秒");
  });
  it("reads lengths of time of the server", () => {
    expect([spanMs("4h"), spanMs("1h30m"), spanMs("500ms")]).toEqual([14_400_000, 5_400_000, 500]);
    expect([spanMs(""), spanMs("soon"), spanMs("4")]).toEqual([undefined, undefined, undefined]);
  });
  it("says how long ago", () => {
    expect(relativeText("2026-11-30T16:55:00Z", NOW, "en")).toBe("5 minutes ago");
    expect(relativeText("2026-11-30T17:00:03Z", NOW, "en")).toBe("now");
    expect(relativeText("2026-12-03T17:00:00Z", NOW, "en")).toBe("in 3 days");
  });
});
