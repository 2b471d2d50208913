// A real OpenID provider on loopback for the tests. Whoever is named in
// `login_hint` signs in at once, in place of typing a password:
// `wei` has a proven address, `liar` claims one that is not proven.
// Usage: node provider.mjs REDIRECT_URI. Prints its address; ends with its input.
// `/counts` tells how often it was asked who it is and for its keys, `/rotate` gives
// it other keys.
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// The packages lie in a cache, not beside this file.
const require = createRequire(join(process.argv[3], "package.json"));
const { Provider } = await import(pathToFileURL(require.resolve("oidc-provider")).href);

const server = createServer();
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const issuer = `http://127.0.0.1:${server.address().port}`;

function keys(kid) {
  const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
  return { keys: [{ ...key, kid, use: "sig", alg: "RS256" }] };
}

const settings = {
  clients: [{ client_id: "suanli", client_secret: "hush-oidc", redirect_uris: [process.argv[2]] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["preferred_username"] },
  cookies: { keys: ["only for tests"] },
  features: { devInteractions: { enabled: false } },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({
      sub: id,
      email: `${id === "liar" ? "wei" : id}@example.org`,
      email_verified: id !== "liar",
      preferred_username: id,
    }),
  }),
  loadExistingGrant: async (ctx) => {
    const { client, session } = ctx.oidc;
    const grant = new ctx.oidc.provider.Grant({ clientId: client.clientId, accountId: session.accountId });
    grant.addOIDCScope("openid email profile");
    await grant.save();
    return grant;
  },
};

let provider;
let answer;
const counts = { discovery: 0, keys: 0, rotations: 0 };

// One that begins anew knows nobody who is on his way any more.
function begin() {
  provider = new Provider(issuer, { ...settings, jwks: keys(`key-${counts.rotations}`) });
  answer = provider.callback();
}

begin();
server.on("request", async (request, response) => {
  if (request.url === "/rotate") {
    counts.rotations += 1;
    begin();
  }
  if (request.url === "/rotate" || request.url === "/counts") return response.end(JSON.stringify(counts));
  if (request.url.startsWith("/.well-known/")) counts.discovery += 1;
  if (request.url.startsWith("/jwks")) counts.keys += 1;
  if (!request.url.startsWith("/interaction/")) return answer(request, response);
  const { params } = await provider.interactionDetails(request, response);
  await provider.interactionFinished(request, response, { login: { accountId: params.login_hint } });
});
console.log(issuer);
process.stdin.resume().on("end", () => process.exit(0));
