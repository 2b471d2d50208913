// npm run fill -- URL DIR: fills a fresh server with what the pictures show, through
// its API alone, and writes DIR/site.json: who signs in and the secrets of links.
// OPERATOR_PASSWORD is the one-time password of its first start, MAIL the folder that
// it was given with --mail-folder; it needs an --identity-command that verifies whoever
// sends an id number.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [url, dir] = process.argv.slice(2);
if (!url || !dir) throw new Error("usage: npm run fill -- URL DIR");
const PASSWORD = "correct horse battery";
const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHlyZ2Vkc3RpbmdseSBub3QgYSByZWFsIGtleSEhISEh";

/** One request; `token` is whose. */
async function ask(token, method, path, body) {
  const headers = {
    "content-type": "application/json",
    "idempotency-key": `fill-${method}-${path}-${Math.random()}`,
  };
  if (token) headers.authorization = `Bearer ${token}`;
  const answer = await fetch(`${url}/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : undefined;
}
const signIn = async (user, password) => (await ask(null, "POST", "/login", { user, password })).token;

/** A user with an account of his own and the known password; his token. */
async function person(operator, name, money) {
  const made = await ask(operator, "POST", "/accounts", { name, time_zone: "Asia/Shanghai" });
  if (money)
    await ask(operator, "POST", `/accounts/${made.account.id}/topups`, {
      amount: money,
      note: "Invoice 2026-117",
    });
  const once = await signIn(made.user, made.password);
  await ask(once, "POST", "/password", { old: made.password, new: PASSWORD });
  return { id: made.account.id, token: await signIn(made.user, PASSWORD) };
}

async function until(what, look) {
  for (let left = 240; left > 0; left--) {
    if (await look()) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error(`never: ${what}`);
}
async function rent(token, account, request, state) {
  const { id } = await ask(token, "POST", "/instances", { account, ...request });
  await until(
    `${request.name} is running`,
    async () => (await ask(token, "GET", `/instances/${id}`)).state === "running",
  );
  if (state === "stopped") await ask(token, "POST", `/instances/${id}/stop`, {});
  if (state === "released") await ask(token, "POST", `/instances/${id}/release`, {});
  if (state) await until(state, async () => (await ask(token, "GET", `/instances/${id}`)).state === state);
  return id;
}
/** What is behind `#` in the newest mail that leads to `page`. */
async function mailed(page) {
  let secret;
  await until(`a mail to ${page}`, async () => {
    const mails = readdirSync(process.env.MAIL).sort();
    const texts = mails.map((file) => readFileSync(join(process.env.MAIL, file), "utf8"));
    secret = texts
      .map((text) => new RegExp(`/${page}#([\\w-]+)`).exec(text.replace(/=\r?\n/g, ""))?.[1])
      .findLast(Boolean);
    return secret;
  });
  return secret;
}

const operator = await signIn("operator", process.env.OPERATOR_PASSWORD);
await ask(operator, "POST", "/password", { old: process.env.OPERATOR_PASSWORD, new: PASSWORD });
await ask(operator, "PUT", "/site/settings", {
  public_url: url,
  sign_up: "email",
  approval: true,
  providers: [{ id: "lab", label: "Lab login", issuer: "http://127.0.0.1:9", client_id: "suanli" }],
});
const ann = await person(operator, "ann", "100");
const ben = await person(operator, "ben");
const lab = await person(operator, "Vision lab", "2400");
await ask(operator, "PUT", `/users/Vision%20lab/role`, { operator_role: "support" });

await ask(ann.token, "POST", "/keys", { name: "laptop", key: KEY });
await ask(ann.token, "POST", "/tokens", {
  name: "training pipeline",
  scopes: ["read", "instances"],
  account: ann.id,
  days: 90,
});
await ask(ann.token, "POST", "/tokens", { name: "cost report", scopes: ["read", "money"], days: 30 });
const invited = await ask(ann.token, "POST", `/accounts/${ann.id}/invitations`, { role: "viewer" });
await ask(ben.token, "POST", "/invitations/accept", { secret: invited.secret });
await ask(ann.token, "POST", `/accounts/${ann.id}/invitations`, {
  role: "billing",
  email: "finance@example.org",
});
const join_ = await ask(ann.token, "POST", `/accounts/${ann.id}/invitations`, { role: "member", days: 7 });
const own = await ask(operator, "POST", "/invitations", { account_name: "Robotics", credit: "50", days: 30 });
await ask(operator, "POST", "/invitations", { email: "dora@example.org", days: 7 });

for (const name of ["emil", "fang"]) {
  await ask(null, "POST", "/signup", { name, email: `${name}@example.org`, password: PASSWORD });
  if (name === "emil") await ask(null, "POST", "/email/verify", { token: await mailed("verify") });
}
await ask(null, "POST", "/password/forgot", { email: "emil@example.org" });

await rent(ann.token, ann.id, { gpu: "RTX 3090", name: "first try" }, "released");
await rent(ann.token, ann.id, { gpu: "L40S", name: "nightly eval" }, "stopped");
await rent(ann.token, ann.id, {
  gpu: "RTX 4090",
  count: 2,
  name: "llama finetune",
  rules: { idle: "4h", budget: "50" },
});
await rent(lab.token, lab.id, { gpu: "A100 40G", name: "segmentation", rules: { idle: "off", after: "8h" } });
await ask(operator, "PUT", `/accounts/${ann.id}/quotas`, {
  cards: { "RTX 4090": 2 },
  cards_total: 6,
  instances: 5,
  storage_gib: 500,
  spend_per_day: "60",
});
await ask(ann.token, "POST", "/identity", { full_name: "Ann Example", id_number: "X123" });
await ask(ben.token, "POST", "/identity", {});
await ask(operator, "PUT", "/site/settings", { identity_required: true });
// What is refused is in the audit log too.
await signIn("ann", "wrong password here").catch(() => {});
await ask(ben.token, "POST", "/instances", { account: ann.id, gpu: "L40S" }).catch(() => {});

mkdirSync(dir, { recursive: true });
const site = {
  password: PASSWORD,
  accounts: { ann: ann.id, ben: ben.id },
  join: join_.secret,
  own: own.secret,
};
writeFileSync(join(dir, "site.json"), JSON.stringify(site, null, 1));
console.log(`filled; ${join(dir, "site.json")}`);
