// The server is restarted under an open page: it says so, and goes on by itself.
import { ask, inTerminal, rent, shows, signIn, story } from "./browser.mjs";

export default () =>
  story(async (someone) => {
    const page = await someone();
    await signIn(page, process.env.USER_NAME, process.env.USER_PASSWORD);
    await page.waitForURL(/\/market/);
    await rent(page);
    await inTerminal(page, "echo $((1 + 1))-before", "2-before");
    await ask("kill the server");
    await page.getByTestId("reconnecting").waitFor();
    await ask("start the server");
    await page.getByTestId("reconnecting").waitFor({ state: "detached" });
    await shows(page, "running");
    await page.reload();
    await inTerminal(page, "echo $((2 + 2))-after", "4-after");
  });
