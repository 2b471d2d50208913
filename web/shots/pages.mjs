// What is photographed, by who looks at it. `act` brings a page into the wanted state.
const rent = async (page) => {
  await page.getByTestId("rent-recommended").click();
  await page.getByTestId("quote").waitFor();
};
const firstInstance = async (page) => {
  await page.getByTestId("instances").locator("a").first().click();
  await page.getByTestId("cost").waitFor();
};
const tab = (index) => async (page) => {
  await firstInstance(page);
  await page.getByRole("tab").nth(index).click();
  await page.waitForTimeout(5_000);
};

export const PAGES = {
  nobody: [
    { name: "sign-in", path: "/sign-in" },
    { name: "sign-up", path: "/sign-up#secret" },
    { name: "sign-up-bare", path: "/sign-up" },
    { name: "verify", path: "/verify#secret" },
    { name: "reset", path: "/reset" },
  ],
  renter: [
    { name: "market", path: "/market" },
    { name: "rent", path: "/market", act: rent },
    { name: "instances", path: "/instances" },
    { name: "join", path: "/sign-up#secret" },
    {
      name: "instance",
      path: "/instances",
      act: async (page) => {
        await firstInstance(page);
        await page.waitForTimeout(1_500);
      },
    },
    {
      name: "instance-stopped",
      path: "/instances",
      act: async (page) => {
        await page.locator('tr:has([data-state="stopped"]) a').first().click();
        await page.getByTestId("why").waitFor();
      },
    },
    { name: "instance-charts", path: "/instances", act: tab(1) },
    { name: "instance-history", path: "/instances", act: tab(2) },
    {
      name: "bill",
      path: "/bill",
      act: (page) =>
        page
          .locator("details.explain summary")
          .first()
          .click({ timeout: 2_000 })
          .catch(() => {}),
    },
    { name: "members", path: "/members" },
    { name: "settings", path: "/settings" },
    {
      name: "settings-security",
      path: "/settings/security",
      act: async (page) => {
        await page.getByTestId("totp").getByRole("button").first().click();
        await page
          .locator(".qr")
          .waitFor({ timeout: 3_000 })
          .catch(() => {});
      },
    },
    { name: "settings-sessions", path: "/settings/sessions" },
    { name: "settings-keys", path: "/settings/keys" },
    { name: "settings-tokens", path: "/settings/tokens" },
    { name: "not-found", path: "/nowhere" },
    { name: "not-yours", path: "/instances/ins-01m8q5vxg1zpn45frn5z8sy273" },
  ],
  operator: [
    { name: "nodes", path: "/operator/nodes" },
    { name: "accounts", path: "/operator/accounts" },
    { name: "users", path: "/operator/users" },
    { name: "invitations", path: "/operator/invitations" },
    { name: "prices", path: "/operator/prices" },
    { name: "audit-log", path: "/operator/audit-log" },
    { name: "incidents", path: "/operator/incidents" },
  ],
};
