// A deep link to what belongs to somebody else leads nowhere; without a login to the sign-in and back.
import { must, rent, signIn, story, url } from "./browser.mjs";

export default () =>
  story(async (someone) => {
    const owner = await someone();
    await signIn(owner, process.env.USER_NAME, process.env.USER_PASSWORD);
    await owner.waitForURL(/\/market/);
    await rent(owner);
    const deep = new URL(owner.url()).pathname;

    const nobody = await someone();
    await nobody.goto(url + deep);
    await nobody.waitForURL(/\/sign-in/);
    must(!(await nobody.locator("body").innerText()).includes("ins-"), "nothing is told before the sign-in");
    await nobody.getByLabel("Name or e-mail").fill(process.env.OTHER_NAME);
    await nobody.locator("input[type=password]").fill(process.env.OTHER_PASSWORD);
    await nobody.getByRole("button", { name: "Sign in", exact: true }).click();
    await nobody.waitForURL(new RegExp(deep));
    await nobody.getByTestId("not-found").waitFor();

    await owner.getByTestId("release").click();
    await owner.getByRole("dialog").or(owner.getByRole("tooltip")).getByRole("button").last().click();
    await owner.locator("[data-state=released], [data-state=releasing]").first().waitFor();
  });
