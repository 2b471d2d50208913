import type { BillLine } from "../api/types";
import { useSentence } from "../i18n/useSentence";
import { useText } from "../i18n/useText";

/** How a line was reckoned, and what proves it. */
export function BillExplain({ line }: { line: BillLine }) {
  const { t } = useText();
  const sentence = useSentence();
  const { explain } = line;
  return (
    <details className="explain">
      <summary>{t("bill.explain")}</summary>
      <dl className="facts">
        <div>
          <dt>{t("bill.arithmetic")}</dt>
          <dd className="mono">{explain.arithmetic}</dd>
        </div>
        {explain.evidence && (
          <div>
            <dt>{t("bill.evidence")}</dt>
            <dd>{sentence(explain.evidence)}</dd>
          </div>
        )}
        {explain.ended && (
          <div>
            <dt>{t("bill.ended")}</dt>
            <dd>{sentence(explain.ended)}</dd>
          </div>
        )}
        <div>
          <dt>{t("bill.price-version")}</dt>
          <dd className="mono">{explain.price_version}</dd>
        </div>
        {line.serials.length > 0 && (
          <div>
            <dt>{t("bill.cards")}</dt>
            <dd className="mono break">{line.serials.join(", ")}</dd>
          </div>
        )}
      </dl>
    </details>
  );
}
