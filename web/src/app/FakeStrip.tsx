import { useText } from "../i18n/useText";
import { useSite } from "../session/useSite";

/** Says on every page that this site's cards are not real. */
export function FakeStrip() {
  const { t } = useText();
  if (!useSite()?.fake) return null;
  return <div className="strip strip-fake">{t("shell.fake-site")}</div>;
}
