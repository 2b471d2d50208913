import { Checkbox, Segmented, Select } from "antd";
import { useId } from "react";
import type { Offer } from "../api/types";
import { useText } from "../i18n/useText";
import { cardCounts, type Wish } from "./choice";

type Props = { offers: Offer[]; wish: Wish; onChange: (wish: Wish) => void };

/** Narrows the offers down. */
export function MarketFilters({ offers, wish, onChange }: Props) {
  const { t } = useText();
  const cards = useId();
  const sizes = [...new Set(offers.map((o) => o.vram_gib))].sort((a, b) => a - b);
  const largest = Math.max(0, ...offers.map((o) => o.largest_set));
  return (
    <search className="filters" aria-label={t("market.filters")}>
      <span className="filter">
        <span id={cards}>{t("market.cards")}</span>
        <Segmented
          aria-labelledby={cards}
          value={wish.cards}
          options={cardCounts(largest)}
          onChange={(n) => onChange({ ...wish, cards: n })}
        />
      </span>
      <Select
        aria-label={t("market.min-vram")}
        value={wish.minVram}
        onChange={(minVram) => onChange({ ...wish, minVram })}
        popupMatchSelectWidth={false}
        options={[
          { value: 0, label: t("market.any-vram") },
          ...sizes.map((n) => ({ value: n, label: t("market.vram-from", { count: n }) })),
        ]}
      />
      <Checkbox checked={wish.freeOnly} onChange={(e) => onChange({ ...wish, freeOnly: e.target.checked })}>
        {t("market.free-only")}
      </Checkbox>
    </search>
  );
}
