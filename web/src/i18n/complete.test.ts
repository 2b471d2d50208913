import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import en from "./en";
import zh from "./zh";

const ROOT = join(import.meta.dirname, "..");
const sources = (readdirSync(ROOT, { recursive: true }) as string[])
  .filter((name) => /\.tsx?$/.test(name) && !/\.test\.|\.d\.ts$/.test(name))
  .map((name) => readFileSync(join(ROOT, name), "utf8"))
  .join("\n");

const singular = (key: string) => key.replace(/_(one|other)$/, "");
const keys = (words: object) => [...new Set(Object.keys(words).map(singular))].sort();
const holes = (text: string) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map((m) => m[1]).sort();

describe("languages", () => {
  it("have the same keys", () => {
    expect(keys(zh)).toEqual(keys(en));
    expect(keys(en).length).toBeGreaterThan(200);
  });

  it("have a text behind every key, with the same holes", () => {
    const chinese = zh as Record<string, string>;
    for (const [key, text] of Object.entries(en)) {
      const other = chinese[key] ?? chinese[`${singular(key)}_other`] ?? "";
      expect(text.trim(), key).not.toBe("");
      expect(other.trim(), key).not.toBe("");
      if (!key.endsWith("_one")) expect(holes(other), key).toEqual(holes(text));
    }
  });

  it("are really two: Chinese texts have Chinese in them", () => {
    // Names and units that are the same in both.
    const same = new Set(
      Object.entries(en)
        .filter(([key, text]) => (zh as Record<string, string>)[key] === text)
        .map(([key]) => key),
    );
    for (const [key, text] of Object.entries(zh)) {
      if (!same.has(key)) expect(text, key).toMatch(/\p{Script=Han}/u);
    }
    expect(same.size).toBeLessThan(12);
  });

  it("have no key that the source does not use, and none is missing", () => {
    const literal = new Set([...sources.matchAll(/["'`]([a-z][\w-]*(?:\.[\w-]+)+)["'`]/g)].map((m) => m[1]));
    // `word("state", x)` and t(`state.${x}`) use a whole family.
    const families = [
      ...[...sources.matchAll(/word\("([\w.-]+)"/g)].map((m) => `${m[1]}.`),
      ...[...sources.matchAll(/`([a-z][\w-]*(?:\.[\w-]+)*\.)\$\{/g)].map((m) => m[1] as string),
    ];
    const unused = keys(en).filter((key) => !literal.has(key) && !families.some((f) => key.startsWith(f)));
    expect(unused).toEqual([]);
    const called = [...sources.matchAll(/\bt\(\s*"([^"]+)"/g)].map((m) => m[1] as string);
    const known = new Set(keys(en));
    expect(called.filter((key) => !known.has(key))).toEqual([]);
    expect(called.length).toBeGreaterThan(100);
  });

  it("know every cause that the server can name", () => {
    const document = JSON.parse(readFileSync(join(ROOT, "../openapi.json"), "utf8"));
    const causes: string[] = document.components.schemas.Cause.enum;
    const known = new Set(keys(en));
    expect(causes.filter((cause) => !known.has(`cause.${cause}`))).toEqual([]);
  });
});
