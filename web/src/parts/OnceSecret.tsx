import { Alert } from "antd";
import { useText } from "../i18n/useText";
import { CopyText } from "./CopyText";

/** A secret that the server shows this one time. */
export function OnceSecret({ title, secret }: { title: string; secret: string }) {
  const { t } = useText();
  return (
    <Alert
      type="warning"
      showIcon
      data-testid="secret"
      title={title}
      description={
        <>
          <CopyText text={secret} label={title} />
          <div className="small">{t("shell.shown-once")}</div>
        </>
      }
    />
  );
}
