import { useBalance } from "../app/useBalance";
import { useText } from "../i18n/useText";
import { Amount } from "../parts/Amount";
import { Facts } from "../parts/Facts";
import { Panel } from "../parts/Panel";
import { Time } from "../parts/Time";

/** What is in the account now, and how fast it goes. */
export function BalancePanel() {
  const { t } = useText();
  const balance = useBalance();
  if (!balance) return null;
  const { currency } = balance;
  return (
    <Panel title={t("bill.balance")}>
      <div className="big">
        <Amount of={balance.available} currency={currency} decimals={2} />
      </div>
      <Facts
        of={[
          [t("bill.balance.posted"), <Amount key="p" of={balance.posted} currency={currency} />],
          [t("bill.balance.unposted"), <Amount key="u" of={balance.unposted} currency={currency} />],
          [t("bill.balance.held"), <Amount key="h" of={balance.held} currency={currency} />],
          [t("bill.balance.burn"), <Amount key="b" of={balance.burn} currency={currency} per="hour" />],
          [
            t("bill.balance.ends"),
            balance.money_ends_at ? <Time key="e" at={balance.money_ends_at} /> : t("quote.money-never-ends"),
          ],
        ]}
      />
      <p className="muted small">{t("bill.balance.more")}</p>
    </Panel>
  );
}
