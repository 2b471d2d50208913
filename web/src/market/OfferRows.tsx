import { Button } from "antd";
import type { Offer } from "../api/types";
import { useText } from "../i18n/useText";
import { Amount } from "../parts/Amount";
import { FakeTag } from "../parts/FakeTag";
import { Isolation } from "../parts/Isolation";
import { Rows } from "../parts/Rows";
import { canRent } from "./choice";
import { Stock } from "./Stock";

type Props = {
  offers: Offer[];
  cards: number;
  currency: string;
  onRent: ((offer: Offer) => void) | undefined;
};

/** GPU models with stock and price. */
export function OfferRows({ offers, cards, currency, onRent }: Props) {
  const { t } = useText();
  return (
    <Rows
      label={t("market.title")}
      testid="offers"
      rows={offers}
      id={(o) => o.gpu}
      empty={t("market.empty")}
      columns={[
        {
          id: "name",
          title: t("market.gpu"),
          cell: (o) => (
            <span className="name-cell">
              <strong>{o.name}</strong>
              {o.fake && <FakeTag />}
            </span>
          ),
        },
        {
          id: "vram",
          title: t("market.vram"),
          align: "right",
          cell: (o) => <span className="number">{o.vram_gib} GiB</span>,
        },
        {
          id: "with",
          title: t("market.per-card"),
          cell: (o) => t("market.with", { cpus: o.cpus, memory: o.memory_gib, disk: o.disk_gib }),
        },
        {
          id: "isolation",
          title: t("market.isolation"),
          wide: true,
          cell: (o) => <Isolation kind={o.isolation} />,
        },
        { id: "stock", title: t("market.stock"), cell: (o) => <Stock offer={o} cards={cards} /> },
        {
          id: "price",
          title: t("market.price"),
          align: "right",
          cell: (o) =>
            o.on_demand ? (
              <>
                <Amount of={o.on_demand} currency={currency} per="hour" />
                {o.demonstration_price && <div className="muted small">{t("market.demonstration")}</div>}
              </>
            ) : (
              <span className="muted">{t("market.no-price")}</span>
            ),
        },
        {
          id: "rent",
          title: <span className="hidden">{t("market.rent")}</span>,
          align: "right",
          actions: true,
          cell: (o) => (
            <Button
              disabled={!onRent || !canRent(o, cards)}
              onClick={() => onRent?.(o)}
              aria-label={`${t("market.rent")} ${o.name}`}
            >
              {t("market.rent")}
            </Button>
          ),
        },
      ]}
    />
  );
}
