import type { OperatorRole, Role } from "../api/types";

type Right = { roles: Role[]; operators: OperatorRole[] };

/**
 * Who may do what, as far as the console offers it: a copy of lines of the server's
 * own table, which a test compares. The server decides; this only keeps buttons away
 * from those whom it would refuse.
 */
export const RIGHTS = {
  rent: { roles: ["owner", "admin", "member"], operators: [] },
  "change-instances": { roles: ["owner", "admin", "member"], operators: ["admin", "support"] },
  "use-instances": { roles: ["owner", "admin", "member"], operators: [] },
  "manage-members": { roles: ["owner", "admin"], operators: ["admin", "support"] },
  "manage-owners": { roles: ["owner"], operators: ["admin"] },
  "see-site": { roles: [], operators: ["admin", "support", "finance", "auditor"] },
  "check-prices": { roles: [], operators: ["admin", "finance", "auditor"] },
  "load-prices": { roles: [], operators: ["admin", "finance"] },
  "make-accounts": { roles: [], operators: ["admin", "support"] },
  "top-up": { roles: [], operators: ["admin", "finance"] },
  "set-quotas": { roles: [], operators: ["admin", "finance", "support"] },
  "manage-users": { roles: [], operators: ["admin", "support"] },
  "manage-site": { roles: [], operators: ["admin"] },
  "close-incidents": { roles: [], operators: ["admin", "support"] },
  "read-audit-log": { roles: [], operators: ["admin", "auditor"] },
} satisfies Record<string, Right>;

export type Action = keyof typeof RIGHTS;

/** Whether somebody with these roles, in the account and on the site, may do it. */
export function may(action: Action, role: Role | undefined, operator: OperatorRole | undefined): boolean {
  const right: Right = RIGHTS[action];
  return (
    (role !== undefined && right.roles.includes(role)) ||
    (operator !== undefined && right.operators.includes(operator))
  );
}
