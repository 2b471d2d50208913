// Copies the server's own description of its routes and generates the types from
// it, so that the console cannot call what the server does not have.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const snapshot = "../crates/server/tests/routes/snapshots/routes__openapi__openapi.json.snap";
const text = readFileSync(snapshot, "utf8");
const document = JSON.parse(text.slice(text.indexOf("\n{") + 1));
writeFileSync("openapi.json", `${JSON.stringify(document, null, 2)}\n`);
execFileSync(
  "npx",
  [
    "--no-install",
    "openapi-typescript",
    "openapi.json",
    "-o",
    "src/api/schema.d.ts",
    "--default-non-nullable",
    "false",
  ],
  { stdio: "inherit" },
);
