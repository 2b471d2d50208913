import { createContext, type ReactNode, useContext, useMemo, useState } from "react";
import type { Membership, WhoAmI } from "../api/types";
import { type Action, may } from "./rights";

type Value = {
  who: WhoAmI;
  /** Who pays for what is done now; absent for a user without an account. */
  account: Membership | undefined;
  choose: (id: string) => void;
};

const AccountContext = createContext<Value | null>(null);
const STORED = "account";

/** Holds the account in whose name the user acts. */
export function AccountProvider({ who, children }: { who: WhoAmI; children: ReactNode }) {
  const [wanted, setWanted] = useState(() => localStorage.getItem(STORED));
  const account = who.accounts.find((a) => a.id === wanted) ?? who.accounts[0];
  const value = useMemo(
    () => ({
      who,
      account,
      choose: (id: string) => {
        localStorage.setItem(STORED, id);
        setWanted(id);
      },
    }),
    [who, account],
  );
  return <AccountContext value={value}>{children}</AccountContext>;
}

/** The signed-in user, the account in use, and what he may do in it. */
export function useAccount() {
  const value = useContext(AccountContext);
  if (!value) throw new Error("useAccount outside of AccountProvider");
  const role = value.account?.role;
  const { operator, operator_role } = value.who.user;
  // A server that knows no operator roles has only operators who may everything.
  const operatorRole = operator ? (operator_role ?? "admin") : undefined;
  return {
    ...value,
    may: (action: Action) => may(action, role, operatorRole),
    isOperator: operator,
  };
}
