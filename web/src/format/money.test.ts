import { describe, expect, it } from "vitest";
import { amountText, isAmount, moneyText, rounded } from "./money";

describe("money", () => {
  it("never passes through a float", () => {
    expect(amountText("9007199254740993.000001", "en")).toBe("9,007,199,254,740,993.000001");
    expect(amountText("0.1", "en")).toBe("0.10");
    expect(amountText("-12.345600", "en")).toBe("−12.3456");
    expect(amountText("7", "zh")).toBe("7.00");
  });
  it("shows the currency", () => {
    expect(moneyText("1.8", "CNY", "zh")).toBe("¥1.80");
    expect(moneyText("-1.8", "USD", "en")).toBe("−$1.80");
    expect(moneyText("5", "CHF", "en")).toBe("CHF 5.00");
    expect(moneyText("5", "points", "en")).toBe("points 5.00");
  });
  it("rounds by text, half away from zero", () => {
    expect(rounded("0.005", 2)).toBe("0.01");
    expect(rounded("0.004999", 2)).toBe("0.00");
    expect(rounded("-0.004", 2)).toBe("0.00");
    expect(rounded("-1.995", 2)).toBe("-2.00");
    expect(rounded("99.999", 2)).toBe("100.00");
    expect(rounded("1.5", 2)).toBe("1.5");
    expect(rounded("2.5", 0)).toBe("3");
  });
  it("takes only positive amounts", () => {
    for (const good of ["1", "0.000001", " 12.50 "]) expect(isAmount(good)).toBe(true);
    for (const bad of ["0", "0.00", "-1", "1,5", "1.0000001", "", "x"]) expect(isAmount(bad)).toBe(false);
  });
});
