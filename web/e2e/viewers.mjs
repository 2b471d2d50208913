// Two windows show the same: what one does, the other sees without asking.
import { rent, shows, signIn, story, url } from "./browser.mjs";

export default () =>
  story(async (someone) => {
    const [one, two] = [await someone(), await someone()];
    for (const page of [one, two]) {
      await signIn(page, process.env.USER_NAME, process.env.USER_PASSWORD);
      await page.waitForURL(/\/market/);
    }
    await two.goto(`${url}/instances`);
    await two.locator("h1").first().waitFor();
    await rent(one);
    await shows(two, "running");
    await two.goto(one.url());
    await one.getByTestId("change-rules").click();
    await one.getByText("More stop rules").click();
    await one.locator("#rule-budget").fill("50");
    await one.getByRole("dialog").getByRole("button", { name: "Change stop rules" }).click();
    await two.getByTestId("rules").getByText("50").waitFor();
    await one.getByTestId("stop").click();
    await one.getByRole("dialog").or(one.getByRole("tooltip")).getByRole("button").last().click();
    await shows(one, "stopped");
    await shows(two, "stopped");
  });
