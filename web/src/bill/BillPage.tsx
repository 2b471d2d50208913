import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Select } from "antd";
import { useState } from "react";
import { api, ask } from "../api/client";
import { browserZone } from "../format/time";
import { useText } from "../i18n/useText";
import { Loading } from "../parts/Loading";
import { Page } from "../parts/Page";
import { Refusal } from "../parts/Refusal";
import { useAccount } from "../session/AccountProvider";
import { BalancePanel } from "./BalancePanel";
import { BillEntries } from "./BillEntries";
import { BillGroupPanel } from "./BillGroupPanel";
import { BillTotals } from "./BillTotals";
import { lastMonths, monthText } from "./months";

const MONTHS = 12;

/** A month's bill with the proof for each second. */
export function BillPage() {
  const { t, locale } = useText();
  const { account } = useAccount();
  const [month, setMonth] = useState<string>();
  const { data: bill, error } = useQuery({
    queryKey: ["bill", account?.id, month],
    enabled: account !== undefined,
    queryFn: () => ask(api.GET("/v1/bill", { params: { query: { account: account?.id, month } } })),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });
  if (!account) return <p className="empty">{t("market.no-account")}</p>;
  if (!bill) return error ? <Refusal error={error} /> : <Loading />;
  const months = lastMonths(new Date(), bill.zone || browserZone(), MONTHS);
  return (
    <Page
      title={t("bill.title")}
      about={t("bill.about", { zone: bill.zone, currency: bill.currency })}
      actions={
        <Select
          aria-label={t("bill.month")}
          value={bill.month}
          onChange={setMonth}
          popupMatchSelectWidth={false}
          options={months.map((m) => ({ value: m, label: monthText(m, locale) }))}
        />
      }
    >
      {error && <Refusal error={error} />}
      <div className="split">
        <div>
          {bill.groups.length === 0 && <p className="empty">{t("bill.empty")}</p>}
          {bill.groups.map((group) => (
            <BillGroupPanel key={group.instance} group={group} currency={bill.currency} zone={bill.zone} />
          ))}
          <BillEntries bill={bill} />
        </div>
        <aside className="summary">
          <BillTotals bill={bill} />
          <BalancePanel />
        </aside>
      </div>
    </Page>
  );
}
