import { Button } from "antd";
import { useText } from "../i18n/useText";

/** A page that could not be shown, most often because the console was updated meanwhile. */
export function BrokenPage() {
  const { t } = useText();
  return (
    <main className="nothing">
      <h1>{t("shell.broken")}</h1>
      <p>{t("shell.broken.more")}</p>
      <Button type="primary" onClick={() => window.location.reload()}>
        {t("shell.reload")}
      </Button>
    </main>
  );
}
