import type { ReactNode } from "react";
import type { Quotas } from "../api/types";
import { number } from "../format/amounts";
import { useText } from "../i18n/useText";
import { Amount } from "../parts/Amount";
import { Rows } from "../parts/Rows";
import { usedUp } from "./usedUp";
import { useModelName } from "./useModelName";

type Line = { id: string; what: string; used: ReactNode; most: ReactNode; full: boolean };

/** What is used of each quota. */
export function QuotaRows({ of: { quotas, used }, currency }: { of: Quotas; currency?: string }) {
  const { t, locale } = useText();
  const modelName = useModelName();
  const unlimited = <span className="muted">{t("quotas.no-limit")}</span>;
  const count = (id: string, what: string, now = 0, most: number | null | undefined, unit = ""): Line => {
    const text = (n: number) => <span className="number">{`${number(n, locale)}${unit}`}</span>;
    return {
      id,
      what,
      used: text(now),
      most: most == null ? unlimited : text(most),
      full: usedUp(now, most),
    };
  };
  const models = [...new Set([...Object.keys(quotas.cards), ...Object.keys(used.cards)])];
  const spent = used.spend_per_day;
  const daily = quotas.spend_per_day;
  const lines: Line[] = [
    count("cards", t("quotas.cards"), used.cards_total ?? 0, quotas.cards_total),
    ...models.map((slug) =>
      count(slug, t("quotas.cards-of", { name: modelName(slug) }), used.cards[slug], quotas.cards[slug]),
    ),
    count("instances", t("quotas.instances"), used.instances ?? 0, quotas.instances),
    count("storage", t("quotas.storage"), used.storage_gib ?? 0, quotas.storage_gib, " GiB"),
    {
      id: "spend",
      what: t("quotas.spend"),
      used: spent ? (
        <Amount of={spent} currency={currency} decimals={2} />
      ) : (
        <span className="number">0</span>
      ),
      most: daily ? <Amount of={daily} currency={currency} /> : unlimited,
      full: usedUp(spent?.micros ?? 0, daily?.micros),
    },
  ];
  return (
    <Rows
      label={t("quotas.title")}
      testid="quotas"
      rows={lines}
      id={(line) => line.id}
      empty="–"
      columns={[
        {
          id: "what",
          title: t("quotas.what"),
          cell: (line) => (
            <span className="name-cell">
              {line.what} {line.full && <span className="tag tag-busy">{t("quotas.used-up")}</span>}
            </span>
          ),
        },
        { id: "used", title: t("quotas.used"), align: "right", cell: (line) => line.used },
        { id: "most", title: t("quotas.most"), align: "right", cell: (line) => line.most },
      ]}
    />
  );
}
