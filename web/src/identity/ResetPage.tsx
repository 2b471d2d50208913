import { Button, Form, Input } from "antd";
import { useState } from "react";
import { Link, useLocation } from "react-router";
import { api, ask } from "../api/client";
import { useText } from "../i18n/useText";
import { Refusal } from "../parts/Refusal";
import { useAct } from "../parts/useAct";
import { AuthCard } from "./AuthCard";
import { fragment } from "./fragment";
import { NewPassword } from "./NewPassword";

/** Asks for a mail that resets the password, or sets the new one with the link of that mail. */
export function ResetPage() {
  const { t } = useText();
  const token = fragment(useLocation().hash);
  const [done, setDone] = useState(false);
  const forget = useAct(
    async (body: { email: string }) => {
      await ask(api.POST("/v1/password/forgot", { body }));
      setDone(true);
    },
    { quiet: true },
  );
  const reset = useAct(
    async ({ password }: { password: string }) => {
      await ask(api.POST("/v1/password/reset", { body: { token: token ?? "", password } }));
      setDone(true);
    },
    { quiet: true },
  );
  const error = forget.error ?? reset.error;
  return (
    <AuthCard title={t("identity.reset")} below={<Link to="/sign-in">{t("identity.back")}</Link>}>
      {error && <Refusal error={error} />}
      {done && <p role="status">{token ? t("identity.reset.done") : t("identity.reset.sent")}</p>}
      {!done && token && (
        <Form layout="vertical" requiredMark={false} onFinish={reset.run}>
          <NewPassword />
          <Button type="primary" htmlType="submit" block loading={reset.busy}>
            {t("identity.reset.set")}
          </Button>
        </Form>
      )}
      {!done && !token && (
        <Form layout="vertical" requiredMark={false} onFinish={forget.run}>
          <Form.Item
            name="email"
            label={t("identity.email")}
            rules={[{ required: true, type: "email", message: t("form.email") }]}
          >
            <Input type="email" autoComplete="email" autoFocus />
          </Form.Item>
          <Button type="primary" htmlType="submit" block loading={forget.busy}>
            {t("identity.reset.send")}
          </Button>
          <p className="muted small">{t("identity.reset.operator")}</p>
        </Form>
      )}
    </AuthCard>
  );
}
