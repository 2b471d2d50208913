// A second factor: set up with a code, asked for at the next sign-in, and no code twice.
import { createHmac } from "node:crypto";
import { must, signIn, story, url } from "./browser.mjs";

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const STEP_MS = 30_000;

/** The code of a secret in base32 now (RFC 6238). */
function code(secret, at = Date.now()) {
  const bits = [...secret.replace(/[\s=]/g, "")]
    .map((c) => DIGITS.indexOf(c).toString(2).padStart(5, "0"))
    .join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(at / STEP_MS)));
  const mac = createHmac("sha1", key).update(counter).digest();
  const start = mac[mac.length - 1] & 15;
  return String((mac.readUInt32BE(start) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

export default () =>
  story(async (someone) => {
    const page = await someone();
    await signIn(page, process.env.USER_NAME, process.env.USER_PASSWORD);
    await page.waitForURL(/\/market/);
    await page.goto(`${url}/settings/security`);
    const panel = page.getByTestId("totp");
    await panel.getByRole("button").first().click();
    await panel.locator("input[autocomplete=one-time-code]").waitFor();
    const secret = (await panel.innerText()).match(/[A-Z2-7]{16,}/)[0];
    const first = code(secret);
    await panel.locator("input[autocomplete=one-time-code]").fill(first);
    await panel.locator("button[type=submit]").click();
    await panel
      .getByText(/recovery/i)
      .first()
      .waitFor();

    const again = await someone();
    await signIn(again, process.env.USER_NAME, process.env.USER_PASSWORD);
    const field = again.locator("input[autocomplete=one-time-code]");
    await field.fill(first);
    await again.locator("button[type=submit]").click();
    await again.getByTestId("refusal").waitFor();
    must(again.url().includes("/sign-in"), "a code that was used opens nothing");
    // The server takes the code of the next step too, so nobody has to wait for it.
    await field.fill(code(secret, Date.now() + STEP_MS));
    await again.locator("button[type=submit]").click();
    await again.waitForURL(/\/market/);
  });
