import {
  AlertOutlined,
  ApartmentOutlined,
  AppstoreOutlined,
  AuditOutlined,
  BankOutlined,
  ClusterOutlined,
  CodeOutlined,
  FileTextOutlined,
  IdcardOutlined,
  MailOutlined,
  SettingOutlined,
  TagsOutlined,
} from "@ant-design/icons";
import type { ReactNode } from "react";
import { NavLink } from "react-router";
import { useText } from "../i18n/useText";
import { useAccount } from "../session/AccountProvider";

type Entry = [to: string, icon: ReactNode, text: string];

/** The pages that the user may open. */
export function SideNav({ onChosen }: { onChosen?: () => void }) {
  const { t } = useText();
  const { isOperator, account, may } = useAccount();
  const renter: Entry[] = [
    ["/market", <AppstoreOutlined key="i" aria-hidden />, t("nav.market")],
    ["/instances", <CodeOutlined key="i" aria-hidden />, t("nav.instances")],
  ];
  if (account) {
    renter.push(["/bill", <FileTextOutlined key="i" aria-hidden />, t("nav.bill")]);
    renter.push(["/members", <IdcardOutlined key="i" aria-hidden />, t("nav.members")]);
  }
  renter.push(["/settings", <SettingOutlined key="i" aria-hidden />, t("nav.settings")]);
  const operator: Entry[] = [
    ["/operator/nodes", <ClusterOutlined key="i" aria-hidden />, t("nav.nodes")],
    ["/operator/accounts", <BankOutlined key="i" aria-hidden />, t("nav.accounts")],
    ["/operator/users", <ApartmentOutlined key="i" aria-hidden />, t("nav.users")],
    ["/operator/invitations", <MailOutlined key="i" aria-hidden />, t("nav.invitations")],
    ["/operator/prices", <TagsOutlined key="i" aria-hidden />, t("nav.prices")],
    ["/operator/incidents", <AlertOutlined key="i" aria-hidden />, t("nav.incidents")],
  ];
  if (may("read-audit-log"))
    operator.push(["/operator/audit-log", <AuditOutlined key="i" aria-hidden />, t("nav.audit-log")]);
  const list = (entries: Entry[]) => (
    <ul>
      {entries.map(([to, icon, text]) => (
        <li key={to}>
          <NavLink to={to} onClick={onChosen}>
            {icon}
            <span>{text}</span>
          </NavLink>
        </li>
      ))}
    </ul>
  );
  return (
    <nav className="nav" aria-label={t("shell.menu")}>
      {list(renter)}
      {isOperator && (
        <>
          <h2>{t("nav.operator")}</h2>
          {list(operator)}
        </>
      )}
    </nav>
  );
}
