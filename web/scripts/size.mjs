// Fails when what a browser must fetch for the first page is too large.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const MOST_KB = 350;
const manifest = JSON.parse(readFileSync("dist/manifest.json", "utf8"));

/** Every file that `entry` needs at once, dynamic imports apart. */
function files(entry, seen = new Set()) {
  const chunk = manifest[entry];
  if (!chunk || seen.has(chunk.file)) return seen;
  seen.add(chunk.file);
  for (const css of chunk.css ?? []) seen.add(css);
  for (const next of chunk.imports ?? []) files(next, seen);
  return seen;
}

const gzipped = (file) => gzipSync(readFileSync(`dist/${file}`), { level: 9 }).length / 1000;
const sum = (set) => [...set].reduce((total, file) => total + gzipped(file), 0);

const pages = Object.keys(manifest).filter((name) => /Page\.tsx$/.test(name));
let worst = 0;
for (const page of pages) {
  // A first visit gets the shell, one language, the frame once signed in, and the page.
  const set = files("index.html");
  files("src/i18n/zh/index.ts", set);
  if (!page.includes("/identity/")) files("src/app/Frame.tsx", set);
  files(page, set);
  const kb = sum(set);
  worst = Math.max(worst, kb);
  console.log(`${kb.toFixed(0).padStart(5)} kB gzip  ${page}`);
}
for (const name of ["src/terminal/Terminal.tsx", "src/charts/LiveChart.tsx"]) {
  const shell = files("index.html");
  const own = [...files(name)].filter((file) => !shell.has(file));
  console.log(`${sum(own).toFixed(0).padStart(5)} kB gzip  on demand: ${name}`);
}
if (pages.length === 0 || worst > MOST_KB) {
  console.error(`the first page needs ${worst.toFixed(0)} kB; at most ${MOST_KB} kB are allowed`);
  process.exit(1);
}
