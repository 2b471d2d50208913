import { Link } from "react-router";
import type { BillGroup } from "../api/types";
import { durationText } from "../format/time";
import { useText } from "../i18n/useText";
import { Amount } from "../parts/Amount";
import { FakeTag } from "../parts/FakeTag";
import { Panel } from "../parts/Panel";
import { Rows } from "../parts/Rows";
import { Time } from "../parts/Time";
import { BillExplain } from "./BillExplain";
import { LostTimes } from "./LostTimes";

type Props = { group: BillGroup; currency: string; zone: string };

/** What one instance cost in the month, segment by segment. */
export function BillGroupPanel({ group, currency, zone }: Props) {
  const { t, word, locale } = useText();
  return (
    <Panel
      testid="bill-group"
      title={
        <span className="name-cell">
          <Link to={`/instances/${group.instance}`}>{group.name}</Link>
          <span className="muted">
            {group.count} × {group.gpu}
          </span>
          {group.fake && <FakeTag />}
          {group.project && <span className="muted small">{group.project}</span>}
        </span>
      }
      extra={
        <strong>
          <Amount of={group.amount} currency={currency} />
        </strong>
      }
    >
      <Rows
        label={group.name}
        rows={group.lines}
        id={(line) => line.explain.segment}
        empty=""
        columns={[
          { id: "item", title: t("bill.item"), cell: (line) => word("item", line.item) },
          {
            id: "from",
            title: t("bill.period"),
            cell: (line) => (
              <>
                <Time at={line.from} zone={zone} short /> –{" "}
                {line.to ? <Time at={line.to} zone={zone} short /> : t("bill.goes-on")}
                <BillExplain line={line} />
              </>
            ),
          },
          {
            id: "billed",
            title: t("bill.billed"),
            align: "right",
            cell: (line) => <span className="number">{durationText(line.billed / 1000, locale)}</span>,
          },
          {
            id: "rate",
            title: t("bill.rate"),
            align: "right",
            cell: (line) => <Amount of={line.rate} currency={currency} per="hour" />,
          },
          {
            id: "amount",
            title: t("bill.amount"),
            align: "right",
            cell: (line) => (
              <>
                <Amount of={line.amount} currency={currency} />
                {line.so_far && <div className="muted small">{t("bill.so-far")}</div>}
              </>
            ),
          },
        ]}
      />
      <LostTimes lost={group.lost} zone={zone} />
    </Panel>
  );
}
