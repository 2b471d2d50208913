import { Tooltip } from "antd";
import { Link } from "react-router";
import { relativeText } from "../format/time";
import { useText } from "../i18n/useText";
import { Amount } from "../parts/Amount";
import { Time } from "../parts/Time";
import { useNow } from "../parts/useNow";
import { useBalance } from "./useBalance";

/** What is in the account, and when it ends if nothing changes. */
export function BalanceChip() {
  const { t, locale } = useText();
  const now = useNow(10_000);
  const balance = useBalance();
  if (!balance) return null;
  const low = balance.money_ends_at && new Date(balance.money_ends_at).getTime() - Date.now() < 6 * 3_600_000;
  return (
    <Link to="/bill" className={low ? "chip chip-low" : "chip"} data-testid="balance">
      <span className="muted">{t("shell.balance")}</span>
      <strong>
        <Amount of={balance.available} currency={balance.currency} decimals={2} />
      </strong>
      {balance.money_ends_at && (
        <Tooltip title={<Time at={balance.money_ends_at} />}>
          <span className="chip-end">
            {t("shell.money-ends", { when: relativeText(balance.money_ends_at, now, locale) })}
          </span>
        </Tooltip>
      )}
    </Link>
  );
}
