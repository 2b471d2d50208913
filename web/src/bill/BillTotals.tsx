import type { Bill } from "../api/types";
import { useText } from "../i18n/useText";
import { Amount } from "../parts/Amount";
import { Facts } from "../parts/Facts";
import { Panel } from "../parts/Panel";
import { Time } from "../parts/Time";

/** The sum of the month, rounding shown. */
export function BillTotals({ bill }: { bill: Bill }) {
  const { t } = useText();
  const divided = bill.projects.some((p) => p.project);
  const money = (of: Bill["total"]) => <Amount of={of} currency={bill.currency} />;
  return (
    <Panel title={t("bill.total")} testid="bill-total">
      <div className="big">{money(bill.total_rounded)}</div>
      <Facts
        of={[
          [t("bill.lines"), money(bill.lines_total)],
          [t("bill.rounding"), money(bill.rounding)],
          [t("bill.exact"), money(bill.total)],
          [t("bill.posted"), money(bill.posted)],
          [t("bill.running"), money(bill.so_far)],
          [t("bill.as-of"), <Time key="t" at={bill.as_of} zone={bill.zone} />],
        ]}
      />
      {divided && (
        <>
          <h3>{t("bill.by-project")}</h3>
          <Facts of={bill.projects.map((p) => [p.project ?? t("bill.no-project"), money(p.total)])} />
        </>
      )}
    </Panel>
  );
}
