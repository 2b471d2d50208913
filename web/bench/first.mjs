// How much a first visit fetches, and how long it takes until a person can type, five
// times with nothing kept: one line of JSON. CONSOLE_URL says where.
import { chromium } from "playwright-core";

const RUNS = 5;
const url = process.env.CONSOLE_URL;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
const ms = [];
let bytes = 0;
for (let run = 0; run < RUNS; run++) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const network = await context.newCDPSession(page);
  await network.send("Network.enable");
  bytes = 0;
  network.on("Network.loadingFinished", (event) => {
    bytes += event.encodedDataLength;
  });
  const began = performance.now();
  await page.goto(`${url}/sign-in`);
  await page.locator("input[type=password]").waitFor();
  ms.push(performance.now() - began);
  await page.waitForLoadState("networkidle");
  await context.close();
}
await browser.close();
console.log(JSON.stringify({ bytes, ms }));
