import type { Bill } from "../api/types";
import { useSentence } from "../i18n/useSentence";
import { useText } from "../i18n/useText";
import { Amount } from "../parts/Amount";
import { Panel } from "../parts/Panel";
import { Rows } from "../parts/Rows";
import { Time } from "../parts/Time";

/** Top-ups and corrections of the month. */
export function BillEntries({ bill }: { bill: Bill }) {
  const { t } = useText();
  const sentence = useSentence();
  if (bill.entries.length === 0) return null;
  return (
    <Panel
      title={t("bill.entries")}
      extra={
        <strong>
          <Amount of={bill.entries_total} currency={bill.currency} />
        </strong>
      }
    >
      <Rows
        label={t("bill.entries")}
        rows={bill.entries}
        id={(e) => `${e.at} ${e.what} ${e.amount.micros}`}
        empty=""
        columns={[
          { id: "at", title: t("bill.at"), cell: (e) => <Time at={e.at} zone={bill.zone} /> },
          { id: "what", title: t("bill.what"), cell: (e) => sentence(e.what).replace(/[.。]$/, "") },
          {
            id: "amount",
            title: t("bill.amount"),
            align: "right",
            cell: (e) => <Amount of={e.amount} currency={bill.currency} />,
          },
        ]}
      />
    </Panel>
  );
}
