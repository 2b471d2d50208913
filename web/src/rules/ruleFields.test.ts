import { expect, it } from "vitest";
import { clock, fieldsOf, rulesChange } from "./ruleFields";

const rules = {
  idle: "30m",
  at: "2026-12-01T14:00:00Z",
  budget: { amount: "50", micros: 50_000_000 },
};

it("shows rules as they are, times in the account's zone", () => {
  expect(fieldsOf(rules, "Asia/Shanghai")).toEqual({
    idle: "30m",
    idleOn: true,
    after: "",
    at: "22:00",
    budget: "50",
  });
  expect(fieldsOf({}, "UTC")).toEqual({ idle: "2h", idleOn: false, after: "", at: "", budget: "" });
  expect(clock("2026-12-01T16:05:00Z", "Asia/Shanghai")).toBe("00:05");
});

it("asks for what was changed and nothing else", () => {
  const before = fieldsOf(rules, "Asia/Shanghai");
  expect(rulesChange(before, before)).toEqual({});
  expect(rulesChange(before, { ...before, idleOn: false, after: "8h" })).toEqual({
    idle: "off",
    after: "8h",
  });
  expect(rulesChange(before, { ...before, at: "", budget: " " })).toEqual({ at: "off", budget: "off" });
  expect(rulesChange(before, { ...before, at: "23:30", budget: "60" })).toEqual({
    at: "23:30",
    budget: "60",
  });
});
