import { App, Button, Form, Input } from "antd";
import { api, ask } from "../api/client";
import { useText } from "../i18n/useText";
import { NewPassword } from "../identity/NewPassword";
import { Panel } from "../parts/Panel";
import { Refusal } from "../parts/Refusal";
import { useAct } from "../parts/useAct";

type Fields = { old: string; new: string };

/** Changes the password; every other session ends. */
export function PasswordPanel() {
  const { t } = useText();
  const { message } = App.useApp();
  const [form] = Form.useForm<Fields>();
  const change = useAct(
    async (body: Fields) => {
      await ask(api.POST("/v1/password", { body }));
      form.resetFields();
      void message.success(t("settings.password.done"));
    },
    { quiet: true },
  );
  return (
    <Panel title={t("settings.password")}>
      {change.error && <Refusal error={change.error} />}
      <Form form={form} layout="vertical" requiredMark={false} className="narrow" onFinish={change.run}>
        <Form.Item
          name="old"
          label={t("settings.password.old")}
          rules={[{ required: true, message: t("form.required") }]}
        >
          <Input.Password autoComplete="current-password" />
        </Form.Item>
        <NewPassword name="new" />
        <Button type="primary" htmlType="submit" loading={change.busy}>
          {t("settings.password.change")}
        </Button>
      </Form>
    </Panel>
  );
}
