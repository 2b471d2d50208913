// Development only, never shipped: stands in for the identity routes that a server
// may not have yet. It keeps the bearer token on this side of a cookie, as the real
// server will, and answers the rest from memory. Delete it with `src/api/coming.ts`.
import { randomBytes } from "node:crypto";
import { starting } from "./things.mjs";

const COOKIE = "suanli_dev";
const sessions = new Map();
const things = starting();

const cookieOf = (req) => /(?:^|; )suanli_dev=(\w+)/.exec(req.headers.cookie ?? "")?.[1];
const sessionOf = (req) => sessions.get(cookieOf(req));
const soon = (days) => new Date(Date.now() + days * 86_400_000).toISOString();
const id = (kind) => `${kind}-${randomBytes(6).toString("hex")}`;

async function bodyOf(req) {
  let text = "";
  for await (const piece of req) text += piece;
  return text ? JSON.parse(text) : {};
}

function answer(res, status, body, headers = {}) {
  res.writeHead(status, {
    "content-type": status < 400 ? "application/json" : "application/problem+json",
    ...headers,
  });
  res.end(body === undefined ? "" : JSON.stringify(body));
  return true;
}

const refuse = (res, status, code, detail, hint) => answer(res, status, { code, detail, hint, status });

/** The routes by method and path; `$` stands for one part of the path. */
function routes(server) {
  const ask = (path, token, init = {}) =>
    fetch(`${server}/v1${path}`, {
      ...init,
      headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) },
    });

  async function signIn(res, user, password) {
    const response = await ask("/login", null, { method: "POST", body: JSON.stringify({ user, password }) });
    const body = await response.json();
    if (!response.ok) return answer(res, response.status, body);
    const key = randomBytes(16).toString("hex");
    sessions.set(key, { token: body.token, csrf: key.slice(0, 8), totp: false });
    const { token, ...rest } = body;
    return answer(
      res,
      201,
      { ...rest, csrf: key.slice(0, 8) },
      { "set-cookie": `${COOKIE}=${key}; HttpOnly; SameSite=Lax; Path=/` },
    );
  }

  const remove =
    (list) =>
    (res, _req, _s, [key]) => {
      things[list] = things[list].filter((t) => t.id !== key);
      return answer(res, 204);
    };
  const user =
    (change) =>
    (res, _req, _s, [key]) => {
      Object.assign(things.users.find((u) => u.id === key) ?? {}, change);
      return answer(res, 204);
    };
  const link = () => `http://127.0.0.1:5190/sign-up#${randomBytes(12).toString("hex")}`;

  return {
    "GET /site": (res) => answer(res, 200, things.site),
    "POST /login": async (res, req) => {
      const { user, password } = await bodyOf(req);
      return signIn(res, user, password);
    },
    "GET /whoami": async (res, _req, session) => {
      if (!session) return refuse(res, 401, "unauthenticated", "sign in first");
      const response = await ask("/whoami", session.token);
      const who = await response.json();
      if (!response.ok) return answer(res, response.status, who);
      const extra = {
        email: `${who.user.name}@example.org`,
        email_verified: true,
        totp: session.totp,
        identity: "none",
      };
      return answer(res, 200, { ...who, user: { ...who.user, ...extra }, csrf: session.csrf });
    },
    "POST /logout": (res, req) => {
      sessions.delete(cookieOf(req));
      return answer(res, 204);
    },
    "POST /logout-everywhere": (res) => {
      sessions.clear();
      return answer(res, 204);
    },
    "GET /sessions": (res) => answer(res, 200, { items: things.sessions }),
    "DELETE /sessions/$": remove("sessions"),
    "GET /invitations/$/preview": (res, _req, _s, [secret]) =>
      secret === "gone"
        ? refuse(res, 404, "not-found", "no such invitation")
        : answer(res, 200, { account: "Vision lab", role: "member", by: "ann", expires_at: soon(6) }),
    // The operator of the development server makes the account that a true sign-up would make.
    "POST /signup": async (res, req) => {
      const { name, password } = await bodyOf(req);
      if (!process.env.SUANLI_OPERATOR_TOKEN) return answer(res, 201, { state: "awaiting-approval" });
      const made = await ask("/accounts", process.env.SUANLI_OPERATOR_TOKEN, {
        method: "POST",
        body: JSON.stringify({ name }),
      });
      const account = await made.json();
      if (!made.ok) return answer(res, made.status, account);
      await ask(`/accounts/${account.account.id}/topups`, process.env.SUANLI_OPERATOR_TOKEN, {
        method: "POST",
        body: JSON.stringify({ amount: "20" }),
      });
      void password;
      things.pending = { name, password: account.password };
      return signIn(
        {
          writeHead: (status, headers) => res.writeHead(status, headers),
          end: (text) => res.end(text.replace("{", '{"state":"ready",')),
        },
        name,
        account.password,
      );
    },
    "POST /invitations/accept": (res) => answer(res, 200, {}),
    "GET /identity": (res) => answer(res, 200, { state: "none" }),
    "POST /identity": (res) =>
      answer(res, 200, { state: "pending", message: "the operator's check was started" }),
    "POST /email/verify": (res) => answer(res, 200, { state: "active" }),
    "POST /email/resend": (res) => answer(res, 204),
    "POST /password/forgot": (res) => answer(res, 202),
    "POST /password/reset": (res) => answer(res, 204),
    "POST /password": (res) => answer(res, 204),
    "POST /totp": (res) =>
      answer(res, 200, {
        secret: "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
        uri: "otpauth://totp/Suanli:ann?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Suanli",
      }),
    "POST /totp/confirm": (res, _req, session) => {
      session.totp = true;
      return answer(res, 200, {
        recovery_codes: Array.from({ length: 10 }, () => randomBytes(4).toString("hex")),
      });
    },
    "POST /totp/remove": (res, _req, session) => {
      session.totp = false;
      return answer(res, 204);
    },
    "GET /tokens": (res) => answer(res, 200, { items: things.tokens }),
    "POST /tokens": async (res, req) => {
      const { days, ...rest } = await bodyOf(req);
      const token = { ...rest, id: id("tok"), created_at: soon(0), expires_at: soon(days ?? 90) };
      things.tokens.unshift(token);
      return answer(res, 201, { ...token, token: `suanli_${randomBytes(24).toString("hex")}` });
    },
    "DELETE /tokens/$": remove("tokens"),
    "GET /keys": (res) => answer(res, 200, { items: things.keys }),
    "POST /keys": async (res, req) => {
      const { key, name } = await bodyOf(req);
      const [kind, , comment] = key.split(/\s+/);
      if (!/^(ssh|ecdsa|sk)-/.test(kind)) {
        return refuse(
          res,
          422,
          "invalid-request",
          "this is not a public SSH key",
          "paste one line of a .pub file",
        );
      }
      const made = {
        id: id("key"),
        name: name ?? comment ?? kind,
        kind,
        fingerprint: `SHA256:${randomBytes(24).toString("base64")}`,
        created_at: soon(0),
      };
      things.keys.push(made);
      return answer(res, 201, made);
    },
    "DELETE /keys/$": remove("keys"),
    "GET /accounts/$/members": async (res, _req, session) => {
      const who = await (await ask("/whoami", session.token)).json();
      const self = {
        user: { id: who.user.id, name: who.user.name, email: `${who.user.name}@example.org` },
        role: "owner",
        since: soon(-40),
      };
      return answer(res, 200, { items: [self, ...things.members], invitations: things.memberInvitations });
    },
    "PUT /accounts/$/members/$": async (res, req, _s, [, key]) => {
      Object.assign(things.members.find((m) => m.user.id === key) ?? {}, await bodyOf(req));
      return answer(res, 204);
    },
    "DELETE /accounts/$/members/$": (res, _req, _s, [, key]) => {
      things.members = things.members.filter((m) => m.user.id !== key);
      return answer(res, 204);
    },
    "POST /accounts/$/invitations": async (res, req) => {
      const { email, role, days } = await bodyOf(req);
      const made = { id: id("inv"), email, role, by: "ann", expires_at: soon(days ?? 7) };
      things.memberInvitations.push(made);
      return answer(res, 201, { id: made.id, link: link(), expires_at: made.expires_at });
    },
    "GET /invitations": (res) => answer(res, 200, { items: things.invitations }),
    "POST /invitations": async (res, req) => {
      const { email, account_name, days } = await bodyOf(req);
      const made = { id: id("inv"), email, account_name, by: "operator", expires_at: soon(days ?? 7) };
      things.invitations.push(made);
      return answer(res, 201, { id: made.id, link: link(), expires_at: made.expires_at });
    },
    "DELETE /invitations/$": (res, req, s, rest) => {
      remove("memberInvitations")({ writeHead() {}, end() {} }, req, s, rest);
      return remove("invitations")(res, req, s, rest);
    },
    "GET /users": (res, req) => {
      const query = new URL(req.url, "http://here").searchParams;
      const q = query.get("q") ?? "";
      const items = things.users.filter(
        (u) => (!query.get("state") || u.state === query.get("state")) && `${u.name} ${u.email}`.includes(q),
      );
      return answer(res, 200, { items });
    },
    "POST /users/$/approve": user({ state: "active" }),
    "POST /users/$/disable": user({ state: "disabled" }),
    "POST /users/$/enable": user({ state: "active" }),
    "PUT /users/$/role": async (res, req, s, rest) =>
      user({ operator_role: (await bodyOf(req)).operator_role ?? undefined })(res, req, s, rest),
    "POST /users/$/password": (res) => answer(res, 200, { password: randomBytes(8).toString("hex") }),
    "POST /users/$/totp/remove": user({}),
    "GET /audit-log": (res, req) => {
      const query = new URL(req.url, "http://here").searchParams;
      const action = query.get("action");
      return answer(res, 200, { items: things.audit.filter((e) => !action || e.action.includes(action)) });
    },
    "GET /audit-log/check": (res) => answer(res, 200, { entries: things.audit.length, intact: true }),
  };
}

