import createClient from "openapi-fetch";
import { Refused } from "./problem";
import type { paths } from "./schema";

let csrf: string | undefined;
let signedOut: () => void = () => {};
let outdated: () => void = () => {};

/** Keeps what proves that an unsafe request comes from this page; memory only. */
export function rememberCsrf(token: string | null | undefined) {
  if (token) csrf = token;
}

/** Called whenever the server says that nobody is signed in. */
export function onSignedOut(listener: () => void) {
  signedOut = listener;
}

/** Called when the session is another one than this page thinks, as after signing in in another tab. */
export function onOutdated(listener: () => void) {
  outdated = listener;
}

/** The typed client. Wrap each call in {@link ask}. */
export const api = createClient<paths>({ baseUrl: "/", credentials: "same-origin" });

api.use({
  onRequest({ request }) {
    if (csrf && request.method !== "GET") request.headers.set("X-CSRF-Token", csrf);
    return request;
  },
});

/** The body of the answer, or a {@link Refused}. */
export async function ask<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call;
  if (response.ok) return data as T;
  const refused = Refused.of(response.status, error);
  if (refused.code === "unauthenticated") signedOut();
  if (refused.code === "csrf-missing") outdated();
  throw refused;
}

/** A key that lets the server recognise the same wish sent twice. */
export function idempotencyKey(): string {
  // `crypto.randomUUID` is missing on plain http, where a first try often happens.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}
