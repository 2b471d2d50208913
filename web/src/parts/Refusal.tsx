import { Alert } from "antd";
import { Refused } from "../api/problem";
import { useText } from "../i18n/useText";
import { useWords } from "./useWords";

/** Why something was not done, and what would help. */
export function Refusal({ error }: { error: unknown }) {
  const { t } = useText();
  const { text, hint, original } = useWords()(error);
  const id = error instanceof Refused && error.status >= 500 ? error.requestId : undefined;
  return (
    <Alert
      type="error"
      showIcon
      role="alert"
      data-testid="refusal"
      title={text}
      description={
        (hint || original || id) && (
          <>
            {hint && <div>{hint}</div>}
            {original && (
              <div className="muted small" lang="en">
                {original}
              </div>
            )}
            {id && (
              <div className="muted small">
                {t("shell.request")} <code>{id}</code>
              </div>
            )}
          </>
        )
      }
    />
  );
}
