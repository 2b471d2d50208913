/**
 * Routes of the identity contract that the server's description does not have yet.
 * This file goes away when `npm run api` brings them.
 */
import type { paths } from "./schema";

type Op<Result, Body = never, Path = never, Query = never> = {
  parameters: {
    query?: [Query] extends [never] ? never : Query;
    header?: never;
    path: [Path] extends [never] ? never : Path;
    cookie?: never;
  };
  requestBody: [Body] extends [never] ? never : { content: { "application/json": Body } };
  responses: { 200: { headers: Record<string, unknown>; content: { "application/json": Result } } };
};
type OpNoPath<Result, Body = never, Query = never> = Omit<Op<Result, Body, never, Query>, "parameters"> & {
  parameters: {
    query?: [Query] extends [never] ? never : Query;
    header?: never;
    path?: never;
    cookie?: never;
  };
};
type Bare<T> = [T] extends [never]
  ? T
  : T extends { requestBody: never }
    ? Omit<T, "requestBody"> & { requestBody?: never }
    : T;
type Route<M> = { [K in keyof M]: Bare<M[K]> };
type Id = { id: string };

export type Role = "owner" | "admin" | "member" | "billing" | "viewer";
export const ROLES: Role[] = ["owner", "admin", "member", "billing", "viewer"];
export type OperatorRole = "admin" | "support" | "finance" | "auditor";
export const OPERATOR_ROLES: OperatorRole[] = ["admin", "support", "finance", "auditor"];
export type Scope = "read" | "instances" | "money" | "members" | "operate";
export const SCOPES: Scope[] = ["read", "instances", "money", "members", "operate"];

export type Site = {
  name: string;
  sign_up: "closed" | "invitation" | "email";
  approval: boolean;
  providers: { id: string; label: string }[];
  currency: string;
  identity_required: boolean;
  fake: boolean;
  version: string;
};
export type Me = {
  id: string;
  name: string;
  email?: string;
  email_verified?: boolean;
  operator: boolean;
  operator_role?: OperatorRole;
  totp?: boolean;
  identity?: "none" | "pending" | "verified" | "refused";
};
export type Membership = { id: string; name: string; role: Role };
export type WhoAmI = { user: Me; accounts: Membership[]; csrf?: string };
export type LoggedIn = { token?: string; csrf?: string; expires_at: string; user: Me };
export type Session = {
  id: string;
  name: string;
  kind: "cookie" | "login";
  created_at: string;
  last_used_at?: string;
  address?: string;
  agent?: string;
  current: boolean;
};
export type SignedUp = { state: "ready" | "check-email" | "awaiting-approval"; csrf?: string; user?: Me };
export type InvitationPreview = {
  account?: string;
  role: Role;
  email?: string;
  by: string;
  expires_at: string;
};
export type IdentityState = {
  state: "none" | "pending" | "verified" | "refused";
  message?: string;
  url?: string;
};
export type Token = {
  id: string;
  name: string;
  scopes: Scope[];
  account?: string;
  created_at: string;
  expires_at: string;
  last_used_at?: string;
};
export type SshKey = { id: string; name: string; fingerprint: string; kind: string; created_at: string };
export type Member = { user: { id: string; name: string; email?: string }; role: Role; since?: string };
export type Invitation = {
  id: string;
  email?: string;
  role?: Role;
  /** Absent: to sign up with an account of one's own. */
  account?: string;
  account_name?: string;
  credit?: { amount: string; micros: number };
  expires_at: string;
  by: string;
};
export type NewInvitation = { id: string; link: string; expires_at: string };
export type UserRow = {
  id: string;
  name: string;
  email?: string;
  state: "active" | "awaiting-email" | "awaiting-approval" | "disabled";
  operator_role?: OperatorRole;
  identity: "none" | "pending" | "verified" | "refused";
  totp?: boolean;
  accounts: { id: string; name: string; role: Role }[];
  created_at: string;
  last_seen_at?: string;
};
export type AuditEntry = {
  seq: number;
  at: string;
  actor: { kind: "user" | "token" | "instance" | "system" | "stranger"; id?: string; name?: string };
  address?: string;
  action: string;
  object?: string;
  account?: string;
  result: "done" | "refused" | "failed";
  code?: string;
  before?: unknown;
  after?: unknown;
  request_id?: string;
  hash: string;
};
type Items<T> = { items: T[] };
type Page<T> = { items: T[]; next_cursor?: string };
type Nothing = undefined;

