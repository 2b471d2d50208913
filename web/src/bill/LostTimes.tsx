import type { BillGroup } from "../api/types";
import { useSentence } from "../i18n/useSentence";
import { useText } from "../i18n/useText";
import { Time } from "../parts/Time";

/** Time that nobody can prove, and that is therefore not on the bill. */
export function LostTimes({ lost, zone }: { lost: BillGroup["lost"]; zone: string }) {
  const { t } = useText();
  const sentence = useSentence();
  if (lost.length === 0) return null;
  return (
    <div className="lost">
      <h3>{t("bill.lost")}</h3>
      <ul className="plain small">
        {lost.map((gap) => (
          <li key={gap.from}>
            <Time at={gap.from} zone={zone} short /> –{" "}
            {gap.to ? <Time at={gap.to} zone={zone} short /> : t("bill.goes-on")}: {sentence(gap.why)}
          </li>
        ))}
      </ul>
    </div>
  );
}
