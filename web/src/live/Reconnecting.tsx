import { Spin } from "antd";
import { useText } from "../i18n/useText";
import { useLink } from "./LiveProvider";

/** Says that what is shown may be old, while the event stream is broken. */
export function Reconnecting() {
  const { t } = useText();
  if (useLink() !== "reconnecting") return null;
  return (
    <div className="strip strip-warn" role="status" data-testid="reconnecting">
      <Spin size="small" /> {t("live.reconnecting")}
    </div>
  );
}