type Coming = {
  "/v1/site": Route<{ get: OpNoPath<Site> }>;
  "/v1/login": Route<{
    post: OpNoPath<
      LoggedIn,
      { user: string; password: string; code?: string; name?: string; cookie?: boolean }
    >;
  }>;
  "/v1/whoami": Route<{ get: OpNoPath<WhoAmI> }>;
  "/v1/logout-everywhere": Route<{ post: OpNoPath<Nothing, { tokens?: boolean }> }>;
  "/v1/sessions": Route<{ get: OpNoPath<Items<Session>> }>;
  "/v1/sessions/{id}": Route<{ delete: Op<Nothing, never, Id> }>;
  "/v1/signup": Route<{
    post: OpNoPath<
      SignedUp,
      {
        name: string;
        email?: string;
        password: string;
        invitation?: string;
        language?: string;
        cookie?: boolean;
      }
    >;
  }>;
  "/v1/invitations/{secret}/preview": Route<{ get: Op<InvitationPreview, never, { secret: string }> }>;
  "/v1/invitations/accept": Route<{ post: OpNoPath<Nothing, { secret: string }> }>;
  "/v1/identity": Route<{
    get: OpNoPath<IdentityState>;
    post: OpNoPath<IdentityState, Record<string, string>>;
  }>;
  "/v1/email/verify": Route<{ post: OpNoPath<{ state: string }, { token: string }> }>;
  "/v1/email/resend": Route<{ post: OpNoPath<Nothing> }>;
  "/v1/password/forgot": Route<{ post: OpNoPath<Nothing, { email: string }> }>;
  "/v1/password/reset": Route<{ post: OpNoPath<Nothing, { token: string; password: string }> }>;
  "/v1/password": Route<{ post: OpNoPath<Nothing, { old: string; new: string }> }>;
  "/v1/totp": Route<{ post: OpNoPath<{ secret: string; uri: string }> }>;
  "/v1/totp/confirm": Route<{ post: OpNoPath<{ recovery_codes: string[] }, { code: string }> }>;
  "/v1/totp/remove": Route<{ post: OpNoPath<Nothing, { password: string; code: string }> }>;
  "/v1/tokens": Route<{
    get: OpNoPath<Items<Token>>;
    post: OpNoPath<
      Token & { token: string },
      { name: string; scopes: Scope[]; account?: string; days?: number }
    >;
  }>;
  "/v1/tokens/{id}": Route<{ delete: Op<Nothing, never, Id> }>;
  "/v1/keys": Route<{ get: OpNoPath<Items<SshKey>>; post: OpNoPath<SshKey, { name?: string; key: string }> }>;
  "/v1/keys/{id}": Route<{ delete: Op<Nothing, never, Id> }>;
  "/v1/accounts/{id}/members": Route<{ get: Op<Items<Member> & { invitations: Invitation[] }, never, Id> }>;
  "/v1/accounts/{id}/members/{user}": Route<{
    put: Op<Nothing, { role: Role }, Id & { user: string }>;
    delete: Op<Nothing, never, Id & { user: string }>;
  }>;
  "/v1/accounts/{id}/invitations": Route<{
    post: Op<NewInvitation, { email?: string; role: Role; days?: number }, Id>;
  }>;
  "/v1/invitations": Route<{
    get: OpNoPath<Items<Invitation>>;
    post: OpNoPath<NewInvitation, { email?: string; days?: number; account_name?: string; credit?: string }>;
  }>;
  "/v1/invitations/{id}": Route<{ delete: Op<Nothing, never, Id> }>;
  "/v1/users": Route<{
    get: OpNoPath<Page<UserRow>, never, { state?: string; q?: string; cursor?: string }>;
  }>;
  "/v1/users/{id}/approve": Route<{ post: Op<Nothing, never, Id> }>;
  "/v1/users/{id}/disable": Route<{ post: Op<Nothing, never, Id> }>;
  "/v1/users/{id}/enable": Route<{ post: Op<Nothing, never, Id> }>;
  "/v1/users/{id}/role": Route<{ put: Op<Nothing, { operator_role: OperatorRole | null }, Id> }>;
  "/v1/users/{id}/password": Route<{ post: Op<{ password: string }, never, Id> }>;
  "/v1/users/{id}/totp/remove": Route<{ post: Op<Nothing, never, Id> }>;
  "/v1/audit-log": Route<{
    get: OpNoPath<
      Page<AuditEntry>,
      never,
      {
        actor?: string;
        action?: string;
        object?: string;
        from?: string;
        to?: string;
        cursor?: string;
        limit?: number;
      }
    >;
  }>;
  "/v1/audit-log/check": Route<{ get: OpNoPath<{ entries: number; intact: boolean; broken_at?: number }> }>;
};

/** Every route that the console may call. */
export type Paths = Omit<paths, keyof Coming> & Coming;
