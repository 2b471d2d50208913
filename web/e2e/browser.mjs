// What every story in the browser stands on: a browser, people in it, and looks at the page.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

/** Where the server answers. */
export const url = process.env.CONSOLE_URL;

/** How long anything may take on a machine that is busy with other tests, milliseconds. */
const PATIENCE = 60_000;

const axe = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** Fails the story unless `holds`. */
export function must(holds, what) {
  if (!holds) throw new Error(what);
}

/** Runs a story in a browser of its own; a page that breaks its policy or throws fails it. */
export async function story(tell) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  const broken = [];
  const someone = async () => {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "en-GB" });
    context.setDefaultTimeout(PATIENCE);
    await context.addInitScript(() => localStorage.setItem("language", "en"));
    const page = await context.newPage();
    page.on("pageerror", (error) => broken.push(String(error)));
    page.on("console", (m) => /Content.Security.Policy/i.test(m.text()) && broken.push(m.text()));
    return page;
  };
  try {
    await tell(someone);
    must(broken.length === 0, broken.join("\n"));
  } finally {
    await browser.close();
  }
}

/** Signs in by the form. */
export async function signIn(page, user, password) {
  await page.goto(`${url}/sign-in`);
  await page.getByLabel("Name or e-mail").fill(user);
  await page.locator("input[type=password]").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** Waits until the page shows this state of an instance. */
export const shows = (page, state) =>
  page.locator(`[data-testid=state][data-state=${state}]`).first().waitFor();

/** Rents the recommended card from the market and ends at the page of the instance, running. */
export async function rent(page, prepare) {
  await page.goto(`${url}/market`);
  await page.getByTestId("rent-recommended").click();
  await prepare?.(page);
  await page.getByTestId("rent").click();
  await page.waitForURL(/\/instances\/ins-/);
  await shows(page, "running");
}

/** Types a line into the terminal and waits for its answer. */
export async function inTerminal(page, line, answer) {
  const terminal = page.getByTestId("terminal");
  await terminal.locator(".xterm-screen").waitFor();
  await terminal.locator("textarea").first().focus();
  const rows = terminal.locator(".xterm-accessibility-tree, .xterm-rows").first();
  await rows.filter({ hasText: /\$/ }).waitFor();
  await page.keyboard.type(`${line}\n`);
  await rows.filter({ hasText: answer }).waitFor();
}

/** Fails where axe finds something serious on the page. */
export async function accessible(page, name) {
  // The page's policy lets nothing else in; the debugger may.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
  const serious = violations.filter((v) => ["serious", "critical"].includes(v.impact));
  must(serious.length === 0, `${name}: ${serious.map((v) => `${v.id} at ${v.nodes[0]?.target}`).join("; ")}`);
}

/** Tells the test that something has to be done, and waits until it was. */
export async function ask(what) {
  console.log(what);
  const lines = createInterface({ input: process.stdin });
  for await (const line of lines) {
    if (line === "done") break;
  }
  lines.close();
}
