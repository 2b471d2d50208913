import { Link } from "react-router";
import { useText } from "../i18n/useText";

/** For paths that lead nowhere, and for what belongs to somebody else. */
export function NotFoundPage({ yours = false }: { yours?: boolean }) {
  const { t } = useText();
  return (
    <div className="nothing" data-testid="not-found">
      <h1>{yours ? t("shell.not-yours") : t("shell.not-found")}</h1>
      <p>{yours ? t("shell.not-yours.more") : t("shell.not-found.more")}</p>
      <Link to="/market">{t("shell.to-market")}</Link>
    </div>
  );
}
