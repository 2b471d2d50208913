import { expect, it } from "vitest";
import { FRESH, rentRequest } from "./rentRequest";

it("stops when idle unless that is switched off", () => {
  expect(rentRequest("t4", "acc-1", FRESH).rules).toEqual({ idle: "2h" });
  expect(rentRequest("t4", "acc-1", { ...FRESH, idleOn: false }).rules?.idle).toBe("off");
});

it("leaves empty fields to the server", () => {
  const request = rentRequest("t4", undefined, {
    ...FRESH,
    name: "  ",
    project: " vision ",
    budget: " 5 ",
    onStart: "python3 a.py",
  });
  expect(JSON.parse(JSON.stringify(request))).toEqual({
    gpu: "t4",
    count: 1,
    project: "vision",
    on_start: "python3 a.py",
    env: {},
    rules: { idle: "2h", budget: "5" },
  });
});
