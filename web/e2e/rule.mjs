// A budget stops the instance; the page says why, and the bill explains it.
import { inTerminal, must, rent, shows, signIn, story, url } from "./browser.mjs";

export default () =>
  story(async (someone) => {
    const page = await someone();
    await signIn(page, process.env.USER_NAME, process.env.USER_PASSWORD);
    await page.waitForURL(/\/market/);
    await rent(page, async () => {
      await page.getByText("More stop rules").click();
      await page.locator("#rule-budget").fill("0.01");
    });
    await inTerminal(page, "echo $((40 + 2))-here", "42-here");
    await shows(page, "stopped");
    must(
      (await page.locator("main").innerText()).match(/budget/i),
      "the page says that the budget stopped it",
    );
    await page.goto(`${url}/bill`);
    await page.locator("details.explain summary").first().click();
    must((await page.locator("main").innerText()).includes("0.01"), "the bill has the amount");
  });
