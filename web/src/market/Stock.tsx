import type { Offer } from "../api/types";
import { useText } from "../i18n/useText";

/** How many cards are free, and what one machine can give at most. */
export function Stock({ offer, cards }: { offer: Offer; cards: number }) {
  const { t } = useText();
  const enough = offer.largest_free_set >= cards;
  return (
    <span>
      <span className={`dot-text ${enough ? "good" : "none"}`}>
        {t("market.free-of", { free: offer.free, total: offer.total })}
      </span>
      {offer.free > 0 && offer.largest_free_set < offer.free && (
        <div className="muted small">{t("market.together", { count: offer.largest_free_set })}</div>
      )}
    </span>
  );
}
