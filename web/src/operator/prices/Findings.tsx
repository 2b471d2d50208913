import type { Finding } from "../../api/types";
import { useText } from "../../i18n/useText";
import { Panel } from "../../parts/Panel";
import { sentence } from "../../parts/refusalWords";

type Props = { errors: Finding[] | undefined; warnings: Finding[] | undefined };

/** What the linter found; absent while it still looks. */
export function Findings({ errors, warnings }: Props) {
  const { t } = useText();
  const list = (findings: Finding[], tone: string) => (
    <ul className="plain findings">
      {findings.map((f) => (
        <li key={`${f.path} ${f.message}`}>
          <code className={tone}>{f.path}</code>
          <div>{sentence(f.message)}</div>
          {f.hint && <div className="muted small">{sentence(f.hint)}</div>}
        </li>
      ))}
    </ul>
  );
  return (
    <aside className="summary" aria-live="polite">
      <Panel title={t("prices.findings")} testid="findings">
        {!errors || !warnings ? (
          <p className="muted">{t("prices.looking")}</p>
        ) : (
          <>
            {errors.length + warnings.length === 0 && <p>{t("prices.clean")}</p>}
            {errors.length > 0 && (
              <>
                <h3 className="bad">{t("prices.errors", { count: errors.length })}</h3>
                {list(errors, "bad")}
              </>
            )}
            {warnings.length > 0 && (
              <>
                <h3 className="warn">{t("prices.warnings", { count: warnings.length })}</h3>
                {list(warnings, "warn")}
              </>
            )}
          </>
        )}
      </Panel>
    </aside>
  );
}
