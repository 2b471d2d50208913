import { Skeleton } from "antd";
import type { QuoteView } from "../api/types";
import { useText } from "../i18n/useText";
import { Amount } from "../parts/Amount";
import { Facts } from "../parts/Facts";
import { Panel } from "../parts/Panel";
import { Time } from "../parts/Time";

type Props = { quote: QuoteView | undefined; stale: boolean; idle: string | undefined };

/** The frozen price: what an hour costs, what a stop costs, when the balance ends. */
export function QuotePanel({ quote: view, stale, idle }: Props) {
  const { t, word } = useText();
  if (!view) return <Skeleton active paragraph={{ rows: 5 }} title={false} />;
  const { quote, currency } = view;
  const tooLittle = view.balance.micros < quote.hold.micros;
  return (
    <Panel testid="quote" tight>
      <div className="quote-rate" aria-busy={stale}>
        <Amount of={quote.rate} currency={currency} per="hour" />
        <span className="muted small">
          {t("quote.per-day")} <Amount of={quote.per_day} currency={currency} decimals={2} /> ·{" "}
          {t("quote.per-month")} <Amount of={quote.per_month} currency={currency} decimals={2} />
        </span>
      </div>
      <Facts
        of={[
          [
            t("quote.machine"),
            t("quote.machine.value", { cpus: quote.cpus, memory: quote.memory_gib, disk: quote.disk_gib }),
          ],
          [
            t("quote.stop"),
            <span key="v">
              {quote.stopped_rate.micros === 0 ? (
                t("quote.stop.free")
              ) : (
                <Amount of={quote.stopped_rate} currency={currency} per="hour" />
              )}
              <div className="muted small">{t("quote.stop.more")}</div>
            </span>,
          ],
          [
            t("quote.money-ends"),
            <span key="v">
              {tooLittle ? (
                <span className="bad">{t("quote.too-little")}</span>
              ) : view.money_ends_at ? (
                <Time at={view.money_ends_at} />
              ) : (
                t("quote.money-never-ends")
              )}
              <div className="muted small">
                {t("quote.balance")} <Amount of={view.balance} currency={currency} decimals={2} />
                {!tooLittle && ` · ${t("quote.money-ends.more")}`}
              </div>
            </span>,
          ],
          [
            t("quote.hold"),
            <span key="v">
              <Amount of={quote.hold} currency={currency} decimals={2} />
              <div className="muted small">{t("quote.hold.more")}</div>
            </span>,
          ],
          [
            t("quote.stops"),
            idle ? t("quote.stops.idle", { span: word("span", idle) }) : t("quote.stops.never"),
          ],
        ]}
      />
      {quote.demonstration && <p className="warn small">{t("market.demonstration")}</p>}
    </Panel>
  );
}
