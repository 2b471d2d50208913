import { Select } from "antd";
import { useText } from "../i18n/useText";
import { useAccount } from "../session/AccountProvider";

/** Shows who pays, and lets a user of several accounts change it. */
export function AccountSwitch() {
  const { t } = useText();
  const { who, account, choose } = useAccount();
  if (!account) return null;
  if (who.accounts.length === 1) {
    return (
      <span className="account-name">
        <span className="muted">{t("shell.account")}</span> {account.name}
      </span>
    );
  }
  return (
    <Select
      aria-label={t("shell.account")}
      value={account.id}
      onChange={choose}
      options={who.accounts.map((a) => ({ value: a.id, label: a.name }))}
      popupMatchSelectWidth={false}
      variant="borderless"
    />
  );
}
