import { describe, expect, it } from "vitest";
import { fieldsOf, isCount, quotaRequest } from "./quotaRequest";

describe("the form of quotas", () => {
  it("leaves out what is not limited and keeps a limit of zero", () => {
    const fields = {
      cards_total: "8",
      instances: " ",
      storage_gib: "0",
      cards: { "rtx-4090": "2", l40s: "" },
    };
    expect(quotaRequest(fields)).toEqual({ cards: { "rtx-4090": 2 }, cards_total: 8, storage_gib: 0 });
  });
  it("sends back what it has shown", () => {
    const quotas = { cards: { l40s: 1 }, instances: 5, spend_per_day: { amount: "2.50", micros: 2_500_000 } };
    expect(quotaRequest(fieldsOf({ quotas, used: { cards: {} } }))).toEqual({
      cards: { l40s: 1 },
      instances: 5,
      spend_per_day: "2.50",
    });
  });
  it("takes whole numbers only", () => {
    expect(["0", " 12 ", "999999999"].every(isCount)).toBe(true);
    expect(["", "-1", "1.5", "1e3", "9999999999"].some(isCount)).toBe(false);
  });
});
