import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import en from "../../i18n/en";

it("has a name for every kind of incident that the server opens", () => {
  const crates = join(import.meta.dirname, "../../../../crates");
  const sources = ["control/src", "store/src"].flatMap((folder) =>
    (readdirSync(join(crates, folder), { recursive: true }) as string[])
      .filter((name) => name.endsWith(".rs"))
      .map((name) => readFileSync(join(crates, folder, name), "utf8")),
  );
  const opened = sources.flatMap((text) => [
    ...text.matchAll(/incidents::open\(\s*tx,\s*now,\s*"([\w-]+)"/g),
  ]);
  const kinds = [...new Set(opened.map((match) => match[1]))];
  expect(kinds.length).toBeGreaterThan(6);
  expect(kinds.filter((kind) => !(`incident.${kind}` in en))).toEqual([]);
});
