// Packs what is worth it beside the files, once and as small as it gets: the server
// sends FILE.br or FILE.gz to browsers that take them.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** Smaller files gain nothing that a packet would notice, bytes. */
const LEAST = 1_000;

for (const name of readdirSync("dist", { recursive: true })) {
  if (!/\.(js|css|html|svg)$/.test(name)) continue;
  const path = join("dist", name);
  const bytes = readFileSync(path);
  if (bytes.length < LEAST) continue;
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  writeFileSync(
    `${path}.br`,
    brotliCompressSync(bytes, { params: { ...quality, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
  );
}
