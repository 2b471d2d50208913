// npm run shots -- URL DIR: signs in, takes every page in both languages at two
// widths, and runs axe on each. SHOTS_USER, SHOTS_PASSWORD, SHOTS_OPERATOR and
// SHOTS_OPERATOR_PASSWORD say who signs in; CHROMIUM is the browser. SHOTS_ONLY is a
// pattern of page names. Ends with 1 when a page breaks its policy or axe finds
// something serious.
import { mkdirSync, readFileSync } from "node:fs";
import { chromium } from "playwright-core";
import { PAGES } from "./pages.mjs";

const [url, dir] = process.argv.slice(2);
if (!url || !dir) throw new Error("usage: npm run shots -- URL DIR");
const only = new RegExp(process.env.SHOTS_ONLY ?? "");
const axe = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const who = {
  renter: [process.env.SHOTS_USER ?? "ann", process.env.SHOTS_PASSWORD ?? ""],
  operator: [process.env.SHOTS_OPERATOR ?? "operator", process.env.SHOTS_OPERATOR_PASSWORD ?? ""],
};
const SIZES = { wide: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };

mkdirSync(dir, { recursive: true });
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
async function signIn([user, password]) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${url}/sign-in`);
  await page.locator("input#user").fill(user);
  await page.locator("input#password").fill(password);
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

const states = { nobody: undefined };
for (const role of ["renter", "operator"]) {
  states[role] = await signIn(who[role]).catch(() => signIn(who[role]));
}

for (const [size, viewport] of Object.entries(SIZES)) {
  for (const language of ["en", "zh"]) {
    for (const theme of process.env.SHOTS_DARK ? ["dark"] : ["light"]) {
      for (const [role, pages] of Object.entries(PAGES)) {
        const context = await browser.newContext({
          viewport,
          storageState: states[role],
          colorScheme: theme,
          timezoneId: "Asia/Shanghai",
          isMobile: size === "phone",
        });
        await context.addInitScript((l) => localStorage.setItem("language", l), language);
        for (const { name, path, act } of pages) {
          const full = `${name}-${language}-${size}${theme === "dark" ? "-dark" : ""}`;
          if (!only.test(full)) continue;
          // Interfaces that come and go on this machine make a browser drop its requests: look again.
          for (let left = 3; left > 0; left--) {
            const found = await look(context, full, path, act);
            if (left > 1 && found.some((what) => /ERR_NETWORK_CHANGED|dynamically imported/.test(what)))
              continue;
            for (const what of found) trouble(full, what);
            break;
          }
        }
        await context.close();
      }
    }
  }
}
await browser.close();
console.log(`${troubles} troubles; pictures in ${dir}`);
process.exit(troubles ? 1 : 0);
