// From an invitation to a shell: at most five clicks.
import { accessible, inTerminal, must, shows, signIn, story, url } from "./browser.mjs";

const MOST_CLICKS = 5;

export default () =>
  story(async (someone) => {
    const operator = await someone();
    await signIn(operator, "operator", process.env.OPERATOR_PASSWORD);
    await operator.getByTestId("user-menu").waitFor();
    await operator.goto(`${url}/operator/invitations`);
    await operator.getByLabel(/credit/i).fill("50");
    await operator.getByRole("button", { name: "Make the invitation" }).click();
    const link = await operator.getByTestId("secret").getByText(/#/).first().innerText();

    const guest = await someone();
    let clicks = 0;
    const click = async (target) => {
      clicks++;
      await target.click();
    };
    const began = Date.now();
    // The link names the site by its public address; here that is another.
    await guest.goto(url + new URL(link.trim()).pathname + new URL(link.trim()).hash);
    await guest.getByLabel("User name").fill("grace");
    for (const field of await guest.locator("input[type=password]").all())
      await field.fill("a-long-secret-1906");
    await accessible(guest, "sign-up");
    await click(guest.locator("button[type=submit]"));
    await guest.waitForURL(/\/market/);
    await accessible(guest, "market");
    await click(guest.getByTestId("rent-recommended"));
    await click(guest.getByTestId("rent"));
    await guest.waitForURL(/\/instances\/ins-/);
    await shows(guest, "running");
    await inTerminal(guest, "echo $((6 * 7))-works", "42-works");
    await accessible(guest, "instance");
    console.log(
      `from the invitation to a shell: ${clicks} clicks, ${Math.round((Date.now() - began) / 1000)} s`,
    );
    must(clicks <= MOST_CLICKS, `${clicks} clicks`);
  });
