import type { Money } from "../api/types";
import { moneyText, rounded } from "../format/money";
import { useText } from "../i18n/useText";
import { useSite } from "../session/useSite";

type Props = {
  of: Money;
  /** Default: the site's currency. */
  currency?: string;
  /** Rounds for the eye; the exact amount stays as a title. */
  decimals?: number;
  per?: "hour";
};

/** An amount of money. */
export function Amount({ of, currency, decimals, per }: Props) {
  const { t, locale } = useText();
  const site = useSite();
  const code = currency ?? site?.currency ?? "";
  const exact = moneyText(of.amount, code, locale);
  const shown = decimals === undefined ? exact : moneyText(rounded(of.amount, decimals), code, locale);
  return (
    <span className="number" title={shown === exact ? undefined : exact}>
      {shown}
      {per && <span className="unit"> {t("unit.per-hour")}</span>}
    </span>
  );
}