/** The plugin and the proxy of `vite.config.ts`. */
export function comingRoutes(server) {
  const table = Object.entries(routes(server)).map(([name, act]) => {
    const [method, path] = name.split(" ");
    return { method, pattern: new RegExp(`^/v1${path.replaceAll("$", "([^/]+)")}$`), act };
  });
  const middleware = async (req, res, next) => {
    const path = (req.url ?? "").split("?")[0];
    for (const { method, pattern, act } of table) {
      const match = req.method === method && pattern.exec(path);
      if (match) return act(res, req, sessionOf(req), match.slice(1).map(decodeURIComponent));
    }
    return next();
  };
  const use = (vite) => {
    vite.middlewares.use((req, res, next) => {
      middleware(req, res, next).catch((error) => refuse(res, 500, "internal", String(error)));
    });
  };
  const authorize = (out, req) => {
    const session = sessionOf(req);
    if (session) out.setHeader("authorization", `Bearer ${session.token}`);
    out.removeHeader("cookie");
    out.removeHeader("origin");
  };
  return {
    plugin: { name: "coming-routes", configureServer: use, configurePreviewServer: use },
    proxy: {
      "/v1": {
        target: server,
        ws: true,
        configure: (proxy) => {
          proxy.on("proxyReq", authorize);
          proxy.on("proxyReqWs", authorize);
        },
      },
    },
  };
}
