import i18next from "i18next";
import { beforeAll, describe, expect, it } from "vitest";
import { Refused } from "../api/problem";
import en from "../i18n/en";
import zh from "../i18n/zh";
import { refusalWords, sentence } from "./refusalWords";

const languages = { en: i18next.createInstance(), zh: i18next.createInstance() };

beforeAll(async () => {
  for (const [lng, translation] of [
    ["en", en],
    ["zh", zh],
  ] as const) {
    await languages[lng].init({
      lng,
      resources: { [lng]: { translation } },
      keySeparator: false,
      nsSeparator: false,
    });
  }
});

const problem = { code: "not-enough-funds", detail: "the hold is 1.80, the balance 0.20", hint: "top up" };

describe("refusals", () => {
  it("are the server's own words in English", () => {
    const words = refusalWords(Refused.of(422, problem), languages.en);
    expect(words).toEqual({
      text: "The hold is 1.80, the balance 0.20.",
      hint: "Top up.",
      original: undefined,
    });
  });
  it("are translated by code, the particulars kept", () => {
    const words = refusalWords(Refused.of(422, problem), languages.zh);
    expect(words.text).toMatch(/余额/);
    expect(words.original).toBe("The hold is 1.80, the balance 0.20.");
  });
  it("are the server's words where a newer server has a cause without translation", () => {
    const words = refusalWords(Refused.of(409, { code: "quite-new", detail: "no" }), languages.zh);
    expect(words).toEqual({ text: "No.", hint: undefined, original: undefined });
  });
  it("say that the server cannot be reached when nothing came back", () => {
    expect(refusalWords(new TypeError("Failed to fetch"), languages.en).text).toBe(en["cause.offline"]);
  });
  it("understand answers that are no problem document", () => {
    expect(Refused.of(502, "<html>").code).toBe("internal");
    expect(Refused.of(401, undefined).code).toBe("unauthenticated");
  });
  it("are sentences", () => {
    expect(sentence("use `off`")).toBe("Use `off`.");
    expect(sentence("RTX 4090 is gone")).toBe("RTX 4090 is gone.");
  });
});
