import type { OperatorRole, Role, Scope, UserState } from "./types";

/** All of them, in the order in which they are offered: the compiler misses one that is left out. */
function all<T extends string>(words: Record<T, true>): T[] {
  return Object.keys(words) as T[];
}

export const ROLES = all<Role>({ owner: true, admin: true, member: true, billing: true, viewer: true });
export const OPERATOR_ROLES = all<OperatorRole>({ admin: true, support: true, finance: true, auditor: true });
export const SCOPES = all<Scope>({ read: true, instances: true, money: true, members: true, operate: true });
export const USER_STATES = all<UserState>({
  active: true,
  "awaiting-email": true,
  "awaiting-approval": true,
  disabled: true,
});
