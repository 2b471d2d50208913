// npm run shots -- URL DIR: signs in at a site that fill.mjs has filled, takes every
// page in both languages, the main ones at the width of a telephone too, and runs axe
// on each. CHROMIUM is the browser, SHOTS_ONLY a pattern of picture names, SHOTS_DARK
// takes the dark theme. Ends with 1 when a page breaks its policy or axe finds
// something serious.
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";
import { PHONE, people } from "./pages.mjs";

const [url, dir] = process.argv.slice(2);
if (!url || !dir) throw new Error("usage: npm run shots -- URL DIR");
const only = new RegExp(process.env.SHOTS_ONLY ?? "");
const axe = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const site = JSON.parse(readFileSync(`${dir}/site.json`, "utf8"));
const SIZES = { wide: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
let troubles = 0;
const trouble = (where, what) => {
  troubles++;
  console.log(`  ! ${where}: ${what}`);
};

/** Signs in by the form and gives back the browser's state. */
async function signIn(user) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${url}/sign-in`);
  await page.locator("input#user").fill(user);
  await page.locator("input#password").fill(site.password);
  await page.locator("button[type=submit]").click();
  await page.getByTestId("user-menu").waitFor();
  const state = await context.storageState();
  await context.close();
  return state;
}

/** Opens one page, takes its picture and gives back what is wrong with it. */
async function look(context, name, path, act) {
  const found = [];
  const page = await context.newPage();
  page.on(
    "console",
    (m) => m.type() === "error" && !/status of 4\d\d/.test(m.text()) && found.push(m.text()),
  );
  page.on("pageerror", (error) => found.push(String(error)));
  try {
    await page.goto(url + path);
    await page.locator("h1").first().waitFor();
    await act?.(page);
    await page.waitForTimeout(600);
    await shoot(page, name, found);
  } catch (error) {
    found.push(String(error).split("\n")[0]);
  }
  await page.close();
  return found;
}

async function shoot(page, name, found) {
  // A press may have scrolled the page, and what sticks to the top would hide a part.
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: `${dir}/${name}.png`, fullPage: true });
  // The page's policy lets nothing else in; the debugger may.
  await page.evaluate(axe);
  const result = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
  for (const v of result.violations) {
    if (!["serious", "critical"].includes(v.impact)) continue;
    found.push(
      `axe ${v.id}: ${v.nodes
        .map((n) => `${n.target.join(" ")} (${n.any[0]?.message ?? ""})`)
        .slice(0, 3)
        .join("; ")}`,
    );
  }
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (overflow > 0) found.push(`is ${overflow} px wider than the window`);
}

const states = new Map([[undefined, undefined]]);
for (const user of ["ann", "ben", "operator"]) {
  states.set(user, await signIn(user).catch(() => signIn(user)));
}
const theme = process.env.SHOTS_DARK ? "dark" : "light";

/** One page in one language at one width; again where the machine's network came and went. */
async function take(context, full, path, act) {
  for (let left = 3; left > 0; left--) {
    const found = await look(context, full, path, act);
    if (left > 1 && found.some((what) => /ERR_NETWORK_CHANGED|dynamically imported/.test(what))) continue;
    for (const what of found) trouble(full, what);
    break;
  }
}

for (const [size, viewport] of Object.entries(SIZES)) {
  for (const language of ["en", "zh"]) {
    for (const { user, account, pages } of people(site)) {
      const context = await browser.newContext({
        viewport,
        storageState: states.get(user),
        colorScheme: theme,
        timezoneId: "Asia/Shanghai",
        isMobile: size === "phone",
      });
      await context.addInitScript(
        ([l, a]) => {
          localStorage.setItem("language", l);
          if (a) localStorage.setItem("account", a);
        },
        [language, account],
      );
      for (const { name, path, act } of pages) {
        const full = `${name}-${language}-${size}${theme === "dark" ? "-dark" : ""}`;
        if (!only.test(full) || (size === "phone" && !PHONE.test(full))) continue;
        await take(context, full, path, act);
      }
      await context.close();
    }
  }
}
await browser.close();
console.log(`${troubles} troubles; pictures in ${dir}`);
process.exit(troubles ? 1 : 0);
