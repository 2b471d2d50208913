import { expect, it } from "vitest";
import { agentName } from "./agentName";

it("names browsers in two words and leaves programs alone", () => {
  const windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)";
  expect(agentName(`${windows} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0`)).toBe("Edge · Windows");
  expect(agentName(`${windows} Chrome/140.0.0.0 Safari/537.36`)).toBe("Chrome · Windows");
  const mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)";
  expect(agentName(`${mac} Version/26.0 Safari/605.1.15`)).toBe("Safari · macOS");
  expect(agentName("Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0")).toBe(
    "Firefox · Linux",
  );
  expect(agentName("suanli/0.1.0")).toBe("suanli/0.1.0");
});
