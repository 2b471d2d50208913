import { useText } from "../i18n/useText";

/** Marks a card that is not real. */
export function FakeTag() {
  const { t } = useText();
  return <span className="tag tag-fake">{t("shell.fake")}</span>;
}
