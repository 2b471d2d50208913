import { useQueryClient } from "@tanstack/react-query";
import { Button, Form, Input } from "antd";
import { api, ask } from "../api/client";
import { useText } from "../i18n/useText";
import { Refusal } from "../parts/Refusal";
import { useAct } from "../parts/useAct";

/** Takes the second factor away, which needs password and code. */
export function TotpRemove() {
  const { t } = useText();
  const client = useQueryClient();
  const remove = useAct(
    async (body: { password: string; code: string }) => {
      await ask(api.POST("/v1/totp/remove", { body }));
      await client.invalidateQueries({ queryKey: ["whoami"] });
    },
    { quiet: true },
  );
  const required = [{ required: true, message: t("form.required") }];
  return (
    <>
      <p>{t("settings.totp.on")}</p>
      <details className="more">
        <summary>{t("settings.totp.remove")}</summary>
        {remove.error && <Refusal error={remove.error} />}
        <Form layout="vertical" requiredMark={false} className="narrow" onFinish={remove.run}>
          <Form.Item name="password" label={t("identity.password")} rules={required}>
            <Input.Password autoComplete="current-password" />
          </Form.Item>
          <Form.Item name="code" label={t("identity.code")} rules={required}>
            <Input inputMode="numeric" autoComplete="one-time-code" />
          </Form.Item>
          <Button danger htmlType="submit" loading={remove.busy}>
            {t("settings.totp.remove")}
          </Button>
        </Form>
      </details>
    </>
  );
}
