import { App, Button } from "antd";
import { api, ask } from "../../api/client";
import { useText } from "../../i18n/useText";
import { useAct } from "../../parts/useAct";

/** Recomputes the chain and says whether it is whole. */
export function ChainCheck() {
  const { t } = useText();
  const { message } = App.useApp();
  const check = useAct(async () => {
    const { entries, intact, broken_at } = await ask(api.GET("/v1/audit-log/check"));
    if (intact) void message.success(t("audit.intact", { count: entries }));
    else void message.error(t("audit.broken", { seq: broken_at ?? 0 }), 0);
  });
  return (
    <Button loading={check.busy} onClick={() => check.run()}>
      {t("audit.check")}
    </Button>
  );
}
