import { describe, expect, it } from "vitest";
import en from "./en";
import { recognise } from "./sentences";

describe("sentences of the server", () => {
  it("are recognised with their particulars", () => {
    expect(recognise("stops after 2h without activity; its data are kept")).toEqual({
      key: "sentence.idle",
      values: { span: "2h" },
    });
    expect(recognise("stops at 2026-12-01 22:00:00 (Asia/Shanghai)")?.values).toEqual({
      at: "2026-12-01 22:00:00",
      zone: "Asia/Shanghai",
    });
    expect(recognise("stops when it has cost 12.50 CNY")?.values).toEqual({
      amount: "12.50",
      currency: "CNY",
    });
    const disk = (mib: number) =>
      recognise(
        `disk use is not limited on this host: ${mib} MiB were promised, and all instances share the node's disk`,
      )?.values;
    expect([disk(102_400), disk(1_500)]).toEqual([{ size: "100 GiB" }, { size: "1500 MiB" }]);
  });
  it("stay as they are where nothing is known", () => {
    expect(recognise("stops for a reason of its own")).toBeUndefined();
  });
  it("lead to keys that exist", () => {
    for (const text of ["it is removed with its data", "it comes to rest; its data are kept"]) {
      expect(en).toHaveProperty([recognise(text)?.key ?? ""]);
    }
  });
});
