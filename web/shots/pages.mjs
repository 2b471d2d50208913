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

const first = (selector) => async (page) => {
  await page.locator(selector).first().click();
  await page.waitForTimeout(400);
};

/** Pages that are looked at on a telephone too. */
export const PHONE =
  /^(sign-in|sign-up|market|rent|instances|instance|instance-charts|bill|members|settings|settings-keys|nodes|account|accounts|users|audit-log|incidents)-/;

/**
 * Who looks at which pages. `site` is what `fill.mjs` has written; `account` is the
 * account in whose name somebody acts.
 */
export const people = (site) => [
  {
    pages: [
      { name: "sign-in", path: "/sign-in" },
      { name: "sign-in-refused", path: "/sign-in?error=already-exists" },
      { name: "sign-up", path: "/sign-up" },
      { name: "sign-up-invited", path: `/sign-up#${site.join}` },
      { name: "sign-up-own", path: `/sign-up#${site.own}` },
      { name: "sign-up-bad", path: "/sign-up#secret" },
      { name: "verify", path: "/verify" },
      { name: "verify-bad", path: "/verify#secret" },
      { name: "reset", path: "/reset" },
      { name: "reset-set", path: "/reset#secret" },
    ],
  },
  {
    user: "ann",
    account: site.accounts.ann,
    pages: [
      { name: "market", path: "/market" },
      { name: "rent", path: "/market", act: rent },
      { name: "instances", path: "/instances" },
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
      { name: "bill", path: "/bill", act: first("details.explain summary") },
      { name: "members", path: "/members", act: first("details.more summary") },
      { name: "settings", path: "/settings" },
      { name: "settings-identity", path: "/settings/identity" },
      {
        name: "settings-security",
        path: "/settings/security",
        act: async (page) => {
          await page.getByTestId("totp").getByRole("button").first().click();
          await page.locator(".qr").waitFor();
        },
      },
      { name: "settings-sessions", path: "/settings/sessions" },
      { name: "settings-keys", path: "/settings/keys" },
      { name: "settings-tokens", path: "/settings/tokens" },
      { name: "revoke", path: "/settings/tokens", act: first("td.actions button") },
      { name: "user-menu", path: "/market", act: first("[data-testid=user-menu]") },
      { name: "not-connected", path: "/sign-in?error=already-exists" },
      { name: "not-found", path: "/nowhere" },
      { name: "not-yours", path: "/instances/ins-01m8q5vxg1zpn45frn5z8sy273" },
    ],
  },
  {
    user: "ben",
    account: site.accounts.ben,
    pages: [
      { name: "new-market", path: "/market" },
      { name: "new-rent", path: "/market", act: rent },
      { name: "new-instances", path: "/instances" },
      { name: "new-bill", path: "/bill" },
      { name: "new-members", path: "/members" },
      { name: "new-keys", path: "/settings/keys" },
      { name: "new-tokens", path: "/settings/tokens" },
      { name: "new-identity", path: "/settings/identity" },
      { name: "join", path: `/sign-up#${site.join}` },
      { name: "join-own", path: `/sign-up#${site.own}` },
    ],
  },
  {
    user: "ben",
    account: site.accounts.ann,
    pages: [
      { name: "viewer-market", path: "/market" },
      { name: "viewer-instances", path: "/instances" },
      { name: "viewer-instance", path: "/instances", act: firstInstance },
      { name: "viewer-members", path: "/members" },
    ],
  },
  {
    user: "operator",
    pages: [
      { name: "nodes", path: "/operator/nodes" },
      { name: "accounts", path: "/operator/accounts" },
      { name: "account", path: `/operator/accounts/${site.accounts.ann}` },
      {
        name: "account-quotas",
        path: `/operator/accounts/${site.accounts.ann}`,
        act: first("[data-testid=change-quotas]"),
      },
      { name: "top-up", path: "/operator/accounts", act: first("td.actions button") },
      { name: "users", path: "/operator/users" },
      { name: "user-actions", path: "/operator/users", act: first("td.actions button:last-child") },
      { name: "invitations", path: "/operator/invitations" },
      { name: "prices", path: "/operator/prices" },
      { name: "audit-log", path: "/operator/audit-log" },
      { name: "audit-details", path: "/operator/audit-log", act: first("details.explain summary") },
      { name: "incidents", path: "/operator/incidents" },
      { name: "operator-market", path: "/market" },
    ],
  },
];
