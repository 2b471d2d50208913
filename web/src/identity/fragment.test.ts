import { expect, it } from "vitest";
import { fragment } from "./fragment";

it("reads the secret of a link", () => {
  expect(fragment("#inv_abc")).toBe("inv_abc");
  expect(fragment("#invitation=inv_abc")).toBe("inv_abc");
  expect(fragment("")).toBeUndefined();
  expect(fragment("#")).toBeUndefined();
});
